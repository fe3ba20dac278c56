"""What stands for turns that leave a window: a checkpoint, made by the memory's own model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentscope_reme.facade.models import neutral

if TYPE_CHECKING:
    from agentscope_reme.context.compactor import Compactor


class CheckpointCalls(ABC):
    """Checkpoints of messages in any form."""

    @property
    @abstractmethod
    def _compactor(self) -> Compactor:
        """What makes them, with the model and in the language of this moment."""

    async def summarise(
        self,
        messages: Sequence[Any],
        *,
        previous_summary: str = "",
        extra_instruction: str = "",
        archived: str = "",
    ) -> str:
        """One checkpoint text that stands for the messages.

        Args:
            messages: as in `auto_memory`, oldest first.
            previous_summary: the checkpoint of what came before; it is merged in.
            extra_instruction: what the user wants the checkpoint to look out for.
            archived: where the messages are kept in full; named when they do not all fit.

        Raises:
            ModelRequired: there is no model.
            ModelFailed: it failed; nothing was changed.
        """
        return await self._compactor.summarise(
            neutral(messages),
            previous_summary,
            extra_instruction=extra_instruction,
            archived=archived,
        )
