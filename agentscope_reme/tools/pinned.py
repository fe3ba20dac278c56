"""What automation may not do: change a pinned file, or pin and unpin one.

The vault refuses it whatever way a change takes. Here tools refuse it earlier, while the agent that
tried can still do something else.
"""

from __future__ import annotations

from agentscope_reme.errors import BadPath
from agentscope_reme.files.changes import ANY, Expected
from agentscope_reme.files.pins import PERSON, PIN_KEY, is_person, is_pinned, refuse_pinned
from agentscope_reme.files.views import FileView, LookingView, ViewChange
from agentscope_reme.workspace import is_markdown

__all__ = [
    "PERSON",
    "PIN_KEY",
    "PinnedView",
    "is_person",
    "is_pinned",
    "refuse_pinned",
    "respecting",
]


def respecting(view: FileView, actor: str) -> FileView:
    """The view as an actor may use it: the person's own way is left free."""
    return view if is_person(actor) else PinnedView(view, actor)


class PinnedView(LookingView):
    """A `FileView` in which pinned files stay as they are.

    Args:
        view: what is looked through.
        actor: who changes files.
    """

    def __init__(self, view: FileView, actor: str) -> None:
        super().__init__(view)
        self._actor = actor

    def write(self, path: str, data: bytes, *, expected: Expected = ANY) -> ViewChange:
        """Create or replace a file.

        Raises:
            BadPath: it is pinned, or the new content would pin it.
        """
        refuse_pinned(self._actor, path, self._standing(path), data)
        return self._view.write(path, data, expected=expected)

    def delete(self, path: str) -> ViewChange:
        """Take a file or a folder away.

        Raises:
            BadPath: it is pinned, or a file inside is.
        """
        self._refuse_going(path)
        return self._view.delete(path)

    def move(
        self, src: str, dst: str, *, overwrite: bool = False, retarget: bool = True
    ) -> ViewChange:
        """Rename a file or a folder; with `retarget` inbound links follow.

        Raises:
            BadPath: a file that moves, is replaced or would have its links rewritten is pinned.
        """
        going = self._refuse_going(src)
        self._refuse_going(dst)
        for source in self._linking([src, *going]) if retarget else ():
            if source not in going and self._is_pinned(source):
                raise BadPath(
                    src,
                    f"the pinned file {source} links to it, and a move would rewrite that link",
                    "Leave the file where it is.",
                )
        return self._view.move(src, dst, overwrite=overwrite, retarget=retarget)

    def _refuse_going(self, path: str) -> list[str]:
        files = [path] if self._view.exists(path) else self._view.paths(path)
        for file in files:
            if is_markdown(file):
                refuse_pinned(self._actor, file, self._standing(file), None)
        return files

    def _linking(self, targets: list[str]) -> list[str]:
        links = (link for target in targets for link in self._view.inlinks(target))
        return list(dict.fromkeys(link.source_path for link in links))

    def _is_pinned(self, path: str) -> bool:
        standing = self._standing(path) if is_markdown(path) else None
        return standing is not None and is_pinned(standing)

    def _standing(self, path: str) -> bytes | None:
        return self._view.read(path) if self._view.exists(path) else None
