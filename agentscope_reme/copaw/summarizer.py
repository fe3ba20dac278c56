"""Writes what a conversation was worth into memory files: one run, staged, checked, committed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agentscope_reme.context.transcript import render_parts
from agentscope_reme.copaw.memory_files import OneDayView, day_file, memory_scope, refuse_losses
from agentscope_reme.copaw.prompts import load_prompt
from agentscope_reme.errors import Conflict, ModelFailed
from agentscope_reme.files.change_set import ChangeSet
from agentscope_reme.messages import Message
from agentscope_reme.ports import AgentPort, Tool, ToolOutput
from agentscope_reme.steps.context import Components
from agentscope_reme.tools.agent_tools import file_tools
from agentscope_reme.tools.file_operations import FileOperations
from agentscope_reme.tools.redacting_view import RedactingView
from agentscope_reme.vault.live_view import LiveView

ACTOR: Final = "summary"
SILENT: Final = "[SILENT]"
"""What a model answers when nothing is worth keeping."""

MOST_PARTS: Final = 6
"""The most runs one conversation takes; a longer one is quoted more shortly, and says so."""

_TOOLS: Final = ("read", "write", "edit")

Widen = Callable[[Sequence[Tool]], list[Tool]]


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """One conversation to be summarised.

    Attributes:
        messages: its turns, oldest first.
        day: ``YYYY-MM-DD``, whose file the notes go to.
        language: ``en`` or ``zh``.
        operation: the name of the commit in the journal.
        prompt_tokens: the most conversation one run is given, in estimated tokens.
    """

    messages: Sequence[Message]
    day: str
    language: str
    operation: str = "summary"
    prompt_tokens: int = 24_000


@dataclass(frozen=True, slots=True)
class Summary:
    """How a run ended.

    Attributes:
        text: what the model said last.
        changed: the files it changed.
        is_settled: whether it did what it was asked for: it noted something, found that noted
            already, or said that there is nothing.
    """

    text: str
    changed: tuple[str, ...]
    is_settled: bool


@dataclass(slots=True)
class _Attempts:
    """What the changing tools of one run answered."""

    accepted: int = 0
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Summarizer:
    """Lets a model note what a conversation was worth, in ``MEMORY.md`` and ``memory/`` only.

    The model works on a `ChangeSet`. What it staged reaches the disk as one commit, after the code
    has made sure that no file lost what stood in it.

    Args:
        parts: the workspace's.
        agent: the model that does it.
        widen: adds the host's own tools to ours.
    """

    parts: Components
    agent: AgentPort
    widen: Widen = list

    async def write(self, request: SummaryRequest) -> Summary:
        """Run the model over the whole conversation and commit what it noted.

        Raises:
            ModelFailed: the model failed, or all it tried was refused; nothing was changed.
            Conflict: somebody else kept changing the same files; nothing was changed.
            StorageFailed: the disk refused; nothing was changed.
        """
        try:
            return await self._once(request)
        except Conflict as error:  # a person edited a file while the model worked: once more
            self.parts.failures.report(ACTOR, error)
        return await self._once(request)

    async def _once(self, request: SummaryRequest) -> Summary:
        live = LiveView(self.parts.vault, actor=ACTOR)
        staged = ChangeSet(live)
        view = OneDayView(staged, request.day)
        attempts = _Attempts()
        quoted = await asyncio.to_thread(_parts_of, request)
        if not quoted:
            return Summary(SILENT, (), is_settled=True)
        said = [await self._run(request, part, view, attempts) for part in quoted]
        if view.conflict is not None:
            raise view.conflict
        changes = staged.changes()
        if attempts.refused and not attempts.accepted:
            raise ModelFailed(
                attempts.refused, "every change the model tried was refused", "Try it again."
            )
        if changes:
            await asyncio.to_thread(refuse_losses, live, staged)
            await asyncio.to_thread(
                self.parts.vault.commit, changes, actor=ACTOR, operation=request.operation
            )
        text = "\n".join(filter(None, said))
        settled = attempts.accepted > 0 or SILENT in text
        return Summary(text, tuple(change.path for change in changes), settled)

    async def _run(
        self, request: SummaryRequest, part: str, view: OneDayView, attempts: _Attempts
    ) -> str:
        prompt = await asyncio.to_thread(_prompt, request, part, view)
        settings = self.parts.settings
        run: Any = await self.agent.run(
            load_prompt("summary_system", request.language).template,
            [prompt],
            self.widen(self._tools(view, attempts)),
            max_iters=settings.agent_max_iters,
            deadline=settings.agent_deadline_seconds,
        )
        return str(run.text).strip()

    def _tools(self, view: OneDayView, attempts: _Attempts) -> list[Tool]:
        parts = self.parts
        safe = RedactingView(view, parts.redactor, parts.settings.redact)
        operations = FileOperations(
            safe,
            parts.store,
            scope=memory_scope(ACTOR),
            settings=parts.settings,
            clock=parts.clock,
            workspace=parts.workspace,
        )
        tools = file_tools(operations, on_failure=parts.failures.report)
        return [_noting(tool, attempts) for tool in tools if tool.name in _TOOLS]


def _parts_of(request: SummaryRequest) -> list[str]:
    return render_parts(request.messages, part_tokens=request.prompt_tokens, most_parts=MOST_PARTS)


def _prompt(request: SummaryRequest, part: str, view: OneDayView) -> Message:
    path = day_file(request.day)
    state = "summary_known" if view.exists(path) else "summary_new"
    text = load_prompt("summary_task", request.language).substitute(
        day=request.day,
        path=path,
        state=load_prompt(state, request.language).template,
        conversation=part,
    )
    return Message.from_dict({"role": "user", "content": text})


def _noting(tool: Tool, attempts: _Attempts) -> Tool:
    """The tool, with what became of its changes written down."""
    if tool.read_only:
        return tool

    async def call(arguments: Any) -> ToolOutput:
        output = await tool.call(arguments)
        if output.success:
            attempts.accepted += 1
        else:
            attempts.refused = output.text
        return output

    return replace(tool, call=call)
