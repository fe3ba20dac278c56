"""Auto Resource: every changed file below ``resource/`` is brought into a daily card of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from agentscope_reme.errors import BadInput, BadPath, Conflict, NotFound
from agentscope_reme.progress import followed
from agentscope_reme.results import AutoResourceResult
from agentscope_reme.steps.base import BaseStep, Ref
from agentscope_reme.steps.context import Components
from agentscope_reme.steps.resources.absent import Missing, is_suspicious, missing_among
from agentscope_reme.steps.resources.answer import told
from agentscope_reme.steps.resources.ledger import Ledger, Reading
from agentscope_reme.steps.resources.look import unsuited
from agentscope_reme.steps.resources.ownership import Claim, claims
from agentscope_reme.steps.resources.places import FOLDER
from agentscope_reme.steps.resources.run import ResourceRun, by_failures
from agentscope_reme.vault.tree import SeenFile

_CHANGES: Final = ("added", "modified", "deleted")
_SHAPE: Final = "Pass paths, or mappings such as {'path': 'resource/2026-06-20/a.md'}."


class AutoResourceArguments(BaseModel):
    """What Auto Resource reads from its run; see `ReMe.auto_resource`."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    changes: Any = None
    include_images: bool = True


def pending_resources(parts: Components) -> list[str]:
    """Files that a call of Auto Resource would read, sorted; it looks at no content.

    Raises:
        StorageFailed: the workspace cannot be read.
    """
    parts.store.refresh()
    known = Ledger(parts.workspace, parts.disk, parts.locks).read()
    owned = claims(parts.store)
    return sorted(
        file.path
        for file in parts.vault.survey(FOLDER)[0]
        if unsuited(file.path) is None
        and not _is_settled(file, known.get(file.path), owned.get(file.path, ()))
    )


class AutoResourceStep(BaseStep[AutoResourceResult]):
    """Looks at resources, named ones or all, and brings their cards in step.

    One process and one task see to a resource at a time. What a run does not get to stays pending
    and is found again by the next: nothing but the files says what there is to do.
    """

    workspace = Ref(lambda parts: parts.workspace)
    vault = Ref(lambda parts: parts.vault)
    store = Ref(lambda parts: parts.store)
    no_agent = Ref(lambda parts: parts.why_no_agent)

    async def execute(self) -> AutoResourceResult:
        """Run the call described by the run's values.

        Raises:
            BadInput: `changes` is no list of paths or of mappings with a path.
            StorageFailed: the workspace cannot be read.
        """
        arguments = self.context.parse(AutoResourceArguments)
        named = None if arguments.changes is None else _named_in(arguments.changes)
        application = self.context.application
        run = ResourceRun(
            application.components,
            application.metadata,
            self.context.now,
            include_images=arguments.include_images,
            named=named is not None,
        )
        # whose card it is must be told by the files as they are, not by an index that lags behind
        await asyncio.to_thread(self.vault.scan, scope="daily")
        if named is None:
            await self._all(run)
        else:
            await self._named(run, named)
        return told(run.result, no_agent=self.no_agent, refused=run.refused)

    async def _named(self, run: ResourceRun, given: Mapping[str, str]) -> None:
        """See to these paths as the disk has them now, whatever the caller says became of them."""
        for path, word in given.items():
            try:
                present, missing = await asyncio.to_thread(self._meant_by, path)
            except BadPath as error:
                run.refuse(path, error)
                continue
            for one in missing:
                await run.attend_missing(one, remove=True)
            if not (present or missing) and word != "deleted":
                run.refuse(path, NotFound(path, "the file is not there (any more)", "Check it."))
            for resource in present:
                await run.attend(resource)

    def _meant_by(self, given: str) -> tuple[list[str], list[Missing]]:
        """The resources a path stands for, and the cards of those that are gone."""
        path = self.workspace.real(self.workspace.normalise(given))
        if path.split("/")[0] != FOLDER:
            raise BadPath(given, "this is not below `resource/`", "Name a resource.")
        if self.vault.exists(path):
            return [path], []
        present = self.vault.paths(path)
        self.store.refresh()
        wanted = {
            resource: cards
            for resource, cards in claims(self.store).items()
            if (resource == path or resource.startswith(f"{path}/"))
            and not self.vault.exists(resource)
        }
        return present, missing_among(wanted, set(present))

    async def _all(self, run: ResourceRun) -> None:
        seen, unlisted = await asyncio.to_thread(self.vault.survey, FOLDER)
        run.result.failed += unlisted
        owned = await asyncio.to_thread(self._owned)
        await self._see_to_missing(run, {file.path for file in seen}, owned)
        if run.result.cards:  # some of them moved
            owned = await asyncio.to_thread(self._owned)
        known = await asyncio.to_thread(run.ledger.read)
        due = _changed(run, seen, known, owned)
        for path in followed(by_failures(due, known), "resources"):
            await run.attend(path)

    def _owned(self) -> dict[str, list[Claim]]:
        self.store.refresh()
        return claims(self.store)

    async def _see_to_missing(
        self, run: ResourceRun, present: set[str], owned: Mapping[str, Sequence[Claim]]
    ) -> None:
        """Cards of resources that are gone follow them, unless too many are gone at once."""
        ours = {resource: made for resource in owned if (made := _ours(owned[resource]))}
        missing = missing_among(ours, present)
        nowhere = [one for one in missing if not await run.attend_missing(one, remove=False)]
        if is_suspicious(len({one.resource for one in nowhere}), len(ours)):
            for one in nowhere:
                run.fail(one.resource, _suspicious(one, len(nowhere), len(ours)))
            return
        rows = await asyncio.to_thread(run.ledger.read)
        known = {*rows, *(row.card for row in rows.values())}
        for one in nowhere:
            # a card that a person brought back on purpose stays: nobody remembers it here
            if one.resource in known or one.card in known:
                await run.attend_missing(one, remove=True)
        await run.forget_all_but({*present, *owned})


def _ours(made: Sequence[Claim]) -> list[Claim]:
    return [claim for claim in made if claim.is_ours]


def _changed(
    run: ResourceRun,
    seen: Sequence[SeenFile],
    known: Mapping[str, Reading],
    owned: Mapping[str, Sequence[Claim]],
) -> list[str]:
    """Files to look at closely; those with a known stamp are passed by without reading them."""
    due = []
    for file in seen:
        if (reason := unsuited(file.path)) is not None:
            run.skip(file.path, str(reason))
        elif _is_settled(file, known.get(file.path), owned.get(file.path, ())):
            run.result.unchanged += 1
        else:
            due.append(file.path)
    return due


def _is_settled(file: SeenFile, row: Reading | None, cards: Sequence[Claim]) -> bool:
    """Whether the file has its known stamp and its card, if there is one, follows it."""
    if row is None or not row.knows(file) or len(cards) > 1:
        return False
    return all(claim.follows(row.sha) for claim in cards)


def _named_in(changes: object) -> dict[str, str]:
    """What is said to have become of each path; nothing for a bare one."""
    if isinstance(changes, str | bytes | Mapping) or not isinstance(changes, Sequence):
        raise BadInput(changes, "`changes` must be a list", _SHAPE)
    return dict(_change(change) for change in changes)


def _change(change: object) -> tuple[str, str]:
    if isinstance(change, str):
        return change, ""
    if not isinstance(change, Mapping):
        raise BadInput(change, "a change must be a path or a mapping", _SHAPE)
    path = change.get("path", change.get("file_path"))
    if not isinstance(path, str):
        raise BadInput(change, "a change has no `path`", _SHAPE)
    word = change.get("change") or ""
    if word not in ("", *_CHANGES):
        raise BadInput(word, "no such kind of change", f"Use one of {', '.join(_CHANGES)}.")
    return path, str(word)


def _suspicious(missing: Missing, count: int, total: int) -> Conflict:
    return Conflict(
        missing.resource,
        f"{count} of {total} resources with cards are gone at once, as when a drive is not mounted",
        "Mount it; or name them in `changes` if they were deleted on purpose.",
    )
