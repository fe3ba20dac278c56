"""What a window holds and costs, as data and as text for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentscope.message import Msg

from agentscope_reme.agentscope_v1.counting import MessageSize, WindowMeter
from agentscope_reme.agentscope_v1.messages import to_neutral

_PREVIEW_CHARACTERS: Final = 100


async def token_report(
    meter: WindowMeter, messages: Sequence[Msg], *, summary: str, max_input_length: int
) -> dict[str, Any]:
    """The size of a window under the names that user interfaces of such memories rely on.

    Args:
        meter: counts the tokens.
        messages: the visible messages without the summary, oldest first.
        summary: what stands for earlier ones.
        max_input_length: the model's window in tokens; 0 when it is not known.

    Returns:
        ``total_messages``, ``compressed_summary_tokens``, ``messages_tokens``,
        ``estimated_tokens`` (the sum of both), ``max_input_length``, ``context_usage_ratio`` (in
        percent, 0 without a known window) and ``messages_detail``, one dictionary for each message.
    """
    sizes = await meter.sizes(messages)
    summary_tokens = await meter.text(summary)
    messages_tokens = sum(size.tokens for size in sizes)
    estimated = summary_tokens + messages_tokens
    return {
        "total_messages": len(messages),
        "compressed_summary_tokens": summary_tokens,
        "messages_tokens": messages_tokens,
        "estimated_tokens": estimated,
        "max_input_length": max_input_length,
        "context_usage_ratio": estimated / max_input_length * 100 if max_input_length > 0 else 0,
        "messages_detail": [
            _detail(index, msg, size)
            for index, (msg, size) in enumerate(zip(messages, sizes, strict=True), 1)
        ],
    }


def history_text(report: Mapping[str, Any]) -> str:
    """A `token_report` as Markdown."""
    lines = [
        "**Conversation History**",
        "",
        f"- Total messages: {report['total_messages']}",
        f"- Estimated tokens: {report['estimated_tokens']}",
        f"- Max input length: {report['max_input_length']}",
        f"- Context usage: {report['context_usage_ratio']:.1f}%",
        f"- Compressed summary tokens: {report['compressed_summary_tokens']}",
        "",
    ]
    for detail in report["messages_detail"]:
        lines += _told(detail)
    return "\n".join(lines)


def _detail(index: int, msg: Msg, size: MessageSize) -> dict[str, Any]:
    detail: dict[str, Any] = {
        "index": index,
        "role": msg.role,
        "text_tokens": size.text_tokens,
        "blocks": [{"type": block.type, "tokens": block.tokens} for block in size.blocks],
        "preview": _preview(msg),
    }
    if size.error:
        detail["error"] = size.error
    return detail


def _preview(msg: Msg) -> str:
    text = " ".join(to_neutral(msg).text.split())
    return text[:_PREVIEW_CHARACTERS] + "..." if len(text) > _PREVIEW_CHARACTERS else text


def _told(detail: Mapping[str, Any]) -> list[str]:
    lines = [f"[{detail['index']}] **{detail['role']}** (text_tokens={detail['text_tokens']})"]
    if detail["blocks"]:
        parts = ", ".join(f"{b['type']}(tokens={b['tokens']})" for b in detail["blocks"])
        lines.append(f"content: [{parts}]")
    lines.append(f"preview: {detail['preview']}")
    return lines
