"""What can be called besides the jobs; each is one line here and a function somewhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, cast


class Command(NamedTuple):
    """A command.

    Attributes:
        name: as it is written.
        summary: one sentence.
        target: ``module:function``, loaded when it is called: ``function(words) -> exit code``.
            Its `ReMeError` is told by the command line, which also answers ``--help``.
        usage: how it is written, for ``--help``, a line each.
        words: what may stand behind it, for shell completion; what ends in ``=`` is a key.
    """

    name: str
    summary: str
    target: str
    usage: str
    words: tuple[str, ...] = ()

    @property
    def function(self) -> Callable[[Sequence[str]], int]:
        """What runs it."""
        from importlib import import_module

        module, _, name = self.target.partition(":")
        return cast("Callable[[Sequence[str]], int]", getattr(import_module(module), name))


COMMANDS: Final = (
    Command(
        "config",
        "Show every value of the configuration and where it came from.",
        "agentscope_reme.cli.config:show",
        "agentscope-reme config show [key=value ...] [--json]",
        ("show",),
    ),
    Command(
        "view",
        "Look at the memory in a browser: timeline, links, search, and where a line comes from.",
        "agentscope_reme.cli.view:view",
        "agentscope-reme view [to=memory.html] [overwrite=false] [key=value ...] [--json]\n"
        "agentscope-reme view serve=true [port=0]",
        ("to=", "overwrite=", "serve=", "port="),
    ),
    Command(
        "import",
        "Bring in ChatGPT and Claude exports, LoCoMo, mem0, workspaces, vaults, archives.",
        "agentscope_reme.cli.transfer:take_in",
        "agentscope-reme import source=PATH\n"
        "  [format=auto|chatgpt|claude|locomo|mem0|reme|obsidian]\n"
        "  [into=digest/wiki/NAME] [only_user=NAME] [key=value ...] [--json]",
        ("source=", "format=", "into=", "only_user="),
    ),
    Command(
        "export",
        "Pack the whole memory into one archive, which `import` makes a memory of.",
        "agentscope_reme.cli.transfer:take_along",
        "agentscope-reme export to=PATH.zip [history=true] [overwrite=true]\n"
        "  [key=value ...] [--json]",
        ("to=", "history=", "overwrite="),
    ),
    Command(
        "completion",
        "Print the script that completes words in bash, zsh or fish.",
        "agentscope_reme.cli.completion:completion",
        'eval "$(agentscope-reme completion bash)"           in ~/.bashrc\n'
        'eval "$(agentscope-reme completion zsh)"            in ~/.zshrc, behind compinit\n'
        "agentscope-reme completion fish | source            in ~/.config/fish/config.fish",
        ("bash", "zsh", "fish"),
    ),
    Command(
        "chat",
        "Talk with an assistant that remembers; also called remecli.",
        "agentscope_reme.chat:main",
        "agentscope-reme chat [key=value ...]      (also: remecli config=cli)\n"
        "echo question | agentscope-reme chat      answers it and ends\n"
        "Keys are those of the configuration: workspace_dir=, language=, llm.model_name=,\n"
        "chat.context_window_tokens=, chat.permission=ask|allow|deny.\n"
        "Inside, /help lists commands.",
        ("config=", "workspace_dir=", "language=", "chat.permission="),
    ),
    Command(
        "start",
        "Serve the memory over HTTP and MCP, to programs on this machine.",
        "agentscope_reme.cli.start:start",
        "agentscope-reme start [host=127.0.0.1] [port=7363] [transport=http|stdio]\n"
        '  [token=file|none] [jobs=["search"]] [read_only=true] [key=value ...]',
        ("host=", "port=", "transport=", "token=", "jobs=", "read_only="),
    ),
)
"""In the order they are listed."""


def find(name: str) -> Command | None:
    """The command of that name."""
    return next((command for command in COMMANDS if command.name == name), None)
