"""Shell completion: a small script for each shell, and what it asks for.

The script hands over the line up to the cursor; what could stand there comes back whole, a line
each. No library: the common ones complete options with dashes, not ``key=value`` words.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from agentscope_reme.cli.catalogue import Entry, Key, catalogue
from agentscope_reme.cli.commands import COMMANDS, Command, find
from agentscope_reme.cli.telling import tell
from agentscope_reme.errors import BadInput

_BASH: Final = """\
_agentscope_reme() {
    local line=${COMP_LINE:0:COMP_POINT} found one
    local word=${line##*[[:space:]]} kept=
    # Bash replaces what stands behind the last = only.
    [[ $COMP_WORDBREAKS == *=* ]] && kept=${word%"${word##*=}"}
    COMPREPLY=()
    while IFS= read -r found; do
        printf -v one %q "${found#"$kept"}"
        [[ $found == *= ]] && one=${found#"$kept"}
        COMPREPLY+=("$one")
    done < <("${COMP_WORDS[0]}" completion answers "$line" 2>/dev/null)
    case ${COMPREPLY[0]-} in *= | */ | *.) compopt -o nospace ;; esac
}
complete -F _agentscope_reme agentscope-reme"""

_ZSH: Final = """\
_agentscope_reme() {
    local -a found open
    found=("${(@f)$("${words[1]}" completion answers \\
        "${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)}")
    open=(${(M)found:#*(=|/|.)})
    found=(${found:#*(=|/|.)})
    (( $#open )) && compadd -S '' -- $open
    (( $#found )) && compadd -- $found
}
compdef _agentscope_reme agentscope-reme"""

_FISH: Final = """\
complete --command agentscope-reme --no-files \\
    --arguments '(agentscope-reme completion answers (commandline --cut-at-cursor) 2>/dev/null)'"""

SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
"""The script of each shell."""

_OF_THE_WORKSPACE: Final = frozenset({"path", "src", "dst", "path_prefix"})
"""Keys that name a file of the memory."""
_OF_THE_DISK: Final = frozenset({"workspace_dir", "projects_dir", "config"})
_DEFAULT_WORKSPACE: Final = ".reme"


def completion(words: Sequence[str]) -> int:
    """Print a script, or what could stand at the end of a line.

    Args:
        words: the name of a shell, or ``answers`` and the line up to the cursor.

    Raises:
        BadInput: there is no script for that shell.
    """
    shell = words[0] if words else ""
    if shell == "answers":
        for answer in answers(words[1] if words[1:] else ""):
            tell(answer)
        return 0
    if shell not in SCRIPTS:
        known = ", ".join(SCRIPTS)
        raise BadInput(shell, "there is no script for this shell", f"Choose among {known}.")
    tell(SCRIPTS[shell])
    return 0


def answers(line: str) -> list[str]:
    """The words that may stand at the end of a line, in the order they are listed in.

    Args:
        line: from the name of the command up to the cursor.
    """
    try:
        words = shlex.split(line)[1:]
    except ValueError:  # a quote is open; nothing is said about texts
        return []
    if not line or line[-1].isspace():
        words.append("")
    if not words:
        return []
    *before, last = words
    found = _names() if not before else _behind(before[0], before[1:], last)
    return [word for word in dict.fromkeys(found) if word.startswith(last)]


def _names() -> Iterator[str]:
    yield from (entry.name for entry in catalogue().jobs)
    yield from (command.name for command in COMMANDS)
    yield from ("--help", "--version")


def _behind(name: str, given: Sequence[str], last: str) -> Iterator[str]:
    command, entry = find(name), catalogue().find(name)
    if name in ("--help", "help"):
        yield from _names()
    elif command is not None:
        yield from _of_command(command, given, last)
    elif entry is not None:
        yield from _of_job(entry, given, last)


def _of_command(command: Command, given: Sequence[str], last: str) -> Iterator[str]:
    written = {word.partition("=")[0] for word in given}
    yield from (word for word in command.words if word.rstrip("=") not in written)
    yield from _of_keys((), given, last)


def _of_job(entry: Entry, given: Sequence[str], last: str) -> Iterator[str]:
    yield from _of_keys(entry.keys, given, last)
    yield from ("--help", "--json")


def _of_keys(own: Sequence[Key], given: Sequence[str], last: str) -> Iterator[str]:
    """Keys not given yet, those of the configuration section by section; then their values."""
    key, equals, value = last.partition("=")
    if equals:
        known = next((one for one in (*own, *catalogue().keys) if one.name == key), None)
        yield from (f"{key}={one}" for one in _values(key, known, given, value))
        return
    written = {word.partition("=")[0] for word in given}
    yield from (f"{one.name}=" for one in own if one.name not in written)
    for one in catalogue().keys:
        section, dot, _ = one.name.partition(".")
        if dot and not last.startswith(f"{section}."):
            yield f"{section}."
        elif one.name not in written:
            yield f"{one.name}="


def _values(key: str, known: Key | None, given: Sequence[str], value: str) -> Iterator[str]:
    if known is not None:
        yield from known.choices
    if value.startswith("@") and not value.startswith("@@"):
        yield from (f"@{path}" for path in _paths(".", value[1:]))
    elif key in _OF_THE_DISK:
        yield from _paths(".", value)
    elif key in _OF_THE_WORKSPACE:
        said = dict(word.partition("=")[::2] for word in given)
        home = said.get("workspace_dir", _DEFAULT_WORKSPACE)
        if user := said.get("user"):
            home = os.path.join(home, "users", user)
        yield from _paths(home, value)


def _paths(home: str, written: str) -> Iterator[str]:
    """What lies in the folder that is being written, folders with a slash behind them."""
    folder = written[: written.rfind("/") + 1]
    try:
        names = sorted(os.listdir(os.path.join(home, os.path.expanduser(folder)) or "."))
    except OSError:
        return
    for name in names:
        if name.startswith(".") and not written.rpartition("/")[2].startswith("."):
            continue
        where = os.path.join(home, os.path.expanduser(folder), name)
        yield f"{folder}{name}{'/' if os.path.isdir(where) else ''}"
