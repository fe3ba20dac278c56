"""A model that sees what a picture's bytes spell, and conversations with such pictures."""

from __future__ import annotations

import base64
from typing import Any

import dashscope

from agentscope_reme.agentscope_line import installed_line
from tests.loopback.server import LoopbackProvider

DAY = "2026-06-18"
BRIDGE = b"\x89PNG\r\n\x1a\n" + b"red bridge over water"
CAT = b"\x89PNG\r\n\x1a\n" + b"sleeping cat"
SAID = f"session/images/talk/msg-{b'm-1'.hex()}-image-1.png"


def seeing_model(provider: LoopbackProvider) -> Any:
    """AgentScope's own multimodal embedding class, over a real socket."""
    dashscope.base_http_api_url = provider.dashscope_url
    if installed_line() == 1:
        from agentscope.embedding import DashScopeMultiModalEmbedding

        return DashScopeMultiModalEmbedding("k", "tongyi-embedding-vision-plus")
    from agentscope.credential import DashScopeCredential
    from agentscope.embedding import DashScopeEmbeddingModel

    return DashScopeEmbeddingModel(
        DashScopeCredential(api_key="k"), "tongyi-embedding-vision-plus", 1152, max_retries=0
    )


def blind_model(provider: LoopbackProvider) -> Any:
    """The text model of the same provider."""
    dashscope.base_http_api_url = provider.dashscope_url
    if installed_line() == 1:
        from agentscope.embedding import DashScopeTextEmbedding

        return DashScopeTextEmbedding("k", "text-embedding-v4", dimensions=16)
    from agentscope.credential import DashScopeCredential
    from agentscope.embedding import DashScopeEmbeddingModel

    return DashScopeEmbeddingModel(
        DashScopeCredential(api_key="k"), "text-embedding-v4", 16, max_retries=0
    )


def turn(text: str, data: bytes, *, id: str = "m-1", day: str = DAY) -> dict[str, Any]:  # noqa: A002 - the field
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(data).decode()}
    return {
        "id": id,
        "role": "user",
        "name": "Ann",
        "content": [{"type": "text", "text": text}, {"type": "data", "source": source}],
        "created_at": f"{day}T10:00:00+02:00",
    }


def pictures_sent(provider: LoopbackProvider) -> list[bytes]:
    """The pictures the model was shown, in order."""
    return [
        base64.b64decode(item["image"].partition(",")[2])
        for request in provider.requests
        if request.route == "dashscope-multimodal-embeddings" or "contents" in str(request.body)
        for item in request.body["input"]["contents"]
        if "image" in item
    ]
