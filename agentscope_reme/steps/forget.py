"""Forget: shows what would go, then removes it for good, from every layer at once."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from agentscope_reme.errors import BadInput, Conflict
from agentscope_reme.files.change_set import ChangeSet
from agentscope_reme.files.locks import resource_claim
from agentscope_reme.files.summary_records import CLAIM
from agentscope_reme.results import ForgetResult, ForgottenPart
from agentscope_reme.steps.base import Ref
from agentscope_reme.steps.forget_closure import Closure
from agentscope_reme.steps.forget_erasure import ErasureBuilder, Outcome
from agentscope_reme.steps.forget_parts import kept_of, parts_of
from agentscope_reme.steps.forget_query import Matcher, seed_query
from agentscope_reme.steps.forget_summaries import add_summaries
from agentscope_reme.steps.forget_telling import told
from agentscope_reme.steps.forget_workings import Seeds, Workings, load
from agentscope_reme.steps.search import SearchStep
from agentscope_reme.steps.session import SessionStep
from agentscope_reme.tools.answer_limit import ALL_IN_FIELDS, capped
from agentscope_reme.tools.file_operations import FileOperations
from agentscope_reme.tools.scope import OWNER, Scope
from agentscope_reme.vault.erasure import Erasure
from agentscope_reme.vault.live_view import LiveView
from agentscope_reme.workspace import layer_of

_SHOWN_BEFORE: Final = "forgetting shown"
_SIMILAR: Final = 10
_LONGEST_QUERY: Final = 2000
_BUSY_LOOK_SECONDS: Final = 0.05
_ATTEMPTS: Final = 3
_DREAM: Final = "dream"


class ForgetArguments(BaseModel):
    """What the step reads from its run; see `ReMe.forget`.

    ``paths`` are whole files, as a rule of retention names them; with ``alone`` nothing that was
    made from them, or that they were made from, goes with them and no file that stays gets another
    name, and ``reasons`` says by path why they go. With ``whole_logs`` conversations of which every
    turn goes leave no file; else one says which turns must not be recorded again. ``actor`` is who
    forgets.
    """

    model_config = ConfigDict(frozen=True)

    path: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    query: str | None = None
    dry_run: bool = True
    plan_id: str | None = None
    paths: tuple[str, ...] = ()
    alone: bool = False
    whole_logs: bool = False
    reasons: Mapping[str, str] = Field(default_factory=dict)
    actor: str = OWNER.actor

    @property
    def key(self) -> str:
        """Names the request, without regard to whether it is a dry run."""
        asked = (self.path, self.start_line, self.end_line, self.query, self.paths)
        return repr(asked)


@dataclass(frozen=True, slots=True)
class _Worked:
    """A request, worked out."""

    workings: Workings
    outcome: Outcome
    matcher: Matcher
    plan_id: str
    parts: list[ForgottenPart]


class ForgetStep(SessionStep[ForgetResult]):
    """Works out everything a request takes along, shows it, and removes exactly that.

    The same files give the same plan. What was shown before is compared with what would go now:
    when that differs nothing is forgotten. While a session is being distilled or a dream is under
    way nothing is forgotten either, for a model may just hold what is to go.
    """

    store = Ref(lambda parts: parts.store)
    settings = Ref(lambda parts: parts.settings)
    disk = Ref(lambda parts: parts.disk)
    search = SearchStep()

    async def execute(self) -> ForgetResult:
        """Show or forget what the run names.

        Raises:
            BadInput: the request names nothing, or too much.
            NotFound: nothing stands at the path.
            Conflict: what would go is not what was shown, or a model is at work on it.
            StorageFailed: the disk refused.
        """
        arguments = self.context.parse(ForgetArguments)
        _refuse_unclear(arguments)
        if arguments.dry_run:
            result = await asyncio.to_thread(self._show, arguments)
            if arguments.query:
                result.similar = await self._similar(arguments.query, result.parts)
        else:
            result = await self._forget(arguments)
        result.answer = capped(told(result), self.settings.tool_answer_bytes, ALL_IN_FIELDS)
        return result

    def _show(self, arguments: ForgetArguments) -> ForgetResult:
        worked = self._work_out(arguments)
        self._shown[arguments.key] = worked.plan_id
        scrub = self.vault.preview_forgetting(worked.outcome.erasure) if worked.parts else None
        return ForgetResult(
            plan_id=worked.plan_id,
            parts=worked.parts,
            kept=kept_of(worked.workings, worked.outcome, worked.matcher, done=False),
            earlier=_counted(scrub.entries, scrub.images, scrub.trashed) if scrub else {},
        )

    async def _forget(self, arguments: ForgetArguments) -> ForgetResult:
        looks = int(self.settings.lock_patience_seconds / _BUSY_LOOK_SECONDS)
        for _ in range(looks):
            try:
                return await asyncio.to_thread(self._forget_now, arguments)
            except _Busy:
                await asyncio.sleep(_BUSY_LOOK_SECONDS)
        try:
            return await asyncio.to_thread(self._forget_now, arguments)
        except _Busy as busy:
            raise busy.conflict() from None

    def _forget_now(self, arguments: ForgetArguments) -> ForgetResult:
        for attempt in range(1, _ATTEMPTS + 1):
            worked = self._work_out(arguments)
            self._refuse_surprise(arguments, worked)
            if not worked.parts:
                kept = kept_of(worked.workings, worked.outcome, worked.matcher, done=True)
                return ForgetResult(dry_run=False, plan_id=worked.plan_id, kept=kept)
            with self._nobody_at(worked.outcome.erasure):
                again = self._work_out(arguments)
                if again.plan_id != worked.plan_id:
                    continue
                try:
                    receipt = self.vault.forget(again.outcome.erasure, actor=arguments.actor)
                except Conflict:
                    if attempt == _ATTEMPTS:
                        raise
                    continue
            self._shown.pop(arguments.key, None)
            return ForgetResult(
                dry_run=False,
                plan_id=again.plan_id,
                parts=again.parts,
                kept=kept_of(again.workings, again.outcome, again.matcher, done=True),
                change_id=receipt.change_id,
                earlier=_counted(receipt.entries, receipt.images, receipt.trashed),
                indexed=receipt.indexed,
            )
        raise Conflict(arguments.key, "the files keep changing", "Try again in a moment.")

    def _work_out(self, arguments: ForgetArguments) -> _Worked:
        self.store.refresh()
        workings = load(self.vault)
        add_summaries(workings.talks, self.workspace, self.disk)
        matcher = Matcher()
        if arguments.query is not None:
            matcher = seed_query(workings, arguments.query)
        seeds = Seeds(workings)
        for path in arguments.paths:
            seeds.unpinned(path, arguments.paths, arguments.reasons.get(path, "named"))
        if arguments.path is not None:
            path = self.workspace.normalise(arguments.path)
            seeds.path(path, arguments.start_line, arguments.end_line)
        Closure(workings).follow(
            upwards=arguments.query is None and not arguments.alone, downwards=not arguments.alone
        )
        staged = ChangeSet(LiveView(self.vault, actor=arguments.actor))
        operations = self._operations(staged, arguments.actor)
        builder = ErasureBuilder(
            workings,
            matcher,
            staged,
            operations,
            keep_names=arguments.alone,
            whole_logs=arguments.whole_logs,
        )
        outcome = builder.build()
        parts = parts_of(workings, outcome)
        return _Worked(workings, outcome, matcher, _plan_id(parts), parts)

    def _operations(self, staged: ChangeSet, actor: str) -> FileOperations:
        return FileOperations(
            staged,
            self.store,
            scope=Scope.owner(actor),
            settings=self.settings,
            clock=self.clock,
            workspace=self.workspace,
        )

    @property
    def _shown(self) -> dict[str, str]:
        found: dict[str, str] = self.context.application.metadata.setdefault(_SHOWN_BEFORE, {})
        return found

    def _refuse_surprise(self, arguments: ForgetArguments, worked: _Worked) -> None:
        expected = arguments.plan_id or self._shown.get(arguments.key)
        if expected is not None and expected != worked.plan_id:
            raise Conflict(
                arguments.path or arguments.query,
                "what would be forgotten is not what was shown before",
                "Look again with `dry_run=True`, then forget.",
            )
        if arguments.query is not None and worked.matcher.is_vague and expected is None:
            raise Conflict(
                arguments.query,
                "no text holds this phrase as it stands, only its words"
                if worked.matcher.by_words
                else "this says so little that it may stand anywhere",
                "Look first with `dry_run=True`; what it shows can be forgotten then.",
            )

    @contextmanager
    def _nobody_at(self, erasure: Erasure) -> Iterator[None]:
        """Claim what a model may be at work on, so that it cannot write it again."""
        claims = {name: name for name in (_DREAM, CLAIM)}
        claims |= {f"session {one}": one for one in erasure.sessions}
        touched = sorted({*erasure.removes, *erasure.writes})
        claims |= {resource_claim(p): p for p in touched if layer_of(p) == "resource"}
        with ExitStack() as held:
            for claim, what in claims.items():
                if not held.enter_context(self.locks.claim(claim)):
                    raise _Busy(what)
            yield

    async def _similar(self, query: str, parts: Sequence[ForgottenPart]) -> list[ForgottenPart]:
        """What a search finds beside the exact matches."""
        found = await self.search(self.context.application, query=query, limit=_SIMILAR)
        return [
            ForgottenPart(
                layer="similar",
                path=hit.path,
                start_line=hit.start_line,
                end_line=hit.end_line,
                text=" ".join(hit.text.split())[:120],
                reason="found by search, not by its exact words: it stays",
            )
            for hit in found.hits
            if not any(_overlaps(part, hit.path, hit.start_line, hit.end_line) for part in parts)
        ]


class _Busy(Exception):
    """A model is at work on something that is to go."""

    def conflict(self) -> Conflict:
        """What the caller is told when it does not end."""
        return Conflict(
            str(self.args[0]),
            "a model is at work on this just now and would write it again",
            "Try again when it is done.",
        )


def _refuse_unclear(arguments: ForgetArguments) -> None:
    named = [arguments.path is not None, arguments.query is not None, bool(arguments.paths)]
    if sum(named) != 1:
        raise BadInput(
            {"path": arguments.path, "query": arguments.query},
            "exactly one of `path` and `query` says what to forget",
            "Pass a path, a path with lines, or a query.",
        )
    lines = (arguments.start_line, arguments.end_line)
    if arguments.path is None and lines != (None, None):
        raise BadInput(lines, "lines belong to a `path`", "Pass `path` as well.")
    if arguments.query is not None and not arguments.query.strip():
        raise BadInput(arguments.query, "the query is empty", "Pass the words to forget.")
    if arguments.query is not None and len(arguments.query) > _LONGEST_QUERY:
        raise BadInput(
            arguments.query,
            f"the query is longer than {_LONGEST_QUERY} characters",
            "Pass some of its words, or the path and the lines.",
        )


def _plan_id(parts: Sequence[ForgottenPart]) -> str:
    told = "\0".join(part.model_dump_json() for part in parts)
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _counted(changes: int, versions: int, trashed: int) -> dict[str, int]:
    return {"changes": changes, "versions": versions, "trash": trashed}


def _overlaps(part: ForgottenPart, path: str, start: int, end: int) -> bool:
    if part.path != path:
        return False
    return part.start_line == 0 or (part.start_line <= end and start <= part.end_line)
