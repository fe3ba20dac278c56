"""Retention: an opt-in rule that forgets raw material of a certain age, as a person would."""

from __future__ import annotations

import asyncio
import datetime
import re
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict

from agentscope_reme.errors import ReMeError
from agentscope_reme.files.session_names import session_ids
from agentscope_reme.messages import latest_moment
from agentscope_reme.results import ForgetResult
from agentscope_reme.steps.base import Ref
from agentscope_reme.steps.forget import ForgetStep
from agentscope_reme.steps.session import SessionStep, open_log
from agentscope_reme.tools.answer_limit import counted
from agentscope_reme.workspace import layer_of

ACTOR: Final = "retention"
"""Under this name the journal lists what the rule forgot."""

_DAY: Final = re.compile(r"(?:daily|resource)/(\d{4}-\d{2}-\d{2})/")


class RetentionArguments(BaseModel):
    """What the step reads from its run."""

    model_config = ConfigDict(frozen=True)

    dry_run: bool = True


class RetentionStep(SessionStep[ForgetResult]):
    """Forgets what `Settings.forget_after_days` says is too old, through the path of `forget`.

    Only the named layers lose anything: what was distilled from them stays. Pinned files stay as
    well. Sessions are as old as their last message, daily notes and resources as their day.
    """

    settings = Ref(lambda parts: parts.settings)
    forget = ForgetStep()

    async def execute(self) -> ForgetResult:
        """Show or forget what is too old; nothing without a rule.

        Raises:
            Conflict: a model is at work on it.
            StorageFailed: the disk refused.
        """
        arguments = self.context.parse(RetentionArguments)
        rule = self.settings.forget_after_days
        if not rule:
            answer = "No rule of retention is set: nothing is forgotten by age."
            return ForgetResult(dry_run=arguments.dry_run, answer=answer)
        days = {str(layer): limit for layer, limit in rule.items()}
        paths = await asyncio.to_thread(lambda: tuple(self._too_old(days)))
        reasons = {path: f"older than {counted(days[layer_of(path)], 'day')}" for path in paths}
        if not paths:
            answer = "Nothing is older than the rule of retention allows."
            return ForgetResult(dry_run=arguments.dry_run, answer=answer)
        return await self.forget(
            self.context.application,
            paths=paths,
            reasons=reasons,
            dry_run=arguments.dry_run,
            actor=ACTOR,
            alone=True,
        )

    def _too_old(self, rule: Mapping[str, int]) -> Iterator[str]:
        today = self.context.now.date()
        for layer in ("daily", "resource"):
            if layer in rule:
                yield from self._old_files(layer, today - datetime.timedelta(days=rule[layer]))
        if "session" in rule:
            yield from self._old_sessions(today - datetime.timedelta(days=rule["session"]))

    def _old_files(self, layer: str, first_kept: datetime.date) -> Iterator[str]:
        for path in self.vault.paths(layer):
            match = _DAY.match(path)
            if match is not None and match[1] < first_kept.isoformat():
                yield path

    def _old_sessions(self, first_kept: datetime.date) -> Iterator[str]:
        parts = self.context.application.components
        for session_id in session_ids(self.workspace):
            log = open_log(parts, session_id)
            try:
                said = [logged.message for logged in log.read().messages]
            except ReMeError:  # an examination names it; nobody can tell its age
                continue
            moment = latest_moment(said, self.clock)
            if said and moment is not None and moment.date() < first_kept:
                yield log.path
