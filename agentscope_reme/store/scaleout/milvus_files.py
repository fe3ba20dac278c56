"""The files of a shared index in Milvus, which has no transactions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

from agentscope_reme.store.records import FileStamp
from agentscope_reme.store.scaleout.engine import (
    ChunkOutline,
    ChunkRow,
    FileChange,
    FileRow,
    Head,
    Totals,
)
from agentscope_reme.store.scaleout.milvus_collections import (
    AT_ONCE,
    MilvusAddress,
    MilvusCollections,
    Record,
    among,
    hexed,
    key_of,
    unhexed,
)
from agentscope_reme.store.scaleout.milvus_rows import (
    CHUNK,
    FILE,
    HEAD,
    OUTLINE,
    below_prefix,
    chunk_of,
    chunk_record,
    counts,
    file_of,
    file_row,
    keys,
    of,
    outline_of,
    runs_of,
    stamp_of,
    unpacked,
)
from agentscope_reme.store.scaleout.rows import tags_of


class MilvusFiles:
    """What an engine keeps of files, and how it changes.

    Args:
        address: where the server is.

    Raises:
        BadInput: the client is not installed.
    """

    def __init__(self, address: MilvusAddress) -> None:
        self.rows: Final = MilvusCollections(address)

    def head(self, workspace: str) -> Head:
        """What is kept for the workspace."""
        row = self._head(workspace)
        return Head(
            row["owner"], row["revision"], bool(row["settled"]), row["answers"], row["length"]
        )

    def claim(self, workspace: str, owner: str) -> str:
        """Make it the index of a workspace unless it is another's."""
        row = self._head(workspace)
        if not row["owner"]:
            self._put_identity(workspace, owner, settled=False)
        return str(row["owner"] or owner)

    def settle(self, workspace: str) -> None:
        """Note that all files were compared with it."""
        self._put_identity(workspace, self._head(workspace)["owner"], settled=True)

    def commit(
        self, workspace: str, changes: Sequence[FileChange], gone: Sequence[str] = ()
    ) -> bool:
        """Replace files and forget others, each all or nothing."""
        head = self.swept(workspace)
        paths = [*gone, *(change.file.path for change in changes)]
        before = self.files_at(workspace, paths)
        runs = [runs_of(change, before.get(change.file.path)) for change in changes]
        if any(of_file is None for of_file in runs):
            return False
        epoch = max(head["revision"] + 1, time.time_ns())  # never one that was used before
        self._put_counts(workspace, {**head, "pending": epoch})
        for change in changes:
            self.rows.put(
                "chunks",
                [chunk_record(workspace, change.file.path, c, epoch) for c in change.chunks],
            )
        files = [
            file_row(workspace, change, epoch, of_file or ())
            for change, of_file in zip(changes, runs, strict=True)
        ]
        self.rows.put("files", files)
        self.delete(workspace, "files", "path", [hexed(path) for path in gone if path in before])
        self._remove_old(workspace, changes, gone, before, epoch)
        answers = sum(c.file.answers for c in changes) - sum(r["answers"] for r in before.values())
        length = sum(c.file.length for c in changes) - sum(r["length"] for r in before.values())
        self._put_counts(
            workspace,
            {
                **head,
                "revision": epoch,
                "answers": head["answers"] + answers,
                "length": head["length"] + length,
                "pending": 0,
            },
        )
        return True

    def clear(self, workspace: str) -> None:
        """Forget every file; vectors stay."""
        head = self._head(workspace)
        for name in ("files", "chunks"):
            self.rows.delete(name, of(workspace))
        self._put_identity(workspace, head["owner"], settled=False)
        empty = {"answers": 0, "length": 0, "pending": 0}
        self._put_counts(workspace, {**head, **empty, "revision": head["revision"] + 1})

    def file(self, workspace: str, path: str) -> FileRow | None:
        """One file."""
        row = self.files_at(workspace, [path]).get(path)
        return None if row is None else file_of(row)

    def files(self, workspace: str, prefix: str = "") -> list[FileRow]:
        """The files whose path starts with a prefix, sorted by path."""
        where = f"{of(workspace)}{below_prefix(prefix)}"
        rows = self.rows.select("files", where, FILE)
        return sorted(map(file_of, rows), key=lambda file: file.path)

    def stamps(self, workspace: str) -> dict[str, tuple[FileStamp, str]]:
        """Stamp and rules of every file."""
        fields = ("path", "mtime_ns", "size", "content_hash", "rules")
        rows = self.rows.select("files", of(workspace), fields)
        return {unhexed(row["path"]): (stamp_of(row), row["rules"]) for row in rows}

    def outlines(self, workspace: str, prefix: str) -> dict[str, list[ChunkOutline]]:
        """The chunks of the files whose path starts with a prefix, in order."""
        rows = self.rows.select("chunks", f"{of(workspace)}{below_prefix(prefix)}", OUTLINE)
        found: dict[str, list[ChunkOutline]] = {}
        for row, _file in sorted(
            self.visible(workspace, rows), key=lambda pair: pair[0]["position"]
        ):
            found.setdefault(unhexed(row["path"]), []).append(outline_of(row))
        return found

    def outline(self, workspace: str, path: str) -> list[ChunkOutline]:
        """The chunks of one file, in order."""
        return [outline_of(row) for row in self._chunks(workspace, path, OUTLINE)]

    def chunks(self, workspace: str, path: str) -> list[ChunkRow]:
        """The chunks of one file in full, in order, without their terms."""
        return [chunk_of(row) for row in self._chunks(workspace, path, CHUNK)]

    def linking(self, workspace: str, target: str) -> list[FileRow]:
        """The files with a link to a path, sorted by path."""
        where = f'{of(workspace)} and array_contains(targets, "{key_of(target)}")'
        rows = self.rows.select("files", where, FILE)
        return sorted(map(file_of, rows), key=lambda file: file.path)

    def totals(self, workspace: str) -> Totals:
        """Counts."""
        rows = self.rows.select("files", of(workspace), ("record", "links", "chunks"))
        tags: dict[str, int] = {}
        for row in rows:
            for tag in tags_of(unpacked(row["record"])):
                tags[tag] = tags.get(tag, 0) + 1
        chunks, links = (sum(row[name] for row in rows) for name in ("chunks", "links"))
        return Totals(len(rows), chunks, links, tags)

    def visible(self, workspace: str, rows: Sequence[Record]) -> list[tuple[Record, Record]]:
        """Those chunks that belong to the version of their file that counts, with that file."""
        paths = list(dict.fromkeys(unhexed(row["path"]) for row in rows))
        files = {hexed(path): row for path, row in self.files_at(workspace, paths).items()}
        pairs = [(row, files[row["path"]]) for row in rows if row["path"] in files]
        return [(row, file) for row, file in pairs if counts(row, file)]

    def files_at(self, workspace: str, paths: Sequence[str]) -> dict[str, Record]:
        """Those of some files that are stored, by path."""
        found: dict[str, Record] = {}
        for start in range(0, len(paths), AT_ONCE):
            some = among("path", [hexed(path) for path in paths[start : start + AT_ONCE]])
            where = f"{of(workspace)} and {some}"
            found |= {unhexed(row["path"]): row for row in self.rows.select("files", where, FILE)}
        return found

    def delete(self, workspace: str, name: str, field: str, digits: Sequence[str]) -> None:
        """Remove the rows of which a field is one of these."""
        for start in range(0, len(digits), AT_ONCE):
            some = among(field, digits[start : start + AT_ONCE])
            self.rows.delete(name, f"{of(workspace)} and {some}")

    def swept(self, workspace: str) -> Record:
        """The head, after what an interrupted commit left was removed."""
        head = self._head(workspace)
        if not head["pending"]:
            return head
        fields = ("path", "epoch", "answers", "length", "runs")
        files = {row["path"]: row for row in self.rows.select("files", of(workspace), fields)}
        written = [path for path, row in files.items() if row["epoch"] == head["pending"]]
        suspects = self.rows.select(
            "chunks",
            f"{of(workspace)} and born == {head['pending']}",
            ("key", "path", "born", "start_line"),
        )
        for start in range(0, len(written), AT_ONCE):
            some = among("path", written[start : start + AT_ONCE])
            suspects += self.rows.select(
                "chunks", f"{of(workspace)} and {some}", ("key", "path", "born", "start_line")
            )
        left = [
            r["key"] for r in suspects if r["path"] not in files or not counts(r, files[r["path"]])
        ]
        self.delete(workspace, "chunks", "key", left)
        swept = {
            **head,
            "revision": max(head["revision"], head["pending"]),
            "answers": sum(row["answers"] for row in files.values()),
            "length": sum(row["length"] for row in files.values()),
            "pending": 0,
        }
        self._put_counts(workspace, swept)
        return swept

    def _remove_old(
        self,
        workspace: str,
        changes: Sequence[FileChange],
        gone: Sequence[str],
        before: Mapping[str, Record],
        epoch: int,
    ) -> None:
        whole = [c.file.path for c in changes if c.base is None and c.file.path in before]
        old = [hexed(path) for path in (*whole, *gone)]
        for start in range(0, len(old), AT_ONCE):
            some = among("path", old[start : start + AT_ONCE])
            self.rows.delete("chunks", f"{of(workspace)} and {some} and born != {epoch}")
        for change in changes:
            if change.base is not None:
                self.rows.delete(
                    "chunks",
                    f'{of(workspace)} and path == "{hexed(change.file.path)}" '
                    f"and born != {epoch} and start_line >= {change.keep_below}",
                )

    def _head(self, workspace: str) -> Record:
        """Both rows of a head as one: what one of them keeps is nothing in the other."""
        rows = self.rows.select("heads", of(workspace), HEAD)
        nothing: Record = {**dict.fromkeys(HEAD, 0), "owner": ""}
        return {name: max([row[name] for row in rows], default=nothing[name]) for name in HEAD}

    def _put_counts(self, workspace: str, row: Record) -> None:
        row = {**row, "owner": "", "settled": 0}
        self.rows.put("heads", [{**keys(workspace, "counts"), **row}])

    def _put_identity(self, workspace: str, owner: str, *, settled: bool) -> None:
        row = {**dict.fromkeys(HEAD, 0), "owner": owner, "settled": int(settled)}
        self.rows.put("heads", [{**keys(workspace, "identity"), **row}])

    def _chunks(self, workspace: str, path: str, fields: Sequence[str]) -> list[Record]:
        where = f'{of(workspace)} and path == "{hexed(path)}"'
        rows = self.visible(workspace, self.rows.select("chunks", where, fields))
        return sorted((row for row, file_of in rows), key=lambda row: int(row["position"]))
