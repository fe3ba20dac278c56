"""Whom a memory is about: one user, one task or one tool, named by code and never by a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from agentscope_reme.errors import BadInput
from agentscope_reme.messages import whole_characters
from agentscope_reme.typed.nodes import MemoryType, NodeFilter, Scalar

Kind = Literal["personal", "procedural", "tool"]
"""What a target is; also the `MemoryType` of what is learnt about it."""

ARGUMENTS: Final[Mapping[str, Kind]] = {
    "user_name": "personal",
    "task_name": "procedural",
    "tool_name": "tool",
}
"""The arguments that name targets."""

ABOUT: Final = "about"
"""Metadata of a conversation: the kind of its target, for a user and a task may share a name."""

_LONGEST: Final = 200
_NO_CHARACTER: Final = "\ufffd"
_WORDS: Final[Mapping[Kind, str]] = {"personal": "user", "procedural": "task", "tool": "tool"}

Names = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Target:
    """One user, task or tool.

    Attributes:
        kind: what it is.
        name: its name; two kinds may have one name and share nothing.
    """

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{_WORDS[self.kind]} {self.name!r}"

    @property
    def memory_type(self) -> MemoryType:
        """The type of what is learnt about it."""
        return MemoryType(self.kind)

    def where(
        self,
        *types: MemoryType,
        equal: Mapping[str, Scalar] | None = None,
        between: Mapping[str, tuple[Scalar, Scalar]] | None = None,
    ) -> NodeFilter:
        """The nodes of this target, of these types; of its own type without any."""
        return NodeFilter(
            frozenset(types or (self.memory_type,)),
            frozenset((self.name,)),
            equal or {},
            between or {},
        )

    def conversations(self, **equal: Scalar) -> NodeFilter:
        """The conversations kept for this target."""
        return self.where(MemoryType.HISTORY, equal={ABOUT: self.kind, **equal})


def one_target(user_name: Any = "", task_name: Any = "", tool_name: Any = "") -> Target:
    """The target of a call about single memories.

    Raises:
        BadInput: not exactly one name was given, or it is no name.
    """
    given = {"user_name": user_name, "task_name": task_name, "tool_name": tool_name}
    named = {argument: name for argument, name in given.items() if name not in ("", None)}
    if len(named) != 1:
        raise BadInput(
            named,
            "a call about memories needs exactly one of user_name, task_name and tool_name",
            "Name one user, one task or one tool.",
        )
    [(argument, name)] = named.items()
    return Target(ARGUMENTS[argument], _checked(argument, name))


def all_targets(
    user_name: Names | None = "", task_name: Names | None = "", tool_name: Names | None = ""
) -> list[Target]:
    """Every target of a call that takes several, in the order given, each once; maybe none.

    Raises:
        BadInput: one of them is no name.
    """
    given = {"user_name": user_name, "task_name": task_name, "tool_name": tool_name}
    found = [
        Target(ARGUMENTS[argument], _checked(argument, name))
        for argument, names in given.items()
        for name in _listed(argument, names)
    ]
    return list(dict.fromkeys(found))


def _listed(argument: str, names: object) -> Sequence[object]:
    if names in ("", None):
        return ()
    if isinstance(names, str):
        return (names,)
    if isinstance(names, list | tuple):
        return names
    raise BadInput(names, f"`{argument}` is neither a name nor a list of names", "Pass a string.")


def _checked(argument: str, name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        raise BadInput(name, f"`{argument}` is no name", "Pass a string that is not empty.")
    if len(name) > _LONGEST or any(character in name for character in "\0\n\r"):
        raise BadInput(
            name, f"`{argument}` is too long, or more than one line", f"Use {_LONGEST} characters."
        )
    whole = whole_characters(name.strip())
    if whole.count(_NO_CHARACTER) != name.count(_NO_CHARACTER):  # else two names would become one
        raise BadInput(name, f"`{argument}` is not valid Unicode", "Remove lone surrogates.")
    return whole
