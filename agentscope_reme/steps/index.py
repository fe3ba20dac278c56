"""Index: bring the derived store in line with the files on disk."""

from __future__ import annotations

import asyncio
from typing import Literal

from pydantic import BaseModel, ConfigDict

from agentscope_reme.results import IndexResult
from agentscope_reme.steps.base import BaseStep, Ref


class IndexArguments(BaseModel):
    """What an index run reads from its run.

    ``paths`` names changed files; without it the whole workspace is compared with the index.
    ``full`` makes the index say what the files say: all of it is built anew beside the one in
    use, a single layer is compared by content hash.
    """

    model_config = ConfigDict(frozen=True)

    paths: tuple[str, ...] | None = None
    full: bool = False
    scope: Literal["all", "daily", "digest", "session", "resource"] = "all"


class IndexStep(BaseStep[IndexResult]):
    """Indexes new and changed files and forgets deleted ones; one bad file stops nothing."""

    vault = Ref(lambda parts: parts.vault)

    async def execute(self) -> IndexResult:
        """Run the comparison described by the run's values."""
        arguments = self.context.parse(IndexArguments)
        if arguments.paths is not None:
            return await asyncio.to_thread(self.vault.apply_foreign, arguments.paths)
        if arguments.full:
            return await asyncio.to_thread(self.vault.index.reindex, arguments.scope)
        return await asyncio.to_thread(self.vault.scan, scope=arguments.scope)
