"""Answers: one turn of a conversation, from the person's words to the model's last ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Final, Protocol

from agentscope_reme.chat.conversation import Conversation
from agentscope_reme.chat.file_tools import FileTools
from agentscope_reme.chat.memory import ChatMemory
from agentscope_reme.chat.permission import Permissions
from agentscope_reme.chat.prompts import load_prompt
from agentscope_reme.chat.shell_tools import shell_tools
from agentscope_reme.chat.web import web_search_tool
from agentscope_reme.configuration import ChatSection
from agentscope_reme.context.tokens import estimate_tokens
from agentscope_reme.errors import ModelFailed, ReMeError, StorageFailed
from agentscope_reme.messages import Message, TextBlock, ToolResultBlock
from agentscope_reme.ports import Delta, ReplyPort, Tool

_MOST_CALLS: Final = 50
"""Model calls of one turn; a person watches, and can say how to go on."""


class Watcher(Protocol):
    """Who sees an answer grow."""

    def said(self, piece: Delta) -> None:
        """A piece of what the model says or thinks."""

    def spoke(self, message: Message) -> None:
        """A whole message: words with calls of tools, or what these answered."""

    def notice(self, name: str, /, **values: object) -> None:
        """Something to be told, by its name in `chat.words`."""

    def failure(self, text: object) -> None:
        """Something that went wrong."""

    def waiting(self, name: str, /, **values: object) -> None:
        """Something that is waited for."""


class Assistant:
    """A model with a memory, tools and a conversation.

    Args:
        memory: where it remembers.
        model: who answers; ``None`` where none is configured.
        limits: window and tools.
        permissions: asked before a tool reaches beyond the memory.
        folder: where the person is.

    Attributes:
        memory: the memory.
        conversation: what is being said; there once it is started.
    """

    conversation: Conversation

    def __init__(
        self,
        memory: ChatMemory,
        model: ReplyPort | None,
        limits: ChatSection,
        *,
        permissions: Permissions,
        folder: Path,
    ) -> None:
        self.memory = memory
        self._model = model
        self._limits = limits
        self._folder = folder
        self._permissions = permissions

    @property
    def window_tokens(self) -> int:
        """How many tokens a conversation may have before it is compacted."""
        return self._limits.context_window_tokens - self._limits.reserve_tokens

    async def start(self, *, resume: bool = True) -> bool:
        """Open the memory and a conversation.

        Args:
            resume: go on with the last conversation, and let the next start go on with this one.

        Returns:
            Whether an earlier conversation goes on.

        Raises:
            StorageFailed: the memory cannot be opened.
        """
        await self.memory.start()
        self.conversation = Conversation(self.memory, keeps_place=resume)
        self._tools = self._all_tools()
        return await self.conversation.resume() if resume else False

    async def close(self) -> None:
        """Close; what is not saved is saved at the next start."""
        self.conversation.close()
        await self.memory.close()

    async def answer(self, text: str, watcher: Watcher) -> bool:
        """Answer the person; whether that was done.

        Who cancels this stops the model and its tools; what was said so far is kept.

        Args:
            text: what they said.
            watcher: sees the answer grow.
        """
        await self._keep(Message(role="user", name="user", blocks=(TextBlock(text=text),)), watcher)
        if self._model is None:
            watcher.notice("no_model")
            return False
        said: list[str] = []
        try:
            await self._converse(self._model, said, watcher)
        except asyncio.CancelledError:
            await self._stopped("".join(said), watcher)
            raise
        except ModelFailed as error:
            if said:
                await self._stopped("".join(said), watcher, by_error=True)
            watcher.failure(error)
            return False
        if self.conversation.messages[-1].role == "user":
            watcher.notice("silent")
            return False
        return True

    async def compact(self, wish: str, watcher: Watcher) -> None:
        """Summarise older messages and save everything that was said.

        Raises:
            ReMeError: no summary could be made, or it could not be kept; nothing was changed.
        """
        conversation = self.conversation
        keep = min(self._limits.keep_recent_tokens, conversation.tokens // 2)
        self._told_saving(await conversation.save(), watcher)
        watcher.waiting("compacting")
        done = await conversation.compact(keep, wish)
        if done is None:
            watcher.notice("nothing_to_compact")
        else:
            watcher.notice("compacted", left=done.left, kept=done.kept)

    async def begin_anew(self, watcher: Watcher) -> None:
        """Save what was said, and begin another conversation.

        Raises:
            StorageFailed: it could not be kept; the conversation goes on.
        """
        saved = await self.conversation.leave()
        self._told_saving(saved, watcher)
        watcher.notice("anew")

    async def tell_savings(self, watcher: Watcher) -> bool:
        """Say how savings ended since the last time; whether none of them failed."""
        savings = await self.memory.savings()
        for one in savings:
            if one.fault:
                watcher.notice("not_saved", why=one.fault)
            elif one.paths:
                watcher.notice("saved", paths=", ".join(one.paths))
            else:
                watcher.notice("nothing_noted")
        return not any(one.fault for one in savings)

    def _told_saving(self, saved: int, watcher: Watcher) -> None:
        if saved:
            watcher.notice("saving", count=saved)
        else:
            watcher.notice("nothing_to_save")

    async def _converse(self, model: ReplyPort, said: list[str], watcher: Watcher) -> None:
        instructions = self._instructions()
        overhead = estimate_tokens(instructions) + _schema_tokens(self._tools)

        async def refit(_: Sequence[Message]) -> Sequence[Message] | None:
            return await self._refit(overhead, watcher)

        watcher.waiting("thinking")
        reply = model.reply(
            instructions,
            self.conversation.window(),
            self._tools,
            max_iters=_MOST_CALLS,
            refit=refit,
        )
        async with aclosing(reply) as events:
            async for event in events:
                if isinstance(event, Delta):
                    watcher.said(event)
                    if not event.thinking:
                        said.append(event.text)
                    continue
                said.clear()
                await self._keep(event.message, watcher)
                watcher.spoke(event.message)
                if any(isinstance(block, ToolResultBlock) for block in event.message.blocks):
                    watcher.waiting("thinking")

    async def _refit(self, overhead: int, watcher: Watcher) -> Sequence[Message] | None:
        """The window made smaller; ``None`` when it need not, or cannot be."""
        try:
            done = await self.conversation.fit(
                self.window_tokens - overhead, self._limits.keep_recent_tokens
            )
        except ReMeError as error:  # the reply goes on with the window as it is
            watcher.failure(error)
            return None
        if done is None:
            return None
        if done.left:
            watcher.notice("auto_compacted", left=done.left, kept=done.kept)
        return self.conversation.window()

    async def _keep(self, message: Message, watcher: Watcher) -> None:
        try:
            await self.conversation.add(message)
        except StorageFailed as error:  # a full disk costs the line, not the reply
            watcher.failure(error)

    async def _stopped(self, said: str, watcher: Watcher, *, by_error: bool = False) -> None:
        try:
            await self.conversation.stopped(said, by_error=by_error)
        except StorageFailed as error:
            watcher.failure(error)

    def _instructions(self) -> str:
        now = self.memory.clock.now()
        return load_prompt("system", self.memory.prompt_language).substitute(
            now=f"{now:%Y-%m-%d %H:%M %Z} ({now:%A})",
            today=now.date().isoformat(),
            workspace=str(self.memory.parts.workspace.root),
            folder=str(self._folder),
            tools=", ".join(f"`{tool.name}`" for tool in self._tools),
        )

    def _all_tools(self) -> list[Tool]:
        root = self.memory.parts.workspace.root
        seconds = self._limits.command_timeout_seconds
        tools = [
            self.memory.search_tool(),
            *FileTools(self.memory, self._permissions, folder=self._folder).tools(),
            *shell_tools(self._permissions, folder=root, seconds=seconds),
        ]
        key = self._limits.tavily_api_key.get_secret_value()
        if key:
            tools.append(web_search_tool(key, self._limits.tavily_base_url))
        return tools


def _schema_tokens(tools: Sequence[Tool]) -> int:
    schemas = [{"d": tool.description, "s": tool.json_schema()} for tool in tools]
    return estimate_tokens(json.dumps(schemas, ensure_ascii=False))
