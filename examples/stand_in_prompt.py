"""Prompts in the shape model providers get them, as the stand-in's turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from stand_in_rules import Turn

from agentscope_reme.messages import RECALL_TAG

_REMINDER: Final = "<system-reminder>"  # AgentScope 2.x tells the time in a user message


def turns_of(messages: Iterable[Mapping[str, Any]]) -> list[Turn]:
    """Messages of OpenAI's shape, or of DashScope's, as turns."""
    turns: list[Turn] = []
    called: dict[str, str] = {}  # not every provider repeats the tool's name with its result
    for message in messages:
        for call in message.get("tool_calls") or ():
            called[str(call["id"])] = str(call["function"]["name"])
        turns += _turns_of(message, called)
    return turns


def schemas_of(tools: Sequence[Mapping[str, Any]] | None) -> dict[str, dict[str, Any]]:
    """The argument schemas of the offered tools, by name."""
    return {
        str(tool["function"]["name"]): tool["function"].get("parameters", {})
        for tool in tools or ()
    }


def _turns_of(message: Mapping[str, Any], called: Mapping[str, str]) -> list[Turn]:
    text = _text(message.get("content"))
    match message["role"]:
        case "tool":
            name = called.get(str(message.get("tool_call_id")), "")
            return [Turn("result", text, name or str(message.get("name", "")))]
        case "system":
            return [Turn("system", text)]
        case "user" if text.startswith(_REMINDER):
            return [Turn("system", text)]
        case "user":
            return [Turn("memory" if f"<{RECALL_TAG}" in text else "user", text)]
        case _:
            calls = [
                Turn("call", "", str(call["function"]["name"]))
                for call in message.get("tool_calls") or ()
            ]
            return [*([Turn("assistant", text)] if text else []), *calls]


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(str(part["text"]) for part in content if part.get("text"))
