"""Finds what was called, runs it, and says how it went."""

from __future__ import annotations

from typing import Final

from agentscope_reme.cli.catalogue import catalogue
from agentscope_reme.cli.commands import COMMANDS, Command, find
from agentscope_reme.cli.interruptions import from_now_on_raised
from agentscope_reme.cli.telling import failed, tell
from agentscope_reme.errors import BadInput, ReMeError

_HELP: Final = ("--help", "-h", "help")
_JSON: Final = "--json"


def answered(words: list[str]) -> int:
    """Run what the words say; the exit code.

    Args:
        words: what was written behind ``agentscope-reme``.
    """
    as_json = _JSON in words
    try:
        return _run([word for word in words if word != _JSON], as_json)
    except BadInput as error:
        return failed(error, as_json=as_json, code=2)
    except ReMeError as error:
        return failed(error, as_json=as_json, code=1)


def _run(words: list[str], as_json: bool) -> int:
    if not words or (words[0] in _HELP and not words[1:]):
        return _helped()
    if words[0] == "--version":
        return _version()
    if words[0] in _HELP:
        words = [*words[1:], "--help"]
    name, *rest = words
    wants_help = any(word in _HELP for word in rest)
    command = find(name)
    if command is not None:
        return _command(command, rest, wants_help, as_json)
    entry = catalogue().find(name)
    if entry is None:
        raise _unknown(name)
    if wants_help:
        from agentscope_reme.cli.help import usage

        tell(usage(entry))
        return 0
    from agentscope_reme.cli.one_job import run

    return run(entry, rest, as_json=as_json)


def _command(command: Command, rest: list[str], wants_help: bool, as_json: bool) -> int:
    if wants_help:
        from agentscope_reme.cli.help import command_usage

        tell(command_usage(command))
        return 0
    function = command.function
    from_now_on_raised()
    return function([*rest, _JSON] if as_json else rest)


def _helped() -> int:
    from agentscope_reme.cli.help import overview

    tell(overview())
    return 0


def _version() -> int:
    from importlib.metadata import version

    tell(version("agentscope-reme"))
    return 0


def _unknown(name: str) -> BadInput:
    from agentscope_reme.jobs import job_meant  # what runs jobs; help need not wait for it

    known = [*(entry.name for entry in catalogue().jobs), *(one.name for one in COMMANDS)]
    advice = job_meant(name, known) or "`agentscope-reme --help` lists them."
    return BadInput(name, "no such job", advice)
