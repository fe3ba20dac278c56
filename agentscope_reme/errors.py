"""Every error this library raises, as one tree.

    ReMeError
    ├── BadInput            an argument was refused            (also a ValueError)
    │   ├── BadPath         a path is unsafe or malformed
    │   ├── BadMessage      a conversation message cannot be understood
    │   └── BadDocument     front matter or text cannot be edited safely
    ├── NotFound            the named file, session or change does not exist
    ├── Conflict            somebody else changed the file first; carries ``current_hash``
    ├── ModelRequired       the call needs a model and none was given
    ├── ModelFailed         the model answered, but not in a usable way
    ├── StorageFailed       the disk or a lock refused: full, read-only, busy
    └── Closed              the object was used after ``close()``

Each message says what was given, why it was refused and what to do.
"""

from __future__ import annotations

_LONGEST_GIVEN = 200
_STOPS = (".", "!", "?", "…", "。", "！", "？")


def sentence(clause: object) -> str:
    """A clause with a full stop, unless it ends like a sentence already: words of others may.

    Args:
        clause: the clause, or an error that says one.
    """
    text = str(clause).rstrip()
    return text if text.endswith(_STOPS) else f"{text}."


class ReMeError(Exception):
    """The root of every error this library raises on purpose.

    Args:
        given: the offending value; shown shortened with ``repr``.
        reason: why it was refused, as a clause; a final stop, which the words of others often have,
            is not doubled.
        remedy: what the caller can do instead, as a sentence.
    """

    def __init__(self, given: object, reason: str, remedy: str) -> None:
        self.given = given
        self.reason = reason
        self.remedy = remedy
        shown = repr(given)
        if len(shown) > _LONGEST_GIVEN:
            shown = f"{shown[:_LONGEST_GIVEN]}… ({len(shown)} characters)"
        super().__init__(f"{shown}: {sentence(reason)} {remedy}".rstrip())


class BadInput(ReMeError, ValueError):
    """An argument was refused before anything was changed."""


class BadPath(BadInput):
    """A path is unsafe, malformed or reserved."""


class BadMessage(BadInput):
    """A conversation message cannot be understood."""


class BadDocument(BadInput):
    """A document cannot be edited without damaging it."""


class NotFound(ReMeError):
    """The named file, session or change does not exist."""


class Conflict(ReMeError):
    """The file changed since the caller looked at it.

    Attributes:
        current_hash: the content hash of the file now, or ``None`` when it is gone.
    """

    def __init__(
        self, given: object, reason: str, remedy: str, *, current_hash: str | None = None
    ) -> None:
        super().__init__(given, reason, remedy)
        self.current_hash = current_hash


class ModelRequired(ReMeError):
    """The call needs a model; ``argument`` names the constructor argument to pass.

    Args:
        call: what was called.
        argument: the constructor argument.
        lacks: what the model that was given cannot do, as a clause; empty when none was given.
    """

    def __init__(self, call: str, argument: str = "chat_model", *, lacks: str = "") -> None:
        missing = f"this call needs a model and `{argument}` was not given"
        super().__init__(
            call,
            f"this call needs more than `{argument}` can do: {lacks}" if lacks else missing,
            f"Pass an AgentScope model as `{argument}=`." if lacks else f"Pass `{argument}=`.",
        )
        self.argument = argument


class ModelFailed(ReMeError):
    """A model call failed or its answer could not be used."""


class StorageFailed(ReMeError):
    """The operating system refused: disk full, read-only, no lock."""


class Closed(ReMeError):
    """The object was used after it was closed."""
