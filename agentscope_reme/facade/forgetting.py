"""Forgetting and remembering: what a person says outright about their own memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from agentscope_reme.facade.base import Calls
from agentscope_reme.results import ForgetResult, RememberResult
from agentscope_reme.tools.plain_arguments import plain_text, text_list, whole_number

if TYPE_CHECKING:
    from agentscope_reme.steps.forget import ForgetStep
    from agentscope_reme.steps.remember import RememberStep
    from agentscope_reme.steps.retention import RetentionStep


class ForgetCalls(Calls):
    """Explicit acts of the person; nothing of this happens by itself."""

    @cached_property
    def _forget_step(self) -> ForgetStep:
        from agentscope_reme.steps.forget import ForgetStep

        return ForgetStep()

    @cached_property
    def _remember_step(self) -> RememberStep:
        from agentscope_reme.steps.remember import RememberStep

        return RememberStep()

    @cached_property
    def _retention_step(self) -> RetentionStep:
        from agentscope_reme.steps.retention import RetentionStep

        return RetentionStep()

    async def remember(
        self,
        text: str,
        *,
        bucket: Literal["personal", "procedure", "wiki"] = "personal",
        sources: Sequence[str] = (),
    ) -> RememberResult:
        """Keep a statement for good, dated today, in ``digest/<bucket>/remembered.md``.

        No model is asked. A node of the bucket that says so already, in the same words, gets
        another date instead of a repetition. `undo` takes it back.

        Args:
            text: one statement, at most 2,000 characters; line ends become blanks.
            bucket: ``personal``, ``procedure`` or ``wiki``.
            sources: paths of files it rests on; they are linked.

        Returns:
            ``redacted`` names secrets that were taken out, as `Settings.redact` says.

        Raises:
            BadInput: the text is empty or too long, there is no such bucket, or a secret in it
                is blocked.
            NotFound: a source does not exist.
            StorageFailed: the disk refused; nothing is changed.
        """
        plain_text(text, "text")
        named = text_list(sources, "sources")
        await self._ready()
        result = await self._remember_step(
            self._engine.application, text=text, bucket=bucket, sources=named
        )
        self._engine.embed_soon()
        return result

    async def retention(self, *, dry_run: bool = True) -> ForgetResult:
        """Show what the rule of `Settings.forget_after_days` finds too old, or forget it.

        Without a rule nothing is ever too old. While the memory is open a rule is applied by
        itself once a day, at `Settings.retention_at`. What was distilled from the old material
        stays, and so do pinned files.

        Args:
            dry_run: change nothing.

        Raises:
            Conflict: a model is just at work on it.
            StorageFailed: the disk refused. What was decided is carried on by the next change.
        """
        await self._ready()
        return await self._retention_step(self._engine.application, dry_run=dry_run)

    async def forget(
        self,
        *,
        path: str | None = None,
        start_line: int | None = None,
        end_line: int | None = None,
        query: str | None = None,
        dry_run: bool = True,
        plan_id: str | None = None,
    ) -> ForgetResult:
        """Show what forgetting something would take along; with ``dry_run=False`` forget it.

        What is forgotten is nowhere in the workspace afterwards: not in files, archives, images,
        the index, vectors, the trash or earlier versions in the journal. It cannot be undone.

        - The path of a card takes along the turns it was made from, their images and archives, and
          what in the digest rests on nothing else. The path of a session log takes its turns,
          that of a resource its card, that of a digest node only the node, that of a folder all
          files inside but pinned ones.
        - Lines of a session log take these turns along wherever they are kept, and what was
          made of nothing else; lines of a card the turns that only they speak of.
        - A query takes along the statements and turns that hold it as a phrase, without regard to
          case and blanks. Where no text does, statements with all of its words are shown; these
          are forgotten only after they were shown, and so is what a query finds that says next
          to nothing. What a search finds beyond that is listed as `similar` and stays.

        Pinned files are only listed, unless `path` names the file itself. Statements that rest
        on other sources too stay, without the link to what is gone; `answer` spells out the call
        that forgets them as well.

        Args:
            path: a file or a folder.
            start_line: first line of a span of `path`, counted from 1.
            end_line: last line, inclusive.
            query: words to look for.
            dry_run: change nothing.
            plan_id: of an earlier dry run: refuse when something else would go now. Without it
                the last dry run of the same request is compared.

        Raises:
            BadInput: neither or both of `path` and `query` are given, the query is longer than
                2,000 characters, or the lines are not there.
            NotFound: nothing stands at `path`.
            Conflict: what would go is not what was shown, or a model is just at work on it.
            StorageFailed: the disk refused. What was decided is carried on by the next change.
        """
        for name, line in (("start_line", start_line), ("end_line", end_line)):
            if line is not None:
                whole_number(line, name)
        await self._ready()
        return await self._forget_step(
            self._engine.application,
            path=path,
            start_line=start_line,
            end_line=end_line,
            query=query,
            dry_run=dry_run,
            plan_id=plan_id,
        )
