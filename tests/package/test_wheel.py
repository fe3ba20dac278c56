"""The wheel holds the whole package, hooks in their place, and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_every_module_prompt_and_marker_is_in_the_wheel(wheel: Path) -> None:
    held = names(wheel)
    wanted = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "agentscope_reme").rglob("*")
        if path.suffix in (".py", ".md", ".yaml", ".typed") and "__pycache__" not in path.parts
    }
    wanted |= {f"agentscope_reme/hooks/{path.name}" for path in (ROOT / "hooks").glob("*.py")}
    assert wanted - held == set()


def test_nothing_else_is_in_the_wheel(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"agentscope_reme"}
    assert not any(name.startswith("hooks/") for name in names(wheel))


def test_the_licence_is_in_the_wheel(wheel: Path) -> None:
    assert any(name.endswith("licenses/LICENSE") for name in names(wheel))


def test_the_wheel_alone_remembers(wheel: Path, tmp_path: Path) -> None:
    """Unpacked at an empty place, with only its dependencies around it, it writes and finds."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    program = (
        "import asyncio, agentscope_reme, agentscope_reme.hooks\n"
        "from agentscope_reme import ReMe\n"
        "async def main():\n"
        "    async with ReMe('memory', timezone='UTC') as reme:\n"
        "        await reme.write('digest/wiki/tea.md', 'Mei drinks 乌龙茶 at four.')\n"
        "        print(agentscope_reme.__file__, (await reme.search('乌龙茶')).hits[0].path)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    place, found = done.stdout.split()
    assert place.startswith(str(tmp_path))
    assert found == "digest/wiki/tea.md"
