"""OpenAI chat completions and embeddings; DashScope's ``/compatible-mode/v1`` speaks the same."""

from __future__ import annotations

from typing import Any

from tests.loopback.answer import Answer, as_json, merged, pieces
from tests.loopback.script import Reply, Request
from tests.loopback.vectors import as_base64, vector_of

_CREATED = 1_750_000_000
_DEFAULT_WIDTH = 16


def chat(request: Request, reply: Reply) -> Answer:
    """The answer to ``POST .../chat/completions``."""
    placed = reply.placed_for(request)
    if request.stream:
        return _stream(request, placed)
    message: dict[str, Any] = {"role": "assistant", "content": placed.text or None}
    if placed.thinking:
        message["reasoning_content"] = placed.thinking
    if placed.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments_text},
            }
            for call in placed.tool_calls
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(placed)}
    body = merged(
        _envelope(request, "chat.completion"), {"choices": [choice], "usage": _usage(placed)}
    )
    return Answer.of_json(200, body)


def embeddings(request: Request, vectors: list[list[float]] | None) -> Answer:
    """The answer to ``POST .../embeddings``, as numbers or as Base64."""
    texts = request.body["input"]
    texts = [texts] if isinstance(texts, str) else texts
    width = int(request.body.get("dimensions") or _DEFAULT_WIDTH)
    made = vectors or [vector_of(str(text), width) for text in texts]
    encode = as_base64 if request.body.get("encoding_format") == "base64" else list
    data = [
        {"object": "embedding", "index": index, "embedding": encode(vector)}
        for index, vector in enumerate(made)
    ]
    tokens = sum(len(str(text).split()) for text in texts)
    body = {
        "object": "list",
        "data": data,
        "model": request.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
    return Answer.of_json(200, body)


def error(status: int, message: str, *, retryable: bool = False) -> Answer:
    """An error document. Unless `retryable`, the openai client is told not to repeat it."""
    body = {"error": {"message": message, "type": "error", "param": None, "code": str(status)}}
    return Answer.of_json(status, body, {"x-should-retry": "true" if retryable else "false"})


def _stream(request: Request, reply: Reply) -> Answer:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in pieces(reply.thinking)]
    deltas += [{"content": piece} for piece in pieces(reply.text)]
    for index, call in enumerate(reply.tool_calls):
        # The first delta names the call; later ones only add to its arguments.
        opening = {"name": call.name, "arguments": ""}
        deltas.append(_call_delta(index, {"id": call.id, "type": "function", "function": opening}))
        deltas += [
            _call_delta(index, {"function": {"arguments": piece}})
            for piece in pieces(call.arguments_text)
        ]
    if reply.cut_after is not None:
        kept = [_chunk(request, delta, None) for delta in deltas[: reply.cut_after]]
        return Answer.of_events(kept, cut=True)
    events = [_chunk(request, delta, None) for delta in deltas]
    events.append(_chunk(request, {}, _finish(reply)))
    if (request.body.get("stream_options") or {}).get("include_usage"):
        last = {"choices": [], "usage": _usage(reply)}
        events.append(_event(merged(_envelope(request, "chat.completion.chunk"), last)))
    events.append(b"data: [DONE]\n\n")
    return Answer.of_events(events)


def _call_delta(index: int, call: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": [merged({"index": index}, call)]}


def _chunk(request: Request, delta: dict[str, Any], finish: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _event(merged(_envelope(request, "chat.completion.chunk"), {"choices": [choice]}))


def _event(body: object) -> bytes:
    return b"data: " + as_json(body) + b"\n\n"


def _envelope(request: Request, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{request.number}",
        "object": kind,
        "created": _CREATED,
        "model": request.model,
    }


def _usage(reply: Reply) -> dict[str, int]:
    return {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
    }


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.tool_calls else "stop"
