"""The environment is the one it claims to be."""

import os
from importlib.metadata import version

from agentscope_reme.agentscope_line import installed_line


def test_the_environment_has_the_agentscope_line_it_was_made_for() -> None:
    major = int(version("agentscope").split(".")[0])
    wanted = os.environ.get("REME_EXPECT_LINE", str(major))
    assert str(major) == wanted
    assert installed_line() == major


def test_the_broken_releases_are_excluded() -> None:
    assert version("agentscope") not in {"2.0.0", "2.0.1", "2.0.2"}
