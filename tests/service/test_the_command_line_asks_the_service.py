"""A job is done by the running service, in the same words; without one, by the process itself."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from agentscope_reme.cli import one_job
from agentscope_reme.errors import ReMeError
from agentscope_reme.jobs import Job
from tests.loopback import LoopbackProvider, Reply, Request
from tests.service.conftest import Said
from tests.service.processes import Service, run, running

CARD = "---\nname: vault\ndescription: hours\n---\nThe vault opens at nine.\n"

SAME = [
    ["search", "query=zirconia"],
    ["search", "query=zirconia", "--json"],
    ["search", "query=zirconia", "limit=-1"],
    ["search"],
    ["read", "path=digest/wiki/a.md", "--json"],
    ["read", "path=digest/wiki/none.md"],
    ["read", "path=digest/wiki/none.md", "--json"],
    ["read", "path=../outside.md"],
    ["frontmatter_read", "path=digest/wiki/a.md"],
    ["list", "recursive=true"],
    ["list_tags"],
    ["status"],
    ["reindex"],
    ["auto_dream"],
    ["auto_memory"],
    ["search", "query=-"],
]


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Path]]:
    """A service with a card, and the folder it was started in."""
    folder = tmp_path_factory.mktemp("beside")
    with running(folder) as service:
        card = {"path": "digest/wiki/a.md", "content": "zirconia is hard", "name": "stone"}
        assert service.ask("/write", card).status == 200
        yield service, folder


@pytest.fixture
def here(command: Callable[..., Said], beside: tuple[Service, Path]) -> Callable[..., Said]:
    """The command line in the folder of the service."""
    return partial(command, beside[1])


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the command line from doing a job itself."""

    async def working(job: Job, _: object) -> NoReturn:
        raise ReMeError(job.name, "it is done here", "Let the service do it.")

    monkeypatch.setattr(one_job, "_result", working)


@pytest.mark.parametrize("words", SAME, ids=" ".join)
def test_the_answer_is_the_same_whoever_gives_it(
    here: Callable[..., Said], words: list[str], request: pytest.FixtureRequest
) -> None:
    alone = here(*words, "service=off")
    request.getfixturevalue("idle")
    assert "it is done here" not in alone[2]
    assert here(*words) == alone


def test_what_is_no_json_is_judged_here(here: Callable[..., Said]) -> None:
    words = ["search", "query=zirconia", "min_score=NaN"]
    assert here(*words) == here(*words, "service=off")


@pytest.mark.usefixtures("idle")
def test_what_was_written_through_it_stands_there(
    here: Callable[..., Said], beside: tuple[Service, Path]
) -> None:
    turns = json.dumps([{"id": "m1", "role": "user", "content": "The zebra vault."}])
    done = here("auto_memory", f"messages={turns}", "session_id=s")
    assert done[0] == 0, done
    log = beside[0].workspace / "session/dialog/s.jsonl"
    assert "zebra vault" in log.read_text("utf-8")


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(
    "words",
    [
        ["service=off"],
        ["settings.chunk_byte_size=500"],
        ["language=zh"],
        ["timezone=Asia/Shanghai"],
        ["llm.api_key=k", "llm.model_name=m"],
        ["user=ann"],
        ["workspace_dir=other"],
    ],
    ids=" ".join,
)
def test_what_it_would_do_otherwise_is_done_here(
    here: Callable[..., Said], words: list[str]
) -> None:
    assert "it is done here" in here("reindex", *words)[2]  # makes a memory where there is none


@pytest.mark.usefixtures("idle")
def test_what_the_caller_names_on_disk_is_read_by_the_caller(here: Callable[..., Said]) -> None:
    assert "it is done here" in here("auto_memory_cc", "session_id=s", "projects_dir=x")[2]


def test_there_is_no_third_way(here: Callable[..., Said]) -> None:
    code, _, said = here("status", "service=maybe")
    assert (code, "'service=maybe'" in said) == (2, True)


def test_nothing_heavy_is_loaded_to_ask(beside: tuple[Service, Path]) -> None:
    (beside[1] / "sitecustomize.py").write_text(
        "import sys\nsys.modules['agentscope_reme.reme'] = None\n", encoding="utf-8"
    )
    code, out, said = run(beside[1], "search", "query=zirconia", PYTHONPATH=str(beside[1]))
    assert (code, "zirconia is hard" in out, said) == (0, True, "")


def test_what_a_killed_service_left_is_not_trusted(
    folder: Path, command: Callable[..., Said]
) -> None:
    with running(folder) as service:
        card = {"path": "digest/wiki/a.md", "content": "zirconia"}
        assert service.ask("/write", card).status == 200
        service.stop(signal.SIGKILL)
        assert (service.workspace / ".locks/service.json").exists()
        with socket.create_server(("127.0.0.1", service.port)) as stranger:
            stranger.settimeout(0.2)
            assert "zirconia" in command(folder, "search", "query=zirconia")[1]
            with pytest.raises(TimeoutError):
                stranger.accept()
    with running(folder) as next_one:
        assert next_one.ask("/search", {"query": "zirconia"}).json()["hits"]


def test_a_service_that_dies_at_work_is_told(folder: Path, provider: LoopbackProvider) -> None:
    model = {
        "REME_LLM_API_KEY": "k",
        "REME_LLM_MODEL_NAME": "m",
        "REME_LLM_BASE_URL": provider.openai_url,
    }
    with running(folder, **model) as service:
        card = {"path": "daily/2026-06-20/vault.md", "content": CARD}
        assert service.ask("/write", card).status == 200

        def killing(request: Request) -> Reply:
            os.kill(service.process.pid, signal.SIGKILL)
            return Reply(structured={"units": [], "topics": []})

        provider.respond_with(killing)
        code, out, said = run(folder, "auto_dream", "date=2026-06-20", **model)
        assert (code, out, "went away while it was at work" in said) == (1, "", True)


def test_a_service_that_is_asked_to_end_finishes_its_jobs(
    folder: Path, provider: LoopbackProvider
) -> None:
    model = {
        "REME_LLM_API_KEY": "k",
        "REME_LLM_MODEL_NAME": "m",
        "REME_LLM_BASE_URL": provider.openai_url,
    }
    with running(folder, **model) as service:
        card = {"path": "daily/2026-06-20/vault.md", "content": CARD}
        assert service.ask("/write", card).status == 200
        refusing = threading.Event()

        def ending(request: Request) -> Reply:
            service.process.send_signal(signal.SIGTERM)
            while not refusing.is_set():
                try:
                    socket.create_connection(("127.0.0.1", service.port)).close()
                except OSError:
                    refusing.set()  # it has stopped listening, and still works
            return Reply(structured={"units": [], "topics": []})

        provider.respond_with(ending)
        code, _, said = run(folder, "auto_dream", "date=2026-06-20", **model)
        assert (code, said) == (0, "")
        assert any("opens at nine" in text for r in provider.chats for text in r.texts)
        assert refusing.is_set()
        assert service.process.wait(30) == 0
        assert not (service.workspace / ".locks/service.json").exists()
