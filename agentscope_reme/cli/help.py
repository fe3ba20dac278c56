"""What ``--help`` says."""

from __future__ import annotations

from itertools import groupby
from textwrap import wrap
from typing import Final

from agentscope_reme.cli.catalogue import Entry, Key, catalogue
from agentscope_reme.cli.commands import COMMANDS, Command

_INTRODUCTION: Final = """\
agentscope-reme <job> key=value ... [--json]

Runs one job in the memory at workspace_dir= (default .reme). A value may be text, JSON, @file, or -
for standard input. Every job takes the keys of the configuration: user=, language=, timezone=,
settings.<name>=, llm.<name>=, embedding.<name>=, and config= for a file other than reme.yaml.
`agentscope-reme <job> --help` says more.
"""
_WIDTH: Final = 100


def overview() -> str:
    """All jobs and commands, a line each."""
    entries = catalogue().jobs
    names = [*(entry.name for entry in entries), *(command.name for command in COMMANDS)]
    width = max(map(len, names))
    lines = [_INTRODUCTION]
    for group, jobs in groupby(entries, key=lambda entry: entry.group):
        lines += [group, *(_row(entry.name, entry.summary, width) for entry in jobs), ""]
    lines += ["Commands", *(_row(one.name, one.summary, width) for one in COMMANDS)]
    return "\n".join(lines)


def usage(entry: Entry) -> str:
    """How a job is written, a paragraph for each key."""
    lines = [
        f"agentscope-reme {entry.name} key=value ...",
        "",
        *wrap(_plain(entry.summary), _WIDTH),
        "",
    ]
    for key in entry.keys:
        lines += _paragraph(key)
    return "\n".join(lines).rstrip()


def command_usage(command: Command) -> str:
    """How a command is written."""
    return f"{command.usage}\n\n{_plain(command.summary)}"


def _row(name: str, summary: str, width: int) -> str:
    return f"  {name:{width}}  {_plain(summary)}"


def _paragraph(key: Key) -> list[str]:
    about = wrap(_plain(key.about), _WIDTH - 6)
    return [f"  {key.name}=  {key.told} ({_without_it(key)})", *(f"      {line}" for line in about)]


def _without_it(key: Key) -> str:
    if key.default is None:
        return "required"
    default = key.default.strip("'")
    if default in ("", "None", "()", "[]", "{}"):
        return "optional"
    return f"default {default.lower() if default in ('True', 'False') else default}"


def _plain(text: str) -> str:
    """Without the marks of the docstring."""
    return text.replace("``", "").replace("`", "")
