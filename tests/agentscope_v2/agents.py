"""Real agents of AgentScope 2.x around a scripted model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import agentscope.agent
from agentscope.agent import Agent
from agentscope.message import Msg, TextBlock, UserMsg
from agentscope.permission import PermissionBehavior, PermissionContext, PermissionDecision
from agentscope.state import AgentState
from agentscope.tool import ToolBase, ToolChunk, Toolkit

from agentscope_reme.agentscope_v2.scripted import ScriptedChatModel
from agentscope_reme.testing import Script
from agentscope_reme.testing.script import Step

PIXEL = "iVBORw0KGgo="


class Weather(ToolBase):
    """A tool of the application; it may need the user's permission."""

    name = "weather"
    description = "The weather of a city."
    input_schema = {"type": "object", "properties": {"city": {"type": "string"}}}  # noqa: RUF012
    is_concurrency_safe = True
    is_read_only = False

    def __init__(self, *, ask: bool = False, answer: str = "sunny") -> None:
        super().__init__()
        self._decision = PermissionBehavior.ASK if ask else PermissionBehavior.ALLOW
        self._answer = answer

    async def check_permissions(
        self, tool_input: dict[str, Any], context: PermissionContext
    ) -> PermissionDecision:
        return PermissionDecision(behavior=self._decision, message="weather")

    async def call(self, *args: Any, **kwargs: Any) -> ToolChunk:
        return ToolChunk(content=[TextBlock(text=self._answer)])


def make_agent(
    model: ScriptedChatModel | Iterable[Step],
    *,
    middlewares: Sequence[Any] = (),
    tools: Sequence[ToolBase] = (),
    session_id: str = "s1",
    state: AgentState | None = None,
    name: str = "Friday",
    **options: Any,
) -> Agent:
    scripted = model if isinstance(model, ScriptedChatModel) else ScriptedChatModel(model)
    injection = getattr(agentscope.agent, "InjectionConfig", None)
    if injection is not None:
        options.setdefault("injection_config", injection(inject_runtime_state=False))
    return Agent(
        name=name,
        system_prompt="You help.",
        model=scripted,
        toolkit=Toolkit(tools=list(tools)),
        middlewares=list(middlewares),
        state=state or AgentState(session_id=session_id),
        **options,
    )


def script_of(agent: Agent) -> Script:
    assert isinstance(agent.model, ScriptedChatModel)
    return agent.model.script


def user(text: str, **fields: Any) -> Msg:
    return UserMsg("Ann", text, **fields)


def saved_and_loaded(state: AgentState) -> AgentState:
    return AgentState.model_validate_json(state.model_dump_json())
