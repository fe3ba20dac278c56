"""File calls: the person's own hands on the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentscope_reme.facade.base import Calls
from agentscope_reme.results import (
    ChangeResult,
    FrontMatterResult,
    ImageResult,
    ListResult,
    ReadResult,
    StatResult,
)


class FileCalls(Calls):
    """Read, write, edit, move and delete files; the index follows before the call returns.

    Every path is relative to the workspace. All of them raise `BadPath` for an unsafe path,
    `NotFound` for a missing file, `Conflict` when somebody else was faster and `StorageFailed`
    when the disk refuses.
    """

    async def read(
        self,
        path: str,
        *,
        start_line: int | None = None,
        end_line: int | None = None,
        neighbors: bool = False,
    ) -> ReadResult:
        """Lines of a text file, 1-based and inclusive, capped at `Settings.tool_answer_bytes`.

        Args:
            path: the file.
            start_line: first line; the beginning without it.
            end_line: last line; the end without it.
            neighbors: also list the files it links to and is linked from.
        """
        return await self._owner(
            lambda files: files.read(
                path, start_line=start_line, end_line=end_line, neighbors=neighbors
            )
        )

    async def read_image(self, path: str) -> ImageResult:
        """An image file, for an image block."""
        return await self._owner(lambda files: files.read_image(path))

    async def write(
        self,
        path: str,
        content: str,
        *,
        name: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expected_hash: str | None = None,
    ) -> ChangeResult:
        """Create or replace a file; `name`, `description` and `metadata` become front matter.

        Args:
            path: the file.
            content: its text, without front matter.
            name: a short title.
            description: one or two sentences.
            metadata: further front matter keys.
            expected_hash: refuse with `Conflict` unless the file still has this content hash.
        """
        return await self._owner(
            lambda files: files.write(
                path,
                content,
                name=name,
                description=description,
                metadata=metadata,
                expected_hash=expected_hash,
            ),
            changes=True,
        )

    async def edit(
        self, path: str, old: str, new: str, *, replace_all: bool = False
    ) -> ChangeResult:
        """Replace an exact passage that occurs once, or everywhere with `replace_all`."""
        return await self._owner(
            lambda files: files.edit(path, old, new, replace_all=replace_all), changes=True
        )

    async def delete(self, path: str) -> ChangeResult:
        """Move a file or folder to the trash and list the links that now point nowhere."""
        return await self._owner(lambda files: files.delete(path), changes=True)

    async def move(
        self, src: str, dst: str, *, overwrite: bool = False, retarget: bool = True
    ) -> ChangeResult:
        """Rename a file or folder; links to it are rewritten in the files on disk."""
        return await self._owner(
            lambda files: files.move(src, dst, overwrite=overwrite, retarget=retarget),
            changes=True,
        )

    async def list(
        self, path: str = "", *, recursive: bool = False, limit: int = 100
    ) -> ListResult:
        """Files and folders under a folder, sorted by path, at most `limit` of them."""
        return await self._owner(lambda files: files.list(path, recursive=recursive, limit=limit))

    async def stat(self, path: str) -> StatResult:
        """What is known about a path, existing or not."""
        return await self._owner(lambda files: files.stat(path))

    async def frontmatter_read(self, path: str) -> FrontMatterResult:
        """A file's front matter."""
        return await self._owner(lambda files: files.frontmatter_read(path))

    async def frontmatter_update(self, path: str, metadata: Mapping[str, Any]) -> FrontMatterResult:
        """Set front matter keys; every other byte of the file stays."""
        return await self._owner(
            lambda files: files.frontmatter_update(path, metadata), changes=True
        )

    async def frontmatter_delete(self, path: str, keys: Sequence[str]) -> FrontMatterResult:
        """Remove front matter keys; every other byte of the file stays."""
        return await self._owner(lambda files: files.frontmatter_delete(path, keys), changes=True)

    async def daily_list(self, date: str | None = None) -> ListResult:
        """The cards of a day, today without `date` (``YYYY-MM-DD``)."""
        return await self._owner(lambda files: files.daily_list(date))

    async def daily_write(
        self,
        name: str,
        description: str,
        content: str,
        *,
        session_id: str | None = None,
        date: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> ChangeResult:
        """Write a card of a day; a card of another session is never overwritten."""
        return await self._owner(
            lambda files: files.daily_write(
                name,
                description,
                content,
                session_id=session_id,
                date=date,
                metadata=metadata,
            ),
            changes=True,
        )

    async def daily_reindex(self, date: str | None = None) -> ChangeResult:
        """Refresh the index page of a day."""
        return await self._owner(lambda files: files.daily_reindex(date), changes=True)
