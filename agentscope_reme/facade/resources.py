"""Resource calls: documents, pages, data and pictures that were filed become memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from agentscope_reme.facade.base import Calls
from agentscope_reme.results import AutoResourceResult

if TYPE_CHECKING:
    from agentscope_reme.steps.resources import AutoResourceStep


class ResourceCalls(Calls):
    """Cards of ``daily/`` that are made from the files in ``resource/``."""

    @cached_property
    def _auto_resource_step(self) -> AutoResourceStep:
        from agentscope_reme.steps.resources import AutoResourceStep

        return AutoResourceStep()

    async def auto_resource(
        self,
        changes: Sequence[str | Mapping[str, str]] | None = None,
        *,
        include_images: bool = True,
    ) -> AutoResourceResult:
        """Bring the daily cards in step with the files in ``resource/YYYY-MM-DD/``.

        A new file becomes a card in ``daily/`` of its folder's day, a changed one changes its
        card, a moved one keeps it, and the card of a deleted one goes to the trash. What is
        unchanged costs no model call, what fails is tried again by the next call. Nothing watches
        ``resource/``: files wait until somebody calls this.

        Text, Markdown, JSON, CSV, YAML and HTML are read as they are; PDF, Word, PowerPoint and
        Excel with the extra ``documents``; pictures are shown to the model, those of other formats
        or of great size with the extra ``images``. A long text is read in parts of
        `Settings.auto_memory_prompt_tokens`.

        Args:
            changes: paths, or ``{"path": ..., "change": "added" | "modified" | "deleted"}``; a
                folder stands for all files in it. What the disk shows counts, not the word. A card
                that a person deleted is made again when its resource is named here. Without it:
                every changed resource.
            include_images: let the model see pictures; it and its formatter must be able to.

        Returns:
            ``cards`` says what became of each resource that was seen to; ``pending`` lists those
            that wait for a model, for the next run's calls or for another process; ``failed`` says
            why one could not be done, and makes ``success`` false; ``skipped`` are files no card
            can be made of.

        Raises:
            BadInput: `changes` is not such a list.
            StorageFailed: the workspace cannot be read.
        """
        await self._ready()
        result = await self._auto_resource_step(
            self._engine.application, changes=changes, include_images=include_images
        )
        self._engine.embed_soon()
        return result
