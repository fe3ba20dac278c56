"""The few places where the two AgentScope lines are spelled differently."""

from __future__ import annotations

from typing import Any

from agentscope.tool import Toolkit

from agentscope_reme import ReMe
from agentscope_reme.agentscope_line import installed_line


def make_agent(model: Any, *, toolkit: Toolkit | None = None) -> Any:
    """A real agent of the installed line."""
    if installed_line() == 1:
        from agentscope.agent import ReActAgent
        from agentscope.formatter import OpenAIChatFormatter

        return ReActAgent(
            "Friday", "You are helpful.", model, OpenAIChatFormatter(), toolkit=toolkit or Toolkit()
        )
    from agentscope import agent as agents

    options = {}
    if hasattr(agents, "InjectionConfig"):  # from 2.0.5 on the clock is put into the context
        options["injection_config"] = agents.InjectionConfig(inject_runtime_state=False)
    return agents.Agent(
        "Friday", "You are helpful.", model, toolkit=toolkit or Toolkit(), **options
    )


async def say(agent: Any, text: str) -> str:
    """Speak to the agent and return what it answered."""
    if installed_line() == 1:
        from agentscope.message import Msg

        reply = await agent(Msg("user", text, "user"))
    else:
        from agentscope.message import UserMsg

        reply = await agent.reply(UserMsg("user", text))
    return str(reply.get_text_content())


async def with_memory_tools(reme: ReMe, **options: Any) -> Toolkit:
    """A toolkit that holds the memory tools."""
    toolkit = Toolkit()
    registered = reme.register_tools(toolkit, **options)
    if installed_line() == 2:
        await registered
    return toolkit
