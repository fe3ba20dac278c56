"""A staged overlay: changes are made and looked at, and nothing reaches the disk."""

from __future__ import annotations

from collections.abc import Mapping

from agentscope_reme.errors import BadPath, Conflict, NotFound
from agentscope_reme.files.changes import ANY, Change, Delete, Expected, Write
from agentscope_reme.files.text_encoding import decode_guessing
from agentscope_reme.files.views import FileView, ViewChange
from agentscope_reme.files.wikilinks import parse_wikilinks, retarget_wikilinks
from agentscope_reme.schema import FileLink, content_hash
from agentscope_reme.workspace import is_markdown, refuse_permanent


class ChangeSet:
    """A `FileView` over another one that keeps every change to itself until it is committed.

    Reads fall through to the base until a path is changed here. `changes` remembers what stood in
    the base when a path was first looked at, so committing is a compare-and-set: somebody else's
    edit in between makes it a `Conflict`, never a loss.

    Args:
        base: what is looked through; it also refuses unsafe paths.
    """

    def __init__(self, base: FileView) -> None:
        self._base = base
        self._staged: dict[str, bytes | None] = {}
        self._met: dict[str, str | None] = {}

    def changes(self) -> list[Change]:
        """What to commit, sorted by path, with the hashes that must still stand there."""
        found: list[Change] = []
        for path, data in sorted(self._staged.items()):
            before = self._met[path]
            if data is not None and content_hash(data) != before:
                found.append(Write(path, data, expected=before))
            elif data is None and before is not None:
                found.append(Delete(path, expected=before))
        return found

    def exists(self, path: str) -> bool:
        """Whether a file stands at `path`, here or in the base."""
        if path in self._staged:
            return self._staged[path] is not None
        return self._base.exists(path)

    def read(self, path: str) -> bytes:
        """The file's bytes.

        Raises:
            NotFound: no file stands there.
        """
        if path not in self._staged:
            data = self._base.read(path)
            self._met.setdefault(path, content_hash(data))
            return data
        staged = self._staged[path]
        if staged is None:
            raise NotFound(path, "no such file", "Check the path with `list`.")
        return staged

    def paths(self, prefix: str = "") -> list[str]:
        """Files below a folder, staged ones included, sorted."""
        folder = prefix.strip("/")
        found = {path for path in self._base.paths(prefix) if path not in self._staged}
        for path, data in self._staged.items():
            if data is not None and (not folder or path.startswith(f"{folder}/")):
                found.add(path)
        return sorted(found)

    def inlinks(self, path: str) -> list[FileLink]:
        """Links that point at `path` from other files, as staged."""
        links = [link for link in self._base.inlinks(path) if link.source_path not in self._staged]
        for source, data in self._staged.items():
            if data is not None and source != path:
                links += [link for link in _links(source, data) if link.target_path == path]
        return sorted(links, key=lambda link: link.source_path)

    def write(self, path: str, data: bytes, *, expected: Expected = ANY) -> ViewChange:
        """Stage a new content.

        Raises:
            Conflict: the file, as staged, is not the expected one.
            BadPath: a folder stands there.
        """
        current = self._hash(path)
        if expected is not ANY and expected != current:
            raise Conflict(
                path,
                "the file is not the expected one",
                "Read the file again and decide anew.",
                current_hash=current,
            )
        if current is None and self.paths(path):
            raise BadPath(path, "a folder stands there", "Choose another path.")
        self._staged[path] = data
        return ViewChange("", content_hash(data), created=current is None)

    def delete(self, path: str) -> ViewChange:
        """Stage the removal of a file, or of everything below a folder.

        Raises:
            NotFound: nothing stands there.
            BadPath: it is a folder of the layout.
        """
        refuse_permanent(path)
        going = self._files_of(path)
        inbound = self._inbound(path, going)
        for file in going:
            self._hash(file)
            self._staged[file] = None
        return ViewChange("", None, inbound=inbound)

    def move(
        self, src: str, dst: str, *, overwrite: bool = False, retarget: bool = True
    ) -> ViewChange:
        """Stage a rename of a file or a folder; with `retarget` inbound links follow.

        Raises:
            NotFound: nothing stands at `src`.
            Conflict: something stands at `dst` and `overwrite` is false, or it is a folder.
            BadPath: the move leads nowhere.
        """
        refuse_permanent(src)
        going = self._files_of(src)
        self._refuse_target(src, dst, overwrite=overwrite and going == [src])
        moves = {path: dst + path[len(src) :] for path in going}
        mapping = {src: dst, **moves}
        inbound = self._inbound(src, [*going, *moves.values()])  # what is replaced links no more
        held = {new: self.read(old) for old, new in moves.items()}
        for path in (*going, *held):
            self._hash(path)
        self._staged.update(dict.fromkeys(going))
        self._staged.update(held)
        touched = self._retarget(mapping, [*held, *_sources(inbound)]) if retarget else ()
        staged = self._staged.get(dst)
        return ViewChange(
            "",
            None if staged is None else content_hash(staged),
            created=self._met.get(dst) is None,
            touched=touched,
            inbound=inbound,
        )

    def _hash(self, path: str) -> str | None:
        """The hash as staged; meets the base, so that a later commit can compare."""
        if path not in self._met:
            exists = self._base.exists(path)
            self._met[path] = content_hash(self._base.read(path)) if exists else None
        if path not in self._staged:
            return self._met[path]
        staged = self._staged[path]
        return None if staged is None else content_hash(staged)

    def _files_of(self, path: str) -> list[str]:
        files = [path] if self.exists(path) else self.paths(path)
        if not files:
            raise NotFound(path, "nothing stands there", "Check the path with `list`.")
        return files

    def _refuse_target(self, src: str, dst: str, *, overwrite: bool) -> None:
        if dst == src or dst.startswith(f"{src}/"):
            raise BadPath(dst, "a file or folder cannot be moved onto itself", "Name another.")
        if self.paths(dst):
            raise Conflict(dst, "a folder stands there", "Name the new path itself.")
        current = self._hash(dst)
        if current is not None and not overwrite:
            remedy = "Choose another target, or pass `overwrite=True` for a file."
            raise Conflict(dst, "a file already stands there", remedy, current_hash=current)

    def _inbound(self, top: str, files: list[str]) -> tuple[FileLink, ...]:
        targets = dict.fromkeys([top, *files])
        links = (link for target in targets for link in self.inlinks(target))
        return tuple(link for link in links if link.source_path not in files)

    def _retarget(self, mapping: Mapping[str, str], sources: list[str]) -> tuple[str, ...]:
        touched = []
        for source in sources:
            data = self.read(source)
            moving = {link.target_path for link in _links(source, data)} & mapping.keys()
            if moving:
                text, encoding = decode_guessing(data)
                new, _ = retarget_wikilinks(text, {target: mapping[target] for target in moving})
                self._staged[source] = encoding.encode(new)
                touched.append(source)
        return tuple(sorted(touched))


def _links(path: str, data: bytes) -> list[FileLink]:
    if not is_markdown(path):
        return []
    return parse_wikilinks(decode_guessing(data)[0], path)


def _sources(links: tuple[FileLink, ...]) -> list[str]:
    return sorted({link.source_path for link in links})
