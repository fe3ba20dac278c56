"""The demo remembers across processes: talk, close, and a new process finds it again."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import demo
import pytest
from demo_recall import tree
from stand_in_prompt import schemas_of, turns_of
from stand_in_rules import Call, decide

from tests.loopback import LoopbackProvider, Reply, Request, ToolCall

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
KEYS = ("DASHSCOPE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "REME_DEMO_MODEL")


def run_demo(*arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in KEYS}
    environment |= {"PYTHONIOENCODING": "utf-8", **extra}
    return subprocess.run(
        [sys.executable, str(EXAMPLES / "demo.py"), *arguments],
        capture_output=True,
        encoding="utf-8",
        env=environment,
        timeout=180,
        check=False,
    )


@dataclass(frozen=True)
class Finished:
    workspace: Path
    process: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    workspace = tmp_path_factory.mktemp("demo") / "memory"
    return Finished(workspace, run_demo("--workspace", str(workspace)))


def test_the_bundled_conversation_is_remembered_in_a_new_process(bundled: Finished) -> None:
    workspace, done = bundled.workspace, bundled.process
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0].startswith("Model: rule-based stand-in, no AI")
    assert "expected:" not in done.stdout
    for words in ("17 July", "two front desks", "type S", "one short paragraph", "260 公斤"):
        assert words in done.stdout
    sources = re.findall(r"source: (\S+):(\d+)-(\d+), session (\S+)", done.stdout)
    assert len(sources) == 6
    for path, start, end, _ in sources:
        lines = (workspace / path).read_text(encoding="utf-8").splitlines()
        assert 1 <= int(start) <= int(end) <= len(lines)


def test_the_live_session_is_logged_and_has_a_card(bundled: Finished) -> None:
    workspace = bundled.workspace
    log = (workspace / "session" / "dialog" / "firing-night.jsonl").read_text(encoding="utf-8")
    assert "Noor takes over the kiln sensors" in log
    cards = [place.read_text(encoding="utf-8") for place in workspace.glob("daily/*/*.md")]
    assert sum("session_id: firing-night" in card for card in cards) == 1
    assert len(cards) == 5


def test_a_conversation_of_ones_own_gets_questions(tmp_path: Path) -> None:
    place = tmp_path / "mine.json"
    said = [
        "The ferry to Hvar leaves at noon from pier seven.",
        "Marmalade wants Seville oranges and a slow stove.",
        "Nothing else happened on that day.",
    ]
    sessions = [
        {
            "session_id": f"s{day}",
            "messages": [
                {
                    "role": "user",
                    "name": "Jo",
                    "content": text,
                    "created_at": f"2026-05-0{day}T10:00:00",
                }
            ],
        }
        for day, text in enumerate(said, start=1)
    ]
    place.write_text(json.dumps({"sessions": sessions}), encoding="utf-8")
    done = run_demo("--conversation", str(place), "--workspace", str(tmp_path / "memory"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pier seven" in done.stdout.split("A new process")[1]
    assert "Seville oranges" in done.stdout.split("A new process")[1]


def by_the_rules(request: Request) -> Reply:
    step = decide(turns_of(request.messages), schemas_of(request.body.get("tools")))
    if isinstance(step, Call):
        return Reply(tool_calls=(ToolCall(step.tool, step.arguments),))
    return Reply(text=step.text)


def test_a_real_model_is_used_when_there_is_a_key(tmp_path: Path) -> None:
    with LoopbackProvider() as provider:
        provider.respond_with(by_the_rules)
        done = run_demo(
            "--workspace",
            str(tmp_path / "memory"),
            OPENAI_API_KEY="k",
            OPENAI_BASE_URL=provider.openai_url,
            REME_DEMO_MODEL="some-model",
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0] == "Model: some-model at OpenAI"
    assert {request.model for request in provider.chats} == {"some-model"}


def assert_says_one_sentence(done: subprocess.CompletedProcess[str], cause: str) -> None:
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout == ""
    [sentence] = done.stderr.splitlines()
    assert sentence.startswith("gpt-4o-mini at OpenAI gives no answer (")
    assert cause in sentence
    assert sentence.endswith("unset DASHSCOPE_API_KEY and OPENAI_API_KEY to use the stand-in.")


def test_a_wrong_key_is_told_in_one_sentence(tmp_path: Path) -> None:
    place = tmp_path / "memory"
    with LoopbackProvider() as provider:
        provider.respond_with(lambda _: Reply(status=401, message="Incorrect API key provided"))
        keys = {"OPENAI_API_KEY": "wrong", "OPENAI_BASE_URL": provider.openai_url}
        done = run_demo("--workspace", str(place), **keys)
    assert_says_one_sentence(done, "Incorrect API key provided")
    assert not place.exists()


def test_no_network_is_told_in_one_sentence(tmp_path: Path) -> None:
    with LoopbackProvider() as provider:
        nobody = provider.openai_url
    place = tmp_path / "memory"
    done = run_demo("--workspace", str(place), OPENAI_API_KEY="k", OPENAI_BASE_URL=nobody)
    assert_says_one_sentence(done, "Connection")
    assert not place.exists()


def test_a_model_that_fails_later_costs_no_traceback(tmp_path: Path) -> None:
    def only_once(request: Request) -> Reply:
        if len(provider.chats) == 1:
            return Reply(text="yes")
        return Reply(status=401, message="This key has expired")

    with LoopbackProvider() as provider:
        provider.respond_with(only_once)
        keys = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": provider.openai_url}
        done = run_demo("--workspace", str(tmp_path / "memory"), **keys)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("The demo stopped: AuthenticationError: ")


def test_it_says_where_the_memory_stays(bundled: Finished) -> None:
    assert bundled.process.stdout.splitlines()[-1] == f"The memory stays in {bundled.workspace}."


def test_without_a_workspace_it_stays_where_make_clean_removes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    makefile = (EXAMPLES.parent / "Makefile").read_text("utf-8")
    [removed] = re.findall(r"^clean:\n\trm -rf (.*)$", makefile, flags=re.M)
    assert EXAMPLES.parent / ".demo" == demo.KEPT
    assert ".demo" in removed.split()
    monkeypatch.setattr(demo, "KEPT", tmp_path / ".demo")
    workspace = demo._new_workspace()
    assert workspace.parent == tmp_path / ".demo"
    assert demo._how_to_remove(workspace) == "; `make clean` removes it."


def test_an_environment_that_was_left_half_made_is_begun_anew() -> None:
    makefile = (EXAMPLES.parent / "Makefile").read_text("utf-8")
    rules = re.findall(r"^\S+/\$\(STAMP\):.*\n((?:\t.*\n)+)", makefile, flags=re.M)
    assert any(".venv-demo" in rule for rule in rules)
    for first, *_, last in (rule.splitlines() for rule in rules):
        assert first.startswith("\t$(PYTHON) -m venv --clear ")
        assert last == "\ttouch $@"


def test_a_file_that_is_no_conversation_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "odd.json"
    place.write_text('{"hello": 1, "world": 2}', encoding="utf-8")
    done = run_demo("--conversation", str(place))
    assert done.returncode == 2
    assert f"{str(place)!r}: this is no conversation in a format that" in done.stderr


def test_the_tree_shows_what_a_person_would_open(tmp_path: Path) -> None:
    for name in ("daily/2026-06-18/a.md", "metadata/index.db", ".locks/commit"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert tree(tmp_path).splitlines()[1:] == ["  daily/", "    2026-06-18/", "      a.md"]
