"""DashScope's native protocol: text and multimodal generation, text and multimodal embeddings."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from tests.loopback.answer import Answer, as_json, merged, pieces
from tests.loopback.script import Reply, Request
from tests.loopback.vectors import vector_of

_DEFAULT_WIDTH = 16


def chat(request: Request, reply: Reply) -> Answer:
    """The answer to either generation route; a multimodal message has a list as its content."""
    placed = reply.placed_for(request)
    if request.stream:
        return _stream(request, placed)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": _content(request, placed.text),
    }
    if placed.thinking:
        message["reasoning_content"] = placed.thinking
    if placed.tool_calls:
        message["tool_calls"] = [
            _call(index, call.id, call.name, call.arguments_text)
            for index, call in enumerate(placed.tool_calls)
        ]
    return Answer.of_json(200, _envelope(request, placed, message, _finish(placed)))


def embeddings(request: Request, vectors: list[list[float]] | None) -> Answer:
    """The answer to either embedding route."""
    body = request.body["input"]
    multimodal = "contents" in body
    inputs = [_embedded(item) for item in body["contents" if multimodal else "texts"]]
    width = int(request.options.get("dimension") or _DEFAULT_WIDTH)
    made = vectors or [vector_of(_seen(kind, text), width) for kind, text in inputs]
    number = "index" if multimodal else "text_index"
    rows: list[dict[str, Any]] = [
        {number: index, "embedding": vector} for index, vector in enumerate(made)
    ]
    words = sum(len(text.split()) for kind, text in inputs if kind == "text")
    usage: dict[str, int] = {"total_tokens": words}
    if multimodal:
        for row, (kind, _) in zip(rows, inputs, strict=False):
            row["type"] = kind
        images = sum(kind != "text" for kind, _ in inputs)
        usage = {"input_tokens": words, "image_tokens": 100 * images}
    return Answer.of_json(
        200, {"output": {"embeddings": rows}, "usage": usage, "request_id": _id(request)}
    )


def error(request: Request, status: int, message: str) -> Answer:
    """An error: a document, or an ``event:error`` when a stream was asked for."""
    body = {"code": _code(status), "message": message, "request_id": _id(request)}
    if not request.stream:
        return Answer.of_json(status, body)
    return Answer.of_events([_event(1, body, status)])


def _stream(request: Request, reply: Reply) -> Answer:
    deltas: list[dict[str, Any]] = [
        {"content": _content(request, ""), "reasoning_content": piece}
        for piece in pieces(reply.thinking)
    ]
    deltas += [{"content": _content(request, piece)} for piece in pieces(reply.text)]
    for index, call in enumerate(reply.tool_calls):
        # The name comes whole with the first delta; arguments are pieces to be joined.
        for place, piece in enumerate(pieces(call.arguments_text)):
            named = (call.id, call.name) if place == 0 else ("", "")
            deltas.append(
                {"content": _content(request, ""), "tool_calls": [_call(index, *named, piece)]}
            )
    if reply.cut_after is not None:
        kept = deltas[: reply.cut_after]
        events = [
            _delta_event(request, reply, number, delta, "null")
            for number, delta in enumerate(kept, start=1)
        ]
        failure = {
            "code": _code(500),
            "message": "the stream broke off",
            "request_id": _id(request),
        }
        return Answer.of_events([*events, _event(len(kept) + 1, failure, 500)])
    deltas.append({"content": _content(request, "")})
    finishes = ["null"] * (len(deltas) - 1) + [_finish(reply)]
    return Answer.of_events(
        [
            _delta_event(request, reply, number, delta, finish)
            for number, (delta, finish) in enumerate(zip(deltas, finishes, strict=True), start=1)
        ]
    )


def _delta_event(
    request: Request, reply: Reply, number: int, delta: dict[str, Any], finish: str
) -> bytes:
    message = merged({"role": "assistant"}, delta)
    return _event(number, _envelope(request, reply, message, finish), 200)


def _event(number: int, body: object, status: int) -> bytes:
    kind = "result" if status == 200 else "error"
    head = f"id:{number}\nevent:{kind}\n:HTTP_STATUS/{status}\n"
    if status != 200:
        head += f"status:{status}\n"
    return head.encode() + b"data:" + as_json(body) + b"\n\n"


def _envelope(
    request: Request, reply: Reply, message: dict[str, Any], finish: str
) -> dict[str, Any]:
    return {
        "output": {"choices": [{"message": message, "finish_reason": finish}]},
        "usage": {
            "input_tokens": reply.input_tokens,
            "output_tokens": reply.output_tokens,
            "total_tokens": reply.input_tokens + reply.output_tokens,
        },
        "request_id": _id(request),
    }


def _content(request: Request, text: str) -> str | list[dict[str, str]]:
    if request.route == "dashscope-multimodal":
        return [{"text": text}] if text else []
    return text


def _call(index: int, call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {
        "index": index,
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def _seen(kind: str, given: str) -> str:
    """What a picture "shows": the words its bytes spell, so that its vector is near such words."""
    if kind != "image" or not given.startswith("data:"):
        return given
    data = base64.b64decode(given.partition(",")[2])
    return " ".join(re.findall("[a-z]{3,}", data.decode("latin-1"))) or given


def _embedded(item: object) -> tuple[str, str]:
    if isinstance(item, str):
        return "text", item
    if isinstance(item, dict):
        for kind in ("text", "image", "video"):
            if kind in item:
                return kind, str(item[kind])
    return "text", json.dumps(item, ensure_ascii=False)


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.tool_calls else "stop"


def _id(request: Request) -> str:
    return f"request-{request.number}"


def _code(status: int) -> str:
    return {400: "InvalidParameter", 401: "InvalidApiKey", 429: "Throttling"}.get(
        status, "InternalError"
    )
