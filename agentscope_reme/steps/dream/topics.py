"""Topics: what the person may want to come back to, without repeating recent days."""

from __future__ import annotations

import asyncio
import datetime

from pydantic import BaseModel, ConfigDict, Field

from agentscope_reme.errors import BadDocument
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.results import DreamResult, Failure, ProactiveResult, Topic
from agentscope_reme.steps.base import BaseStep, Ref
from agentscope_reme.steps.cards import TAG_KEY
from agentscope_reme.steps.dream.interests import (
    Diversity,
    dump_topics,
    earlier_days,
    interests_path,
    read_topics,
    topic_of,
)
from agentscope_reme.steps.dream.material import candidates, day_of, window
from agentscope_reme.steps.dream.run import ACTOR, DreamRun, dream_run, end_dream, is_dreaming
from agentscope_reme.vault.live_view import LiveView

_NOTED = {"en": "Noted on {day}.", "zh": "记录于 {day}。"}


class TopicsArguments(BaseModel):
    """What the topics read from their run; see `ReMe.auto_dream`."""

    model_config = ConfigDict(frozen=True)

    date: datetime.date | None = None
    scan_days: int = Field(default=2, ge=1, le=3660)
    topic_count: int = Field(default=3, ge=0, le=20)
    topic_diversity_days: int = Field(default=7, ge=0, le=365)
    dry_run: bool = False


class DreamTopicsStep(BaseStep[DreamResult]):
    """Chooses the topics of the day and puts them into its ``interests.yaml``.

    In a dream the candidates are those the extraction named, and the file is part of the dream's
    one change. Called alone it needs no model: the newest cards are the candidates, and the file is
    written at once. Topics that stand in the file already stay.
    """

    vault = Ref(lambda parts: parts.vault)
    language = Ref(lambda parts: parts.language)

    async def execute(self) -> DreamResult:
        """Choose topics; none are written when nothing is new.

        Raises:
            BadInput: an argument is out of range.
            Conflict: called alone, and somebody changed the file meanwhile.
            StorageFailed: called alone, and the file could not be written.
        """
        arguments = self.context.parse(TopicsArguments)
        day = (arguments.date or self.context.now.date()).isoformat()
        alone = not is_dreaming(self.context.values)
        run = await asyncio.to_thread(dream_run, self.context, day=day, dry_run=arguments.dry_run)
        await asyncio.to_thread(self._choose, run, arguments, alone)
        if alone:
            end_dream(self.context)
            if not run.dry_run:
                await asyncio.to_thread(self._commit, run)
        return _told(run)

    def _choose(self, run: DreamRun, arguments: TopicsArguments, alone: bool) -> None:
        run.topics_chosen = True
        path = interests_path(run.day)
        try:
            present = read_topics(run.staged, run.day)
        except BadDocument as error:  # a person may be writing it: it is left as it is
            run.failed.append(Failure(item=path, reason=str(error)))
            return
        offered = self._from_cards(run, arguments) if alone else _offered(run)
        known = Diversity([*present, *self._recent(run, arguments.topic_diversity_days)])
        fresh: list[Topic] = []
        for topic in offered:
            if len(present) + len(fresh) >= arguments.topic_count:
                break
            if known.is_new(topic):
                fresh.append(topic)
                known.add(topic)
        run.topics = [*present, *fresh]
        if fresh:
            data = dump_topics(
                run.day,
                run.topics,
                count=arguments.topic_count,
                diversity_days=arguments.topic_diversity_days,
            )
            run.staged.write(path, data)

    def _recent(self, run: DreamRun, diversity_days: int) -> list[Topic]:
        recent: list[Topic] = []
        for day in earlier_days(run.day, diversity_days):
            try:
                recent += read_topics(run.staged, day)
            except BadDocument as error:
                run.failed.append(Failure(item=interests_path(day), reason=str(error)))
        return recent

    def _from_cards(self, run: DreamRun, arguments: TopicsArguments) -> list[Topic]:
        """Topics out of cards, the newest first."""
        days = window(run.day, arguments.scan_days, "")
        paths = [p for p in candidates(self.vault, days, run.state) if p.count("/") > 1]
        paths.sort(key=lambda path: (day_of(path) or "", path), reverse=True)
        return [topic for path in paths if (topic := self._from_card(path)) is not None]

    def _from_card(self, path: str) -> Topic | None:
        if not self.vault.exists(path):
            return None
        front = MarkdownDocument.parse(self.vault.read(path)).front_matter
        noted = _NOTED.get(self.language, _NOTED["en"])
        tags = front.get(TAG_KEY)
        return topic_of(
            {
                "title": str(front.get("name") or "").replace("-", " "),
                "reason": noted.format(day=day_of(path)),
                "evidence": front.get("description"),
                "keywords": tags if isinstance(tags, list) else [],
                "paths": [path],
            }
        )

    def _commit(self, run: DreamRun) -> None:
        if changes := run.staged.changes():
            self.vault.commit(changes, actor=ACTOR, operation="topics")


class ProactiveArguments(BaseModel):
    """What a look at the topics reads from its run; see `ReMe.proactive`."""

    model_config = ConfigDict(frozen=True)

    date: datetime.date | None = None


class ProactiveStep(BaseStep[ProactiveResult]):
    """Reads the topics of a day; it changes nothing and needs no model."""

    vault = Ref(lambda parts: parts.vault)

    async def execute(self) -> ProactiveResult:
        """The topics of the run's day; a file that cannot be read is reported, not raised."""
        arguments = self.context.parse(ProactiveArguments)
        day = (arguments.date or self.context.now.date()).isoformat()
        view = LiveView(self.vault, actor=ACTOR)
        path = interests_path(day)
        try:
            topics = await asyncio.to_thread(read_topics, view, day)
        except BadDocument as error:
            return ProactiveResult(success=False, answer=str(error), date=day, path=path)
        rows = [_row(topic) for topic in topics]
        said = "\n".join(rows) or f"No topics for {day}."
        return ProactiveResult(answer=said, date=day, path=path if topics else "", topics=topics)


def _offered(run: DreamRun) -> list[Topic]:
    return [topic for raw in run.state.topics if (topic := topic_of(raw)) is not None]


def _row(topic: Topic) -> str:
    cited = ", ".join(f"[[{path}]]" for path in topic.paths)
    said = " - ".join(part for part in (topic.title, topic.reason, topic.evidence) if part)
    return f"- {said} {cited}".rstrip()


def _told(run: DreamRun) -> DreamResult:
    result = run.result()
    result.answer = "\n".join(_row(topic) for topic in run.topics) or f"No topics for {run.day}."
    return result
