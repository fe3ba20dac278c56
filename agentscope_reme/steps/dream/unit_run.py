"""One agent run over one unit: what it is told, the tools it gets, and the judging of its work."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from agentscope_reme.errors import ModelFailed, ReMeError
from agentscope_reme.files.change_set import ChangeSet
from agentscope_reme.files.changes import Write
from agentscope_reme.files.dream_progress import WaitingUnit
from agentscope_reme.messages import Message, TextBlock
from agentscope_reme.ports import AgentPort, Tool, prompt_budget
from agentscope_reme.steps.context import ApplicationContext
from agentscope_reme.steps.dream.material import DailyFile, day_of, read_daily
from agentscope_reme.steps.dream.node_checks import check_node
from agentscope_reme.steps.dream.nodes import Nodes
from agentscope_reme.steps.dream.proposal import Proposal, RefusedError, completed
from agentscope_reme.steps.dream.run import ACTOR, DreamRun, Integrated
from agentscope_reme.steps.dream.statements import source_links
from agentscope_reme.steps.dream.unit_prompt import UnitPrompt, unit_prompt
from agentscope_reme.steps.dream.units import Receipt
from agentscope_reme.tools.agent_tools import file_tools
from agentscope_reme.tools.file_operations import FileOperations
from agentscope_reme.tools.pinned import is_pinned
from agentscope_reme.tools.redacting_view import RedactingView
from agentscope_reme.tools.scope import Scope
from agentscope_reme.workspace import DIGEST_BUCKETS, is_markdown

_TOOLS: Final = ("read", "frontmatter_read", "write", "edit", "frontmatter_update")
_SCOPE: Final = Scope(actor=ACTOR, writable=tuple(f"digest/{bucket}/" for bucket in DIGEST_BUCKETS))
_SHOWN_NODES: Final = 8
_QUERY_CHARACTERS: Final = 300
_LARGEST_TOOL_ANSWER: Final = 8 * 1024  # bytes: a dozen of them still fit beside the evidence


@dataclass(frozen=True, slots=True)
class UnitRun:
    """Lets an agent bring one unit into one node, on an overlay of its own.

    Nothing it does reaches the dream before the code has judged it, and nothing of the dream
    reaches the disk before its last step.
    """

    application: ApplicationContext
    agent: AgentPort
    run: DreamRun
    unit: WaitingUnit
    evidence: tuple[DailyFile, ...]
    hint: str

    @property
    def days(self) -> tuple[str, ...]:
        """The days on which the evidence was noted, oldest first."""
        found = {day for file in self.evidence if (day := day_of(file.path))}
        return tuple(sorted(found)) or (self.run.day,)

    async def attempt(self, refused: RefusedError | None = None) -> Integrated:
        """One run of the agent.

        Args:
            refused: why the first attempt was refused, for a second one.

        Raises:
            RefusedError: what it made breaks rules; nothing is staged.
            ModelFailed: the model failed; nothing is staged.
        """
        overlay = ChangeSet(self.run.staged)
        nodes = self._nodes(overlay)
        parts = self.application.components
        told = await self._told(nodes, refused)
        granted = self.run.budget.reserve(parts.settings.agent_max_iters)
        self.run.agent_runs += 1
        made = await self.agent.run(
            told.instructions,
            [Message(role="user", name="user", blocks=(TextBlock(text=told.text),))],
            [nodes.tool(), *self._tools(overlay)],
            Receipt,
            max_iters=granted,
            deadline=parts.settings.agent_deadline_seconds,
        )
        self.run.model_calls += made.calls
        self.run.budget.give_back(max(0, granted - made.calls))
        if made.output is None:
            raise ModelFailed(made.text, "the agent gave no receipt", "The unit is tried again.")
        try:
            return await self._judged(made.output, overlay)
        except RefusedError as error:
            raise RefusedError(error.faults, made.output) from error

    async def _told(self, nodes: Nodes, refused: RefusedError | None) -> UnitPrompt:
        parts = self.application.components
        query = f"{self.unit.name} {self.unit.summary[:_QUERY_CHARACTERS]}"
        found = await nodes.search(query, _SHOWN_NODES)
        return await asyncio.to_thread(
            unit_prompt,
            self.unit,
            self.evidence,
            days=self.days,
            hint=self.hint,
            nodes=found,
            refused=refused,
            language=parts.language,
            budget_tokens=prompt_budget(parts.agent, parts.settings.dream_prompt_tokens),
        )

    async def _judged(self, receipt: Receipt, overlay: ChangeSet) -> Integrated:
        node = await asyncio.to_thread(self._proposal, receipt, overlay)
        if node is None:
            return Integrated(self.unit, receipt.action, receipt.target_path, receipt.note, None)
        if node.before is None:
            twin = await self._nodes(self.run.staged).twin_of(node.target, node.after)
            if twin is not None:
                raise RefusedError(
                    [
                        f"{twin} already is about this: read it, and CORROBORATE, REFINE or "
                        "CORRECT it instead of creating a second node."
                    ]
                )
        return Integrated(self.unit, receipt.action, node.target, receipt.note, node.after)

    def _proposal(self, receipt: Receipt, overlay: ChangeSet) -> Proposal | None:
        """What the agent made, checked; ``None`` when the node said all of it already."""
        target = self._target(receipt)
        changed = overlay.changes()
        before = self.run.staged.read(target) if self.run.staged.exists(target) else None
        self._refuse_wrong_action(receipt, target, before)
        others = sorted(change.path for change in changed if change.path != target)
        if others or any(not isinstance(change, Write) for change in changed):
            raise RefusedError([f"Change {target} alone; you also changed {', '.join(others)}."])
        if not changed:
            self._refuse_unchanged(receipt, target, before)
            return None
        node = self._node(receipt, target, before, overlay.read(target), overlay)
        node = self._node(receipt, target, before, completed(node), overlay)
        check_node(node)
        return node

    def _target(self, receipt: Receipt) -> str:
        given = receipt.target_path.removeprefix("[[").removesuffix("]]")
        try:
            target = self.application.components.workspace.normalise(given)
            _SCOPE.check_write(target)
        except ReMeError as error:
            raise RefusedError([str(error)]) from error
        if not is_markdown(target):
            raise RefusedError([f"{target} is no Markdown file: a node ends in `.md`."])
        return target

    def _refuse_wrong_action(self, receipt: Receipt, target: str, before: bytes | None) -> None:
        folder = f"digest/{self.unit.bucket}/"
        if receipt.action == "CREATE":
            if before is not None:
                raise RefusedError([f"{target} exists: CORROBORATE, REFINE or CORRECT it."])
            if not target.startswith(folder):
                raise RefusedError([f"A new node of this unit stands below {folder}."])
        elif before is None:
            raise RefusedError([f"{target} does not exist: only a CREATE makes a node."])
        if before is not None and is_pinned(before):
            raise RefusedError(
                [f"{target} is pinned and stays as it is. CREATE another node that links to it."]
            )

    def _refuse_unchanged(self, receipt: Receipt, target: str, before: bytes | None) -> None:
        """A node that cites all of the evidence already may stay as it is."""
        cited = source_links((before or b"").decode("utf-8", "replace"))
        if receipt.action == "CORROBORATE" and set(self.unit.paths) <= cited:
            return
        raise RefusedError([f"{target} was not changed."])

    def _node(
        self, receipt: Receipt, target: str, before: bytes | None, after: bytes, view: ChangeSet
    ) -> Proposal:
        return Proposal(
            action=receipt.action,
            target=target,
            before=before,
            after=after,
            paths=self.unit.paths,
            days=self.days,
            evidence="\n".join(file.text for file in self.evidence),
            exists=lambda path: _stands(view, path),
            name=self.unit.name,
            summary=self.unit.summary,
        )

    def _nodes(self, view: ChangeSet) -> Nodes:
        staged = {change.path for change in self.run.staged.changes()}
        return Nodes(self.application, view, staged)

    def _tools(self, overlay: ChangeSet) -> list[Tool]:
        parts = self.application.components
        limit = min(parts.settings.tool_answer_bytes, _LARGEST_TOOL_ANSWER)
        operations = FileOperations(
            RedactingView(overlay, parts.redactor, parts.settings.redact),
            parts.store,
            scope=_SCOPE,
            settings=parts.settings.model_copy(update={"tool_answer_bytes": limit}),
            clock=parts.clock,
            workspace=parts.workspace,
        )
        tools = file_tools(operations, on_failure=parts.failures.report)
        return [tool for tool in tools if tool.name in _TOOLS]


def evidence_of(unit: WaitingUnit, application: ApplicationContext) -> tuple[DailyFile, ...]:
    """The daily files of a unit as they are now; those that are gone are left out."""
    vault = application.components.vault
    files = (read_daily(vault, path) for path in unit.paths)
    return tuple(file for file in files if file is not None)


def _stands(view: ChangeSet, path: str) -> bool:
    try:
        return view.exists(path)
    except ReMeError:
        return False
