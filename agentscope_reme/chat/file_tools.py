"""``ls``, ``read``, ``edit`` and ``write``: files of the memory, and of the whole machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, Field

from agentscope_reme.chat.memory import ChatMemory
from agentscope_reme.chat.permission import Permissions, Question
from agentscope_reme.chat.places import Place, place_of
from agentscope_reme.errors import BadInput, ReMeError
from agentscope_reme.files.picture_types import image_type
from agentscope_reme.messages import DataBlock, whole_characters
from agentscope_reme.ports import Tool, ToolOutput
from agentscope_reme.tools.answer_limit import capped_lines
from agentscope_reme.tools.changing import replaced
from agentscope_reme.tools.file_operations import FileOperations
from agentscope_reme.tools.images import picture
from agentscope_reme.tools.reading import lines_of_file
from agentscope_reme.tools.scope import AGENT, Scope
from agentscope_reme.tools.tool_arguments import Line
from agentscope_reme.workspace import INTERNAL_FOLDERS

A = TypeVar("A", bound=BaseModel)

MOST_ENTRIES: Final = 500
_DEEPEST: Final = 5

_ELSEWHERE: Final = Scope.owner("agent")
"""Files in the memory folder that are no notes; in the journal the assistant wrote them."""

_PATH: Final = "A path in the memory, such as 'memory/2026-06-20.md', or a whole path."


class ListArguments(BaseModel):
    """A folder."""

    path: str = Field(default=".", description=_PATH)
    depth: int = Field(default=1, ge=1, le=_DEEPEST, description="How many levels to show.")


class ReadArguments(BaseModel):
    """A file and a range of lines."""

    path: str = Field(description=_PATH)
    start_line: Line = Field(default=None, description="First line, counted from 1.")
    end_line: Line = Field(default=None, description="Last line, inclusive.")


class EditArguments(BaseModel):
    """A replacement."""

    path: str = Field(description=_PATH)
    old: str = Field(description="The text that stands there, exactly, once.")
    new: str = Field(description="The text to put in its place.")


class WriteArguments(BaseModel):
    """A whole file."""

    path: str = Field(description=_PATH)
    content: str = Field(description="The whole new text.")


class FileTools:
    """The four tools.

    Args:
        memory: open; files inside are changed through its journal.
        permissions: asked before a file outside is changed, and before one is read that is
            neither in the memory nor in the person's folder, or is hidden there.
        folder: where the person is.
    """

    def __init__(self, memory: ChatMemory, permissions: Permissions, *, folder: Path) -> None:
        self._memory = memory
        self._permissions = permissions
        self._folder = Path(os.path.realpath(folder))

    def tools(self) -> list[Tool]:
        """All of them."""
        return [
            Tool(
                "ls",
                f"Show what is in a folder, at most {MOST_ENTRIES} entries.",
                ListArguments,
                _guarded("ls", self._ls),
                read_only=True,
            ),
            Tool(
                "read",
                "Read a text file, whole or some of its lines, or look at a picture. A long text "
                "is cut and the answer says how to read on.",
                ReadArguments,
                _guarded("read", self._read),
                read_only=True,
            ),
            Tool(
                "edit",
                "Replace a text in a file. It must stand there exactly so, and once.",
                EditArguments,
                _guarded("edit", self._edit),
            ),
            Tool(
                "write",
                "Create a file, with its folders, or replace all of it.",
                WriteArguments,
                _guarded("write", self._write),
            ),
        ]

    def _place(self, path: str) -> Place:
        return place_of(path, self._memory.parts.workspace)

    @property
    def _most_bytes(self) -> int:
        return self._memory.parts.settings.tool_answer_bytes

    async def _ls(self, given: ListArguments) -> ToolOutput:
        place = self._place(given.path)
        if refusal := await self._unseen("ls", "List", place):
            return ToolOutput(refusal, success=False)
        rows = await asyncio.to_thread(_listed, place, given.depth)
        text, _ = capped_lines(rows, self._most_bytes, "List a folder inside it.")
        return ToolOutput(text or f"{place.name} is empty.")

    async def _read(self, given: ReadArguments) -> ToolOutput:
        place = self._place(given.path)
        await asyncio.to_thread(place.refuse_unreadable)
        if refusal := await self._unseen("read", "Read", place):
            return ToolOutput(refusal, success=False)
        data = await asyncio.to_thread(place.read)
        if image_type(data) is not None:
            shown = picture(place.name, data)
            return ToolOutput(
                shown.answer, (DataBlock(media_type=shown.media_type, data=shown.data),)
            )
        found = await asyncio.to_thread(
            lines_of_file, place.name, data, given.start_line, given.end_line, self._most_bytes
        )
        return ToolOutput(whole_characters(found.answer))

    async def _edit(self, given: EditArguments) -> ToolOutput:
        place = self._place(given.path)
        if not given.old or given.old == given.new:
            raise BadInput(given.old, "nothing to replace", "Pass the text that stands there now.")
        place.refuse_layers()
        if place.inside is not None:
            done = await asyncio.to_thread(
                self._operations(place).edit, place.inside, given.old, given.new
            )
            return ToolOutput(done.answer)
        if refusal := await self._unseen("read", "Read", place):  # a refused edit tells of it, too
            return ToolOutput(refusal, success=False)
        before = await asyncio.to_thread(place.read)
        _, after = replaced(place.name, before, given.old, given.new, False)
        refusal = await self._refusal(place, f"- {given.old}\n+ {given.new}")
        if refusal:
            return ToolOutput(refusal, success=False)
        if await asyncio.to_thread(place.read) != before:
            raise BadInput(place.name, "the file changed meanwhile", "Read it again.")
        await asyncio.to_thread(place.write, after)
        return ToolOutput(f"Edited {place.name}.")

    async def _write(self, given: WriteArguments) -> ToolOutput:
        place = self._place(given.path)
        place.refuse_layers()
        if place.inside is not None:
            done = await asyncio.to_thread(
                self._operations(place).write, place.inside, given.content
            )
            return ToolOutput(done.answer)
        refusal = await self._refusal(place, given.content)
        if refusal:
            return ToolOutput(refusal, success=False)
        data = given.content.encode("utf-8", "replace")
        is_new = await asyncio.to_thread(place.write, data)
        verb = "Created" if is_new else "Replaced the earlier content of"
        return ToolOutput(f"{verb} {place.name} ({len(data)} bytes).")

    def _operations(self, place: Place) -> FileOperations:
        return self._memory.saver(AGENT if place.is_note else _ELSEWHERE)

    async def _unseen(self, tool: str, verb: str, place: Place) -> str:
        """Why a place must not be looked at; empty when it may."""
        if place.inside is not None or place.is_open_in(self._folder):
            return ""
        return await self._permissions.refusal(Question(tool, f"{verb} {place.name}?", ""))

    async def _refusal(self, place: Place, detail: str) -> str:
        question = Question("write", f"Write {place.name}?", detail)
        return await self._permissions.refusal(question)


def _listed(place: Place, depth: int) -> list[str]:
    if not place.path.exists():
        raise BadInput(place.name, "nothing stands there", "Use `ls` on a folder above it.")
    if not place.path.is_dir():
        return [f"{place.path.name}  {place.path.stat().st_size} bytes"]
    hidden = INTERNAL_FOLDERS if place.inside == "" else frozenset[str]()
    rows: list[str] = []
    for row in _entries(place.path, depth, hidden, ""):
        if len(rows) == MOST_ENTRIES:
            return [*rows, f"[Only the first {MOST_ENTRIES} entries. List a folder inside it.]"]
        rows.append(row)
    return rows


def _entries(folder: Path, depth: int, hidden: frozenset[str], indent: str) -> Iterator[str]:
    for path in sorted(folder.iterdir(), key=lambda one: one.name.casefold()):
        if path.name in hidden:
            continue
        if not path.is_dir():
            yield f"{indent}{path.name}  {_size(path)} bytes"
            continue
        yield f"{indent}{path.name}/"
        if depth > 1 and not path.is_symlink():
            yield from _entries(path, depth - 1, frozenset(), f"{indent}  ")


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0  # it has just gone


def _guarded(
    name: str, work: Callable[[A], Awaitable[ToolOutput]]
) -> Callable[[A], Awaitable[ToolOutput]]:
    """A tool that tells in words what the system or the library refused."""

    async def call(given: A) -> ToolOutput:
        try:
            return await work(given)
        except (ReMeError, OSError) as error:
            return ToolOutput(whole_characters(f"{name} failed: {error}"), success=False)

    return call
