"""Starting, stopping and being asked for help: what the process loads, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentscope_reme.cli import main
from agentscope_reme.cli.catalogue import catalogue
from agentscope_reme.cli.commands import COMMANDS
from agentscope_reme.cli.describing import GROUPS, described
from agentscope_reme.cli.known_jobs import known_job
from agentscope_reme.jobs import jobs
from tests.loopback import LoopbackProvider

_HEAVY = ("pydantic", "numpy", "yaml", "asyncio", "agentscope", "watchfiles", "jieba", "inspect")
_INTERRUPTED = """
import os, signal, sys

class Stops:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Stops())
from agentscope_reme.cli import main
sys.argv[1:] = {words!r}
sys.exit(main())
"""


def python(folder: Path, code: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, check=False, **more
    )  # type: ignore[call-overload, no-any-return]


def command(folder: Path, *words: str | bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "agentscope_reme", *words],
        cwd=folder,
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("words", [["--help"], ["search", "--help"], ["completion", "bash"]])
def test_help_loads_nothing_that_does_the_work(words: list[str], tmp_path: Path) -> None:
    code = (
        "import sys\nfrom agentscope_reme.cli import main\n"
        f"code = main({words!r})\n"
        f"print([name for name in {_HEAVY!r} if name in sys.modules])\nsys.exit(code)"
    )
    done = python(tmp_path, code)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, b"[]")


def test_a_job_loads_no_agentscope_and_no_step_it_does_not_take(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom agentscope_reme.cli import main\nmain(['search', 'query=a'])\n"
        "print([name for name in ('agentscope', 'agentscope_reme.steps.dream',\n"
        "    'agentscope_reme.steps.forget', 'agentscope_reme.context.compactor',\n"
        "    'agentscope_reme.tools.agent_tools', 'jieba', 'watchfiles') if name in sys.modules])"
    )
    assert python(tmp_path, code).stdout.splitlines()[-1] == b"[]"


def test_a_job_that_meets_no_yaml_loads_none(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom agentscope_reme.cli import main\n"
        "main(['write', 'path=a.md', 'content=a'])\n"
        "main(['stat', 'path=a.md'])\nmain(['search', 'query=a'])\n"
        "print([name for name in ('yaml', 'filelock', 'multiprocessing') if name in sys.modules])"
    )
    assert python(tmp_path, code).stdout.splitlines()[-1] == b"[]"


@pytest.mark.parametrize(
    "module",
    [
        "agentscope_reme.cli.dispatch",
        "agentscope_reme.cli.one_job",
        "pydantic",
        "asyncio",
        "numpy",
        "agentscope_reme.engine",
    ],
)
def test_an_interruption_while_it_starts_is_told_in_words(module: str, tmp_path: Path) -> None:
    (tmp_path / ".reme").mkdir()
    done = python(tmp_path, _INTERRUPTED.format(module=module, words=["search", "query=a"]))
    assert (done.returncode, done.stdout) == (130, b"")
    assert done.stderr.decode() == "stopped; what was saved stays saved\n"


@pytest.mark.parametrize("module", ["pydantic", "yaml", "agentscope_reme.results"])
def test_an_interruption_arrives_where_an_exception_would_be_lost(
    module: str, tmp_path: Path
) -> None:
    """As within compiled modules, and in callbacks of the import system."""
    swallowed = _INTERRUPTED.replace(
        "os.kill(os.getpid(), signal.SIGINT)",
        "\n            try: os.kill(os.getpid(), signal.SIGINT)"
        "\n            except KeyboardInterrupt: pass",
    )
    (tmp_path / "reme.yaml").write_text("language: en\n")
    done = python(tmp_path, swallowed.format(module=module, words=["search", "query=a"]))
    assert (done.returncode, done.stdout) == (130, b"")
    assert done.stderr.decode() == "stopped; what was saved stays saved\n"


def test_an_interruption_is_json_where_json_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / ".reme").mkdir()
    words = ["search", "query=a", "--json"]
    done = python(tmp_path, _INTERRUPTED.format(module="numpy", words=words))
    assert (done.returncode, json.loads(done.stdout)["success"], done.stderr) == (130, False, b"")


def test_ctrl_c_stops_what_waits_for_a_model(tmp_path: Path, provider: LoopbackProvider) -> None:
    never = threading.Event()
    provider.reply(text="too late", delay_until=never)
    turns = json.dumps([{"id": "m1", "role": "user", "content": "The zebra vault opens at nine."}])
    running = subprocess.Popen(
        [
            *(sys.executable, "-m", "agentscope_reme", "auto_memory", f"messages={turns}"),
            *("session_id=s", "llm.model_name=m", "llm.api_key=k"),
            f"llm.base_url={provider.openai_url}",
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not provider.chats:
        assert running.poll() is None
    running.send_signal(signal.SIGINT)
    out, told = running.communicate(timeout=30)
    never.set()
    assert (running.returncode, out) == (130, b"")
    assert told == b"stopped; what was saved stays saved\n"
    assert "zebra" in (tmp_path / ".reme/session/dialog/s.jsonl").read_text("utf-8")


def test_bytes_that_are_no_text_are_told_by_their_key(tmp_path: Path) -> None:
    done = command(tmp_path, "search", b"query=J\xfcrgen")
    assert done.returncode == 2
    assert "'query'" in done.stderr.decode()
    assert "from character 2" in done.stderr.decode()
    done = command(tmp_path, b"s\xfc", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["success"] is False


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("zirconia".encode("utf-16"), "UTF-16"),
        (b"zir\xffconia", "at byte 4"),
    ],
)
def test_files_that_are_no_utf8_are_told(data: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(data)
    done = command(tmp_path, "write", "path=digest/wiki/a.md", "content=@text.txt")
    assert done.returncode == 2
    assert "'content=@text.txt'" in done.stderr.decode()
    assert told in done.stderr.decode()


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes("\ufeffzirconia".encode())
    assert command(tmp_path, "write", "path=digest/wiki/a.md", "content=@text.txt").returncode == 0
    assert (tmp_path / ".reme/digest/wiki/a.md").read_text("utf-8") == "zirconia\n"


def test_a_reader_that_goes_away_is_no_fault(tmp_path: Path) -> None:
    done = subprocess.run(
        f"'{sys.executable}' -m agentscope_reme --help | true; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == (b"0\n", b"")


def test_without_standard_streams_it_works_all_the_same(tmp_path: Path) -> None:
    done = subprocess.run(
        f"'{sys.executable}' -m agentscope_reme write path=digest/wiki/a.md content=x >&- 2>&- <&-",
        shell=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0
    assert (tmp_path / ".reme/digest/wiki/a.md").is_file()


@pytest.mark.parametrize("module", ["agentscope_reme", "agentscope_reme.cli"])
def test_it_is_a_module_to_run(module: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"], cwd=tmp_path, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, b"0.1.0")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("serch", "search"),
        ("auto-memory", "auto_memory"),
        ("confg", "config"),
        ("rekall", "recall"),
    ],
)
def test_the_nearest_name_is_offered(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word, "query=a"]) == 2
    assert meant in capsys.readouterr().err


def test_options_with_dashes_are_told_how_to_be_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["search", "query=a", "--min-score=3"]) == 2
    assert "Write min_score=3" in capsys.readouterr().err


def test_help_groups_all_jobs_and_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    told = capsys.readouterr().out
    assert all(f"\n{group}\n" in told for group in GROUPS)
    assert all(f"  {one.name} " in told for one in COMMANDS)
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(jobs())


def test_the_catalogue_says_what_the_calls_say() -> None:
    """If this fails: ``python -m agentscope_reme.cli.describing``."""
    assert catalogue() == described()


@pytest.mark.parametrize("name", sorted(jobs()))
def test_the_types_of_the_catalogue_are_those_of_the_calls(name: str) -> None:
    entry = catalogue().find(name)
    assert entry is not None
    assert known_job(entry).types == jobs()[name].types
    assert known_job(entry).required == jobs()[name].required


def test_no_key_of_a_job_hides_one_of_the_configuration() -> None:
    common = {key.name for key in catalogue().keys}
    for entry in catalogue().jobs:
        assert not common & {key.name for key in entry.keys}, entry.name


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_exists_and_explains_itself(
    command: object, capsys: pytest.CaptureFixture[str]
) -> None:
    found = next(one for one in COMMANDS if one == command)
    assert callable(found.function)
    assert main([found.name, "--help"]) == 0
    told = capsys.readouterr().out
    assert found.summary.replace("`", "") in told
    assert f"agentscope-reme {found.name}" in told
