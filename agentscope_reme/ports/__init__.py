"""The small seams between the core and everything outside it.

The AgentScope rooms implement the model ports; the core never knows which framework, or which
line of it, is behind them. `MemoryService` is the other direction: what an adapter may ask of a
memory.
"""

from agentscope_reme.ports.embeddings import (
    EmbeddingPort,
    ImageEmbedding,
    PreparedEmbedding,
    QueryEmbedding,
    embeds_images,
    space_name,
)
from agentscope_reme.ports.models import (
    AgentPort,
    AgentRun,
    ChatPort,
    ChatReply,
    ClosedAnswer,
    Delta,
    KnowsItsWindow,
    Refit,
    ReplyEvent,
    ReplyPort,
    Spoken,
    StructuredReply,
    Usage,
    prompt_budget,
)
from agentscope_reme.ports.services import (
    MemoryService,
    OffloadService,
    SummaryService,
)
from agentscope_reme.ports.tools import (
    Tool,
    ToolOutput,
)

__all__ = [
    "AgentPort",
    "AgentRun",
    "ChatPort",
    "ChatReply",
    "ClosedAnswer",
    "Delta",
    "EmbeddingPort",
    "ImageEmbedding",
    "KnowsItsWindow",
    "MemoryService",
    "OffloadService",
    "PreparedEmbedding",
    "QueryEmbedding",
    "Refit",
    "ReplyEvent",
    "ReplyPort",
    "Spoken",
    "StructuredReply",
    "SummaryService",
    "Tool",
    "ToolOutput",
    "Usage",
    "embeds_images",
    "prompt_budget",
    "space_name",
]
