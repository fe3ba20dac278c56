"""Rooms import only from rooms below them, and the check that says so can fail."""

import subprocess
import sys
from pathlib import Path

import pytest

CONTRACT = Path(__file__).parents[2] / "pyproject.toml"


def check(place: Path) -> "subprocess.CompletedProcess[str]":
    program = (
        "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    )
    return subprocess.run(
        [sys.executable, "-c", program, "--config", str(CONTRACT), "--no-cache"],
        cwd=place.parent,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(place.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_package_keeps_the_contract(installed: Path) -> None:
    checked = check(installed)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "0 broken" in checked.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("files/disk.py", "import agentscope_reme.vault.vault"),
        ("store/base.py", "from agentscope_reme import reme"),
        ("agentscope_v1/messages.py", "import agentscope_reme.hooks"),
        ("errors.py", "import agentscope_reme.files.disk"),
        ("steps/search.py", "import agentscope"),
        ("copaw/search.py", "import agentscope_reme.reme"),
        ("reme.py", "import agentscope_reme.copaw.copaw"),
    ],
)
def test_a_planted_violation_is_found(installed: Path, module: str, line: str) -> None:
    victim = installed / module
    victim.write_text(f"{victim.read_text('utf-8')}\n{line}\n", "utf-8")
    checked = check(installed)
    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert "1 broken" in checked.stdout
