"""Files as an agent may write them: new secrets are taken out, or the write is refused."""

from __future__ import annotations

from typing import Final, Literal

from agentscope_reme.errors import BadInput, NotFound
from agentscope_reme.files.changes import ANY, Expected
from agentscope_reme.files.views import FileView, LookingView, ViewChange
from agentscope_reme.tools.redaction import Redactor

RedactMode = Literal["allow", "redact", "block"]


class RedactingView(LookingView):
    """A `FileView` that looks at what is written.

    What already stood in the file is left alone: a person may have put it there. Bytes that are
    no UTF-8 text are left alone as well.

    Args:
        view: the files themselves.
        redactor: what counts as a secret.
        mode: ``redact`` replaces secrets, ``block`` refuses the write, ``allow`` does nothing.
    """

    def __init__(self, view: FileView, redactor: Redactor, mode: RedactMode) -> None:
        super().__init__(view)
        self._redactor: Final = redactor
        self._mode: Final = mode

    def write(self, path: str, data: bytes, *, expected: Expected = ANY) -> ViewChange:
        """Create or replace a file without new secrets.

        Raises:
            BadInput: the path holds a secret, or there is a new one and the mode is ``block``.
        """
        self._refuse_secret_path(path)
        return self._view.write(path, self._clean(path, data), expected=expected)

    def move(
        self, src: str, dst: str, *, overwrite: bool = False, retarget: bool = True
    ) -> ViewChange:
        """Rename a file or a folder.

        Raises:
            BadInput: the new path holds a secret.
        """
        self._refuse_secret_path(dst)
        return self._view.move(src, dst, overwrite=overwrite, retarget=retarget)

    def _refuse_secret_path(self, path: str) -> None:
        """A mark in a path would make another path, so a secret in one is refused in any mode."""
        if self._mode == "allow":
            return
        found = self._redactor.redact(path).found
        if found and not self._view.exists(path):
            named = ", ".join(found)
            raise BadInput(
                self._redactor.redact(path).text,
                f"the path holds a secret ({named})",
                "Choose a name without it.",
            )

    def _clean(self, path: str, data: bytes) -> bytes:
        if self._mode == "allow":
            return data
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return data
        redacted = self._redactor.redact(text, known=self._before(path))
        if redacted.found and self._mode == "block":
            raise BadInput(
                path, f"the text holds a secret ({', '.join(redacted.found)})", "Leave it out."
            )
        return redacted.text.encode("utf-8") if redacted.found else data

    def _before(self, path: str) -> str:
        try:
            return self._view.read(path).decode("utf-8", "replace")
        except NotFound:
            return ""
