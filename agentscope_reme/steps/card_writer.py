"""One agent run that creates or updates one daily card, staged, checked, then committed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import Template
from typing import Any, Final

from agentscope_reme.clock import Clock
from agentscope_reme.context.interleaved import Interleaved
from agentscope_reme.context.transcript import shorten
from agentscope_reme.errors import BadPath, Conflict, ModelFailed
from agentscope_reme.files.change_set import ChangeSet
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.views import FileView
from agentscope_reme.messages import Message
from agentscope_reme.ports import AgentPort, AgentRun, Tool, ToolOutput, prompt_budget
from agentscope_reme.quoting import defuse
from agentscope_reme.runtime.failures import FailureLog
from agentscope_reme.schema import content_hash
from agentscope_reme.settings import Settings
from agentscope_reme.steps.cards import (
    LARGEST_GROWTH,
    card_stem,
    card_tags,
    find_card,
    free_path,
    slug,
    tags_missing,
    with_provenance,
    with_source_images,
)
from agentscope_reme.steps.images import sources_of
from agentscope_reme.steps.prompts import load_prompt
from agentscope_reme.steps.transcript import add_transcript, render_transcript
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.tools.agent_tools import file_tools
from agentscope_reme.tools.file_operations import FileOperations
from agentscope_reme.tools.pinned import PinnedView
from agentscope_reme.tools.redacting_view import RedactingView
from agentscope_reme.tools.redaction import Redactor
from agentscope_reme.tools.scope import OWNER, Scope, card_scope
from agentscope_reme.vault.live_view import LiveView
from agentscope_reme.vault.vault import Vault
from agentscope_reme.workspace import Workspace

ACTOR = "auto_memory"

_COMMIT_ATTEMPTS: Final = 20
_CREATE_TOOLS = ("daily_write",)
_UPDATE_TOOLS = ("read", "edit", "frontmatter_update", "write")


@dataclass(frozen=True, slots=True)
class CardRequest:
    """The turns to distil, and the card they belong to."""

    day: str
    session_id: str
    session_path: str
    messages: tuple[Message, ...]
    hint: str = ""
    include_images: bool = False
    listed_images: tuple[str, ...] = ()
    """Images the card lists whether or not they are shown."""

    @property
    def sources(self) -> list[str]:
        """The images the model is shown, as they are cited."""
        return sources_of(self.messages) if self.include_images else []


@dataclass(frozen=True, slots=True)
class CardOutcome:
    """``path`` is ``None`` when the agent found nothing worth keeping."""

    path: str | None
    created: bool
    modified: bool
    calls: int
    tags: tuple[str, ...] = ()
    without_tags: str | None = None
    """Why the card that was written has no tags."""


@dataclass(frozen=True, slots=True)
class _Draft:
    path: str
    content: bytes
    before: bytes | None


@dataclass(frozen=True, slots=True)
class CardWriter:
    """Lets a model write one card, and nothing else.

    The agent works on a `ChangeSet`: nothing reaches the disk before the code has checked it, put
    the provenance in, named the file and refreshed the day page. Then all of it is one commit.
    """

    agent: AgentPort
    vault: Vault
    store: BaseFileStore
    settings: Settings
    clock: Clock
    workspace: Workspace
    language: str
    failures: FailureLog
    redactor: Redactor

    async def write(self, request: CardRequest, *, max_iters: int) -> CardOutcome:
        """Run the agent, with at most `max_iters` model calls, and commit what it made.

        Raises:
            ModelFailed: the model failed; nothing was changed.
            Conflict: somebody changed the card meanwhile; nothing was changed.
        """
        card = await asyncio.to_thread(self._existing_card, request)
        staged = ChangeSet(LiveView(self.vault, actor=ACTOR))
        before = await asyncio.to_thread(staged.read, card) if card else None
        prompt = await asyncio.to_thread(self._prompt, request, card, before)
        run = await self._run_agent(request, card, prompt, staged, max_iters)
        draft = await asyncio.to_thread(self._draft, request, staged, card, before)
        if draft is None:
            return CardOutcome(path=card, created=False, modified=False, calls=run.calls)
        path = await asyncio.to_thread(self._commit, request, draft)
        return CardOutcome(
            path=path,
            created=card is None,
            modified=True,
            calls=run.calls,
            tags=card_tags(draft.content),
            without_tags=tags_missing(draft.content),
        )

    def _existing_card(self, request: CardRequest) -> str | None:
        self.store.refresh()
        node = find_card(
            self.store,
            day=request.day,
            session_id=request.session_id,
            session_path=request.session_path,
        )
        return node.path if node else None

    async def _run_agent(
        self,
        request: CardRequest,
        card: str | None,
        prompt: Message,
        staged: ChangeSet,
        max_iters: int,
    ) -> AgentRun[Any]:
        refusals: list[str] = []
        scope = card_scope(
            actor=ACTOR,
            day=request.day,
            session_id=request.session_id,
            card=card,
            source_path=request.session_path,
        )
        wanted = _CREATE_TOOLS if card is None else _UPDATE_TOOLS
        tools = [noting(tool, refusals) for tool in self._tools(staged, scope, wanted)]
        run: AgentRun[Any] = await self.agent.run(
            self._instructions(request),
            [prompt],
            tools,
            max_iters=max_iters,
            deadline=self.settings.agent_deadline_seconds,
        )
        if not staged.changes():
            refuse_idle(run, refusals, "The turns stay pending and are tried again.")
        return run

    def _tools(self, staged: ChangeSet, scope: Scope, wanted: tuple[str, ...]) -> list[Tool]:
        view = RedactingView(staged, self.redactor, self.settings.redact)
        operations = self._operations(view, scope)
        tools = file_tools(operations, on_failure=self.failures.report)
        return [tool for tool in tools if tool.name in wanted]

    def _operations(self, staged: FileView, scope: Scope) -> FileOperations:
        return FileOperations(
            staged,
            self.store,
            scope=scope,
            settings=self.settings,
            clock=self.clock,
            workspace=self.workspace,
        )

    def _instructions(self, request: CardRequest) -> str:
        system = load_prompt("auto_memory_system", self.language).template
        if not request.sources:
            return system
        return f"{system}\n{load_prompt('auto_memory_images', self.language).template}"

    def _prompt(self, request: CardRequest, card: str | None, shown: bytes | None) -> Message:
        values = {
            "day": request.day,
            "session_id": defuse(request.session_id),
            "hint": defuse(request.hint) or "-",
        }
        name = "auto_memory_create"
        if card is not None and shown is not None:
            name = "auto_memory_update"
            values["card"] = card
            text = MarkdownDocument.parse(shown).text
            room = prompt_budget(self.agent, self.settings.tool_answer_bytes // 2)
            values["card_text"] = defuse(shorten(text, room))
        before, after = load_prompt(name, self.language).template.split("$conversation")
        prompt = Interleaved(defuse, most_images=self.settings.max_image_num)
        prompt.add_words(Template(before).substitute(values))
        self._add_conversation(prompt, request)
        prompt.add_words(Template(after).substitute(values))
        return Message(role="user", name="user", blocks=prompt.blocks)

    def _add_conversation(self, prompt: Interleaved, request: CardRequest) -> None:
        budget = prompt_budget(self.agent, self.settings.auto_memory_prompt_tokens)
        if request.sources:
            add_transcript(prompt, request.messages, self.clock, budget_tokens=budget)
        else:
            said = render_transcript(request.messages, self.clock, budget_tokens=budget)
            prompt.add_words(said)

    def _draft(
        self, request: CardRequest, staged: ChangeSet, card: str | None, before: bytes | None
    ) -> _Draft | None:
        """What the agent made of the card, with the provenance put in; ``None`` for nothing.

        The card must still be what the agent was shown: that is what the commit compares with.
        """
        path = card or self._written(request, staged)
        if path is None or not staged.changes():
            return None
        written = staged.read(path)
        _refuse_a_flood(path, written, before)
        content = with_provenance(
            written,
            session_id=request.session_id,
            session_path=request.session_path,
            before=before,
        )
        listed = dict.fromkeys([*request.sources, *request.listed_images])
        return _Draft(path, with_source_images(content, listed, before), before)

    def _written(self, request: CardRequest, staged: ChangeSet) -> str | None:
        folder = f"daily/{request.day}/"
        written = [change.path for change in staged.changes() if change.path.startswith(folder)]
        return written[0] if written else None

    def _commit(self, request: CardRequest, draft: _Draft) -> str:
        """One commit of the card and its day page.

        Other sessions write the same page and may take the same name: both are made anew until
        nobody was faster. When a person changed the card, that is a `Conflict` for the caller.
        """
        for _ in range(_COMMIT_ATTEMPTS - 1):
            try:
                return self._commit_once(request, draft)
            except Conflict as error:
                if draft.before is not None and error.given == draft.path:
                    raise
        return self._commit_once(request, draft)

    def _commit_once(self, request: CardRequest, draft: _Draft) -> str:
        staged = ChangeSet(LiveView(self.vault, actor=ACTOR))
        if draft.before is None:
            path = self._place(request, draft.content, staged, card_stem(draft.path), own=None)
            staged.write(path, draft.content, expected=None)
        else:
            staged.write(draft.path, draft.content, expected=content_hash(draft.before))
            stem = card_stem(draft.path)
            path = self._place(request, draft.content, staged, stem, own=draft.path)
            if path != draft.path:
                path = _renamed(staged, draft.path, path)
        self._operations(staged, replace(OWNER, actor=ACTOR)).daily_reindex(request.day)
        self.vault.commit(staged.changes(), actor=ACTOR, operation="auto_memory")
        return path

    def _place(
        self, request: CardRequest, content: bytes, staged: ChangeSet, stem: str, *, own: str | None
    ) -> str:
        name = MarkdownDocument.parse(content).front_matter.get("name")
        wanted = slug(str(name)) if name else stem
        return free_path(staged.paths(f"daily/{request.day}/"), request.day, wanted, own=own)


def _refuse_a_flood(path: str, after: bytes, before: bytes | None) -> None:
    """Refuse what no conversation is worth: it would fill the index and every prompt.

    Raises:
        ModelFailed: the card grew by more than one run may add.
    """
    grown = len(after) - len(before or b"")
    if grown > LARGEST_GROWTH:
        raise ModelFailed(
            path,
            f"the model added {grown} bytes to a card, {LARGEST_GROWTH} are allowed",
            "The turns stay pending and are tried again.",
        )


def _renamed(staged: ChangeSet, old: str, new: str) -> str:
    """Where the card is after the move: a pinned file that links to it keeps it where it is."""
    try:
        PinnedView(staged, ACTOR).move(old, new)
    except BadPath:
        return old
    return new


def refuse_idle(run: AgentRun[Any], refusals: Sequence[str], remedy: str) -> None:
    """Let a run that changed nothing pass when it says so in words, and was not kept from it.

    Raises:
        ModelFailed: every change was refused, or nothing was said either.
    """
    if refusals:
        raise ModelFailed(refusals[-1], "every change the model tried was refused", remedy)
    if not run.text.strip():
        raise ModelFailed("", "the model said and changed nothing", remedy)


def noting(tool: Tool, refusals: list[str]) -> Tool:
    """The tool, with what it refused to change written down."""
    if tool.read_only:
        return tool

    async def call(arguments: Any) -> ToolOutput:
        output = await tool.call(arguments)
        if not output.success:
            refusals.append(output.text)
        return output

    return replace(tool, call=call)
