"""The file operations and the search as tools an agent may call.

A tool never raises: what went wrong is told in words the agent can act on. Only cancellation
passes through.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from pydantic import BaseModel

from agentscope_reme.errors import ReMeError, StorageFailed
from agentscope_reme.messages import DataBlock, whole_characters
from agentscope_reme.ports import Tool, ToolOutput
from agentscope_reme.results import ImageResult, Result, SearchResult
from agentscope_reme.settings import Settings
from agentscope_reme.tools import tool_arguments as args
from agentscope_reme.tools.answer_limit import capped, one_line
from agentscope_reme.tools.file_operations import FileOperations

A = TypeVar("A", bound=BaseModel)

OnFailure = Callable[[str, BaseException], None]

_NARROW: Final = "Ask for less: a narrower path, a line range or a smaller limit."


def file_tools(operations: FileOperations, *, on_failure: OnFailure | None = None) -> list[Tool]:
    """Every file operation as a tool, with the rights of `operations`.

    Args:
        operations: what the tools run, in a thread.
        on_failure: called with the tool's name and an exception that is nobody's input error.
    """

    def tool(
        name: str,
        description: str,
        model: type[A],
        run: Callable[[A], Result],
        *,
        read_only: bool = False,
    ) -> Tool:
        async def work(arguments: A) -> ToolOutput:
            return _output(await asyncio.to_thread(run, arguments))

        limit = operations.settings.tool_answer_bytes
        call = guarded(name, work, limit, on_failure)
        return Tool(name, description, model, call, read_only)

    return [
        tool(
            "read",
            "Read lines of a text file. A long file is cut and the answer says how to read on.",
            args.ReadArguments,
            lambda a: operations.read(
                a.path, start_line=a.start_line, end_line=a.end_line, neighbors=a.neighbors
            ),
            read_only=True,
        ),
        tool(
            "read_image",
            "Look at a PNG, JPEG, GIF, WebP or BMP picture of at most 5 MB.",
            args.PathArguments,
            lambda a: operations.read_image(a.path),
            read_only=True,
        ),
        tool(
            "write",
            "Create a file or replace all of it. Use edit for a change inside a file.",
            args.WriteArguments,
            lambda a: operations.write(
                a.path,
                a.content,
                name=a.name,
                description=a.description,
                metadata=a.metadata,
                expected_hash=a.expected_hash,
            ),
        ),
        tool(
            "edit",
            "Replace an exact text in a file. The front matter of Markdown is left alone.",
            args.EditArguments,
            lambda a: operations.edit(a.path, a.old, a.new, replace_all=a.replace_all),
        ),
        tool(
            "delete",
            "Move a file or folder to the trash. The answer lists files that still link to it.",
            args.PathArguments,
            lambda a: operations.delete(a.path),
        ),
        tool(
            "move",
            "Rename a file or folder. Links to it in other files follow.",
            args.MoveArguments,
            lambda a: operations.move(a.src, a.dst, overwrite=a.overwrite, retarget=a.retarget),
        ),
        tool(
            "list",
            "List the files and folders in a folder.",
            args.ListArguments,
            lambda a: operations.list(a.path, recursive=a.recursive, limit=a.limit),
            read_only=True,
        ),
        tool(
            "stat",
            "Tell size, time, hash and front matter of a path, and whether it exists.",
            args.PathArguments,
            lambda a: operations.stat(a.path),
            read_only=True,
        ),
        *_front_matter_and_daily(operations, tool),
    ]


def _front_matter_and_daily(operations: FileOperations, tool: Callable[..., Tool]) -> list[Tool]:
    return [
        tool(
            "frontmatter_read",
            "Show the front matter of a Markdown file as YAML.",
            args.PathArguments,
            lambda a: operations.frontmatter_read(a.path),
            read_only=True,
        ),
        tool(
            "frontmatter_update",
            "Set keys in the front matter of a Markdown file; other keys stay.",
            args.FrontMatterUpdateArguments,
            lambda a: operations.frontmatter_update(a.path, a.metadata),
        ),
        tool(
            "frontmatter_delete",
            "Remove keys from the front matter of a Markdown file.",
            args.FrontMatterDeleteArguments,
            lambda a: operations.frontmatter_delete(a.path, a.keys),
        ),
        tool(
            "daily_list",
            "List the cards of a day with their names and descriptions.",
            args.DayArguments,
            lambda a: operations.daily_list(a.date),
            read_only=True,
        ),
        tool(
            "daily_write",
            "Write a card of a day from a conversation. Another session's card is never replaced.",
            args.DailyWriteArguments,
            lambda a: operations.daily_write(
                a.name, a.description, a.content, a.session_id, a.date, a.metadata
            ),
        ),
    ]


def search_tool(
    search: Callable[..., Awaitable[SearchResult]],
    *,
    on_failure: OnFailure | None = None,
    answer_bytes: int | None = None,
) -> Tool:
    """The search as the tool ``memory_search``.

    Args:
        search: called with ``query``, ``limit``, ``start_date``, ``end_date``, ``path_prefix`` and
            ``tags`` as keyword arguments.
        on_failure: called with the tool's name and an exception that is nobody's input error.
        answer_bytes: the most UTF-8 bytes of one answer; the default of `Settings` when left out.
    """

    async def work(arguments: args.SearchArguments) -> ToolOutput:
        return _output(await search(**arguments.model_dump()))

    limit = answer_bytes or Settings().tool_answer_bytes
    return Tool(
        "memory_search",
        "Search the long-term memory: earlier conversations, notes, decisions and resources. "
        "Each passage comes with path:start-end lines; use read to see more around it.",
        args.SearchArguments,
        guarded("memory_search", work, limit, on_failure),
        read_only=True,
    )


def guarded(
    name: str,
    work: Callable[[A], Awaitable[ToolOutput]],
    limit: int,
    on_failure: OnFailure | None,
) -> Callable[[A], Awaitable[ToolOutput]]:
    """A tool's call that never raises and keeps its answer within a limit.

    Args:
        name: the tool's name.
        work: what it does.
        limit: the most UTF-8 bytes of one answer.
        on_failure: called with the name and an exception that is nobody's input error.
    """

    def shown(text: str) -> str:
        return capped(whole_characters(text), limit, _NARROW)

    def refused(text: str) -> ToolOutput:
        return ToolOutput(shown(text), success=False)

    def failed(error: Exception) -> None:
        if on_failure is not None:
            on_failure(name, error)

    async def call(arguments: A) -> ToolOutput:
        try:
            output = await work(arguments)
        except ReMeError as error:
            if isinstance(error, StorageFailed):
                failed(error)
            return refused(str(error))
        except Exception as error:  # noqa: BLE001 - the agent's loop is a process edge
            failed(error)
            return refused(f"{name} failed: {type(error).__name__}: {one_line(error)}")
        return ToolOutput(shown(output.text), output.blocks, output.success)

    return call


def _output(result: Result) -> ToolOutput:
    blocks: tuple[DataBlock, ...] = ()
    if isinstance(result, ImageResult):
        blocks = (DataBlock(media_type=result.media_type, data=result.data),)
    return ToolOutput(result.answer, blocks, result.success)
