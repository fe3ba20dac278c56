"""The configuration: one typed file, environment, command line; each value knows its origin.

`load` reads it; `opening.open_memory` makes the `ReMe` it describes.
"""

from agentscope_reme.configuration.loading import load
from agentscope_reme.configuration.models import chat_model, embedding_model
from agentscope_reme.configuration.sections import (
    ChatSection,
    Configuration,
    ServiceSection,
    VectorStoreSection,
)
from agentscope_reme.configuration.showing import Shown, shown

__all__ = [
    "ChatSection",
    "Configuration",
    "ServiceSection",
    "Shown",
    "VectorStoreSection",
    "chat_model",
    "embedding_model",
    "load",
    "shown",
]
