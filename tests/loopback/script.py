"""What a test tells the provider to answer, and what the provider saw."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Route = Literal[
    "openai-chat",
    "openai-embeddings",
    "dashscope-text",
    "dashscope-multimodal",
    "dashscope-text-embeddings",
    "dashscope-multimodal-embeddings",
]

_ROUTES: tuple[tuple[str, Route], ...] = (
    ("/chat/completions", "openai-chat"),
    ("/services/aigc/text-generation/generation", "dashscope-text"),
    ("/services/aigc/multimodal-generation/generation", "dashscope-multimodal"),
    ("/services/embeddings/text-embedding/text-embedding", "dashscope-text-embeddings"),
    (
        "/services/embeddings/multimodal-embedding/multimodal-embedding",
        "dashscope-multimodal-embeddings",
    ),
    ("/v1/embeddings", "openai-embeddings"),
)

# The functions AgentScope forces a model to call when it wants structured output.
_STRUCTURED_FUNCTIONS = frozenset(
    {"generate_structured_output", "generate_response", "GenerateStructuredOutput"}
)


def route_of(path: str) -> Route | None:
    """Which protocol and endpoint a request path belongs to."""
    bare = path.partition("?")[0]
    return next((route for ending, route in _ROUTES if bare.endswith(ending)), None)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function call the model makes; ``arguments`` as an object, or as raw text to be parsed."""

    name: str
    arguments: Mapping[str, Any] | str
    id: str = ""

    @property
    def arguments_text(self) -> str:
        """The arguments as they travel: JSON text."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted answer of a chat model.

    Args:
        text: what the model says.
        thinking: its reasoning, in the provider's own field.
        tool_calls: the functions it calls; ids are filled in when empty.
        structured: the value of a structured answer, put where the request wants it.
        status: an HTTP status other than 200 makes it an error answer.
        message: the text of that error.
        retryable: whether the openai client may repeat a failed request by itself.
        delay_until: the answer is held back until this event is set.
        cut_after: in a stream, break off after so many deltas.
        input_tokens: the reported size of the prompt.
        output_tokens: the reported size of the answer.
    """

    text: str = ""
    thinking: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    structured: Mapping[str, Any] | None = None
    status: int = 200
    message: str = "scripted failure"
    retryable: bool = False
    delay_until: threading.Event | None = None
    cut_after: int | None = None
    input_tokens: int = 11
    output_tokens: int = 7

    def placed_for(self, request: Request) -> Reply:
        """This answer with ids filled in and ``structured`` moved into a call or into the text."""
        calls = list(self.tool_calls)
        text = self.text
        if self.structured is not None:
            name = request.structured_function
            if name is None:
                text = json.dumps(self.structured, ensure_ascii=False)
            else:
                calls.append(ToolCall(name, self.structured))
        numbered = tuple(
            ToolCall(call.name, call.arguments, call.id or f"call_{request.number}_{index}")
            for index, call in enumerate(calls)
        )
        return Reply(
            text=text,
            thinking=self.thinking,
            tool_calls=numbered,
            cut_after=self.cut_after,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
        )


Responder = Callable[["Request"], Reply | None]


@dataclass(frozen=True, slots=True)
class EmbeddingReply:
    """One scripted answer of an embedding endpoint: vectors, or an error status."""

    vectors: Sequence[Sequence[float]] = ()
    status: int = 200
    message: str = "scripted failure"
    delay_until: threading.Event | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived; ``body`` is the parsed JSON, whole and unchanged."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def route(self) -> Route | None:
        """The endpoint, or ``None`` for a path no provider serves."""
        return route_of(self.path)

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return str(self.body.get("model", ""))

    @property
    def stream(self) -> bool:
        """Whether the answer must be a stream of events."""
        if self.header("X-DashScope-SSE") == "enable":
            return True
        return bool(self.body.get("stream", False))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The chat messages of either protocol."""
        source = self.body.get("input", {}) if "input" in self.body else self.body
        found = source.get("messages", []) if isinstance(source, dict) else []
        return list(found)

    @property
    def options(self) -> dict[str, Any]:
        """Where the protocol keeps tools and settings: ``parameters``, or the body itself."""
        parameters = self.body.get("parameters")
        return dict(parameters) if isinstance(parameters, dict) else self.body

    @property
    def tool_names(self) -> list[str]:
        """The functions that were offered."""
        return [str(tool["function"]["name"]) for tool in self.options.get("tools") or ()]

    @property
    def structured_function(self) -> str | None:
        """The function through which a structured answer must be given, if any."""
        choice = self.options.get("tool_choice")
        if isinstance(choice, dict) and choice.get("type") == "function":
            return str(choice["function"]["name"])
        return next((name for name in self.tool_names if name in _STRUCTURED_FUNCTIONS), None)

    @property
    def texts(self) -> list[str]:
        """The words of each message, oldest first; images left out."""
        return [_text_of(message.get("content")) for message in self.messages]

    @property
    def images(self) -> list[str]:
        """Every image URL (often a ``data:`` URI) in the messages, in order."""
        return [url for message in self.messages for url in _images_of(message.get("content"))]

    def header(self, name: str) -> str | None:
        """One header by its name, in any case."""
        wanted = name.lower()
        return next((value for key, value in self.headers.items() if key.lower() == wanted), None)


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(str(part["text"]) for part in content if "text" in part)


def _images_of(content: object) -> list[str]:
    if not isinstance(content, list):
        return []
    openai = [str(part["image_url"]["url"]) for part in content if "image_url" in part]
    return openai + [str(part["image"]) for part in content if "image" in part]
