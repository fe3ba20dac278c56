"""Whether there is a memory to look at; what only reads makes none."""

from __future__ import annotations

from agentscope_reme.configuration import Configuration
from agentscope_reme.errors import NotFound
from agentscope_reme.files.looking import is_folder
from agentscope_reme.workspace import Workspace


def require_memory(configuration: Configuration) -> None:
    """Let pass where a folder stands, whoever made it.

    Args:
        configuration: names the memory.

    Raises:
        NotFound: nothing stands there; an empty answer would hide a mistyped folder.
    """
    root = Workspace(configuration.workspace_dir, user=configuration.user).root
    if not is_folder(root):
        raise NotFound(
            str(root),
            "there is no memory here",
            "Check `workspace_dir=` and `user=`; the first `record`, `write` or `import` makes it.",
        )
