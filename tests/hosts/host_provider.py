"""A loopback model that host applications also ask which models it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.loopback import LoopbackProvider, Reply, Request, ToolCall
from tests.loopback.answer import Answer

MODEL = "loopback-model"


class HostProvider(LoopbackProvider):
    """Answers ``GET .../models`` besides what `LoopbackProvider` answers."""

    def _answer(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        if method == "GET" and path.partition("?")[0].endswith("/models"):
            listed = [{"id": MODEL, "object": "model", "owned_by": "loopback"}]
            return Answer.of_json(200, {"object": "list", "data": listed})
        return super()._answer(method, path, headers, raw)


def said(request: Request) -> str:
    """Every word of a request's messages, tool results included."""
    return "\n".join(request.texts)


def last_words(request: Request) -> str:
    """What the newest message of the user says."""
    spoken = [
        text
        for message, text in zip(request.messages, request.texts, strict=True)
        if message["role"] == "user"
    ]
    return spoken[-1] if spoken else ""


def writes_cards(name: str, fact: str) -> Callable[[Request], Reply | None]:
    """A model that puts the fact on a card when the memory asks for one and it was said.

    It has nothing to say (``None``) to a request that asks for no card.
    """

    def answer(request: Request) -> Reply | None:
        if "daily_write" not in request.tool_names:
            return None
        if request.messages[-1]["role"] == "tool" or fact not in said(request):
            return Reply(text="done")
        content = f"# {name}\n\n- {fact}"
        arguments = {"name": name, "description": name, "content": content}
        return Reply(tool_calls=(ToolCall("daily_write", arguments),))

    return answer
