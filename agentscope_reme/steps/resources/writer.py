"""One agent run that brings one card in step with one part of a resource; then one commit."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from agentscope_reme.context.interleaved import IMAGE_SOURCE
from agentscope_reme.context.transcript import shorten
from agentscope_reme.errors import Conflict, ModelFailed
from agentscope_reme.files.change_set import ChangeSet
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.messages import Block, Message, TextBlock
from agentscope_reme.ports import AgentPort, AgentRun, Tool
from agentscope_reme.quoting import defuse
from agentscope_reme.schema import content_hash
from agentscope_reme.steps.card_writer import CardOutcome, noting, refuse_idle
from agentscope_reme.steps.cards import card_tags, free_path, slug
from agentscope_reme.steps.context import Components
from agentscope_reme.steps.resources.ownership import Cursor, with_resource
from agentscope_reme.steps.resources.pictures import Picture
from agentscope_reme.steps.resources.places import is_day
from agentscope_reme.steps.resources.prompts import load_prompt
from agentscope_reme.tools.agent_tools import file_tools
from agentscope_reme.tools.file_operations import FileOperations
from agentscope_reme.tools.redacting_view import RedactingView
from agentscope_reme.tools.scope import Scope, resource_scope
from agentscope_reme.vault.live_view import LiveView

ACTOR: Final = "auto_resource"

_AGAIN: Final = "The resource is tried again by the next call."
_COMMIT_ATTEMPTS: Final = 20
_CREATE_TOOLS: Final = ("daily_write",)
_UPDATE_TOOLS: Final = ("read", "edit", "frontmatter_update", "write")
_DECLINED: Final = re.compile(
    r"\bnothing\b|\bno (?:new|need|facts?|information|content|card)\b|\bnot worth"
    r"|没有|无需|不需要|不值得",
    re.IGNORECASE,
)
"""How a model says that there is nothing to record, in its own words."""


@dataclass(frozen=True, slots=True)
class PartRequest:
    """A part of a resource, and the card it belongs to.

    Attributes:
        resource: its path.
        day: the day of a new card.
        changed: when the file was last changed, as it is shown.
        shown: which part of it this is, in words.
        content: the part: text, or a picture.
        card: the card to bring in step; ``None`` for a new one.
        cursor: how far the card follows the resource once this part is in it.
    """

    resource: str
    day: str
    changed: str
    shown: str
    content: str | Picture
    card: str | None
    cursor: Cursor

    @property
    def facts(self) -> dict[str, str]:
        """Front matter that describes a picture."""
        if isinstance(self.content, str):
            return {}
        return {"kind": "image", "media_type": self.content.media_type}


@dataclass(frozen=True, slots=True)
class _Draft:
    name: str
    content: bytes
    before: bytes | None


@dataclass(frozen=True, slots=True)
class ResourceCardWriter:
    """Lets a model write the card of one resource, and nothing else.

    The agent works on a `ChangeSet`: nothing reaches the disk before the code has put the
    provenance in and checked that no link was lost.
    """

    agent: AgentPort
    parts: Components

    async def write(self, request: PartRequest, *, max_iters: int) -> CardOutcome:
        """Run the agent, with at most `max_iters` model calls, and commit what it made.

        Raises:
            ModelFailed: the model failed, or did nothing of what it may do; nothing was changed.
            Conflict: somebody changed the card meanwhile; nothing was changed.
        """
        staged = ChangeSet(LiveView(self.parts.vault, actor=ACTOR))
        before = await asyncio.to_thread(staged.read, request.card) if request.card else None
        prompt = self._prompt(request, before)
        run = await self._run_agent(request, prompt, staged, max_iters)
        draft = await asyncio.to_thread(self._draft, request, staged, before)
        if draft is None:
            _refuse_silence(request, run)
            return CardOutcome(path=None, created=False, modified=False, calls=run.calls)
        path = await asyncio.to_thread(self._commit, request, draft)
        tags = card_tags(draft.content)
        created = request.card is None
        return CardOutcome(path=path, created=created, modified=True, calls=run.calls, tags=tags)

    async def _run_agent(
        self, request: PartRequest, prompt: Message, staged: ChangeSet, max_iters: int
    ) -> AgentRun[Any]:
        refusals: list[str] = []
        run: AgentRun[Any] = await self.agent.run(
            load_prompt("resource_system", self.parts.language).template,
            [prompt],
            [noting(tool, refusals) for tool in self._tools(request, staged)],
            max_iters=max_iters,
            deadline=self.parts.settings.agent_deadline_seconds,
        )
        if not staged.changes():
            refuse_idle(run, refusals, _AGAIN)
        return run

    def _tools(self, request: PartRequest, staged: ChangeSet) -> list[Tool]:
        parts = self.parts
        view = RedactingView(staged, parts.redactor, parts.settings.redact)
        scope = resource_scope(
            actor=ACTOR, day=request.day, resource=request.resource, card=request.card
        )
        operations = FileOperations(
            view,
            parts.store,
            scope=scope,
            settings=parts.settings,
            clock=parts.clock,
            workspace=parts.workspace,
        )
        wanted = _CREATE_TOOLS if request.card is None else _UPDATE_TOOLS
        tools = file_tools(operations, on_failure=parts.failures.report)
        return [tool for tool in tools if tool.name in wanted]

    def _prompt(self, request: PartRequest, before: bytes | None) -> Message:
        values = {
            "resource": defuse(request.resource),
            "day": request.day,
            "changed": request.changed,
            "shown": request.shown,
        }
        name = "resource_create"
        if request.card is not None and before is not None:
            name = "resource_update"
            text = MarkdownDocument.parse(before).text
            shown = shorten(text, self.parts.settings.tool_answer_bytes // 2)
            values |= {"card": request.card, "card_text": defuse(shown)}
        around = load_prompt(name, self.parts.language).template.split("$text")
        words = [_filled(part, values) for part in around]
        return Message(role="user", name="user", blocks=_blocks(request, *words))

    def _draft(
        self, request: PartRequest, staged: ChangeSet, before: bytes | None
    ) -> _Draft | None:
        """What the agent made of the card, with the provenance put in; ``None`` for no card.

        The card must still be what the agent was shown: that is what the commit compares with.
        """
        path = request.card or next((change.path for change in staged.changes()), None)
        if path is None:
            return None
        content = with_resource(
            staged.read(path),
            request.resource,
            request.cursor,
            facts=request.facts,
            before=before,
        )
        name = MarkdownDocument.parse(content).front_matter.get("name")
        stem = slug(str(name or PurePosixPath(request.resource).stem))
        return _Draft(stem, content, before)

    def _commit(self, request: PartRequest, draft: _Draft) -> str:
        """One commit of the card and its day page.

        Others write the same page and may take the same name: both are made anew until nobody was
        faster. When somebody changed the card, that is a `Conflict` for the caller.
        """
        for _ in range(_COMMIT_ATTEMPTS - 1):
            try:
                return self._commit_once(request, draft)
            except Conflict as error:
                if error.given == request.card:
                    raise
        return self._commit_once(request, draft)

    def _commit_once(self, request: PartRequest, draft: _Draft) -> str:
        staged = ChangeSet(LiveView(self.parts.vault, actor=ACTOR))
        if request.card is not None:
            path = request.card
            expected = content_hash(draft.before or b"")
            staged.write(path, draft.content, expected=expected)
        else:
            taken = staged.paths(f"daily/{request.day}/")
            path = free_path(taken, request.day, draft.name)
            staged.write(path, draft.content, expected=None)
        refresh_day(self.parts, staged, path)
        self.parts.vault.commit(staged.changes(), actor=ACTOR, operation=ACTOR)
        return path


def refresh_day(parts: Components, staged: ChangeSet, card: str) -> None:
    """Bring the page of a card's day up to date, in the same change as the card."""
    folder = card.split("/")
    if len(folder) != 3 or not is_day(folder[1]):  # a person keeps it elsewhere
        return
    FileOperations(
        staged,
        parts.store,
        scope=Scope.owner(ACTOR),
        settings=parts.settings,
        clock=parts.clock,
        workspace=parts.workspace,
    ).daily_reindex(folder[1])


def _refuse_silence(request: PartRequest, run: AgentRun[Any]) -> None:
    if not _DECLINED.search(run.text):
        raise ModelFailed(
            run.text,
            f"the model wrote no card of {request.resource} and did not say why",
            _AGAIN,
        )


def _blocks(request: PartRequest, before: str, after: str) -> tuple[Block, ...]:
    if isinstance(request.content, str):
        return (TextBlock(text=before + defuse(request.content) + after),)
    source = f"{IMAGE_SOURCE}{defuse(f'[[{request.resource}]]')}"
    return (TextBlock(text=before + source), request.content.block, TextBlock(text=after))


def _filled(template: str, values: dict[str, str]) -> str:
    """The template with its placeholders filled; what is filled in is never a template itself."""
    return re.sub(r"\$(\w+)", lambda match: values[match[1]], template)
