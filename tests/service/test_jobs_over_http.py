"""``POST /<job>`` does what the call of `ReMe` does, and says in a status why it did not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentscope_reme.jobs import DESTRUCTIVE_JOBS, READING_JOBS, jobs
from agentscope_reme.results import SearchResult
from tests.service.conftest import SECRET
from tests.service.processes import Service, running


def test_what_is_written_is_found(writable: Service) -> None:
    card = {"path": "digest/wiki/stone.md", "content": "zirconia is hard", "metadata": {"v": 1}}
    written = writable.ask("/write", card)
    assert (written.status, written.json()["created"]) == (200, True)
    found = writable.ask("/search", {"query": "zirconia", "limit": 3})
    assert SearchResult.model_validate_json(found.body).hits[0].path == "digest/wiki/stone.md"
    assert (writable.workspace / "digest/wiki/stone.md").read_text("utf-8").endswith("hard\n")


@pytest.mark.parametrize(
    ("job", "arguments", "status", "told"),
    [
        ("serach", {"query": "a"}, 404, "'serach': no such job. Did you mean search?"),
        ("daily-list", {}, 404, "'daily-list': no such job. Did you mean daily_list"),
        ("xyz", {}, 404, "'xyz': no such job. There are "),
        ("search", {}, 400, "'query': `search` needs this key"),
        ("search", {"query": "a", "limt": 3}, 400, "Did you mean limit?"),
        ("undo", {"id": "1"}, 400, "Did you mean change_id?"),
        ("remember", {"statement": "x"}, 400, "Did you mean text?"),
        ("search", {"query": "a", "limit": "three"}, 400, "limit: Input should be a valid integer"),
        ("search", {"query": "a", "limit": "3"}, 400, "limit"),
        ("search", {"query": "a", "limit": True}, 400, "limit"),
        ("search", {"query": "a", "limit": -1}, 400, "limit"),
        ("search", {"query": "a", "fusion": "best"}, 400, "fusion"),
        ("search", {"query": "a", "tags": [1]}, 400, "tags"),
        ("read", {"path": "../../etc/passwd"}, 400, "climbs out"),
        ("read", {"path": "digest/wiki/none.md"}, 404, "no such file"),
        ("auto_dream", {}, 501, "REME_LLM_API_KEY"),
        ("auto_memory_cc", {"session_id": "a", "projects_dir": "/etc"}, 400, "projects_dir"),
    ],
)
def test_a_refusal_has_a_status_and_names_what_it_refuses(
    shared: Service, job: str, arguments: object, status: int, told: str
) -> None:
    answer = shared.ask(f"/{job}", arguments)
    assert (answer.status, answer.json()["success"]) == (status, False)
    assert told in answer.json()["answer"]


def test_a_conflict_carries_what_stands_there_now(shared: Service) -> None:
    path = "digest/wiki/secret.md"
    known = shared.ask("/read", {"path": path}).json()["content_hash"]
    stale = {"path": path, "content": "other", "expected_hash": "0" * 64}
    answer = shared.ask("/write", stale)
    assert (answer.status, answer.json()["error"]) == (409, "Conflict")
    assert answer.json()["current_hash"] == known


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"[]", "one JSON object"),
        (b'"query"', "one JSON object"),
        (b'{"query": "a", "query": "b"}', "twice"),
        (b'{"query": NaN}', "NaN"),
        (b'{"query": "a", "min_score": 1e999}', "too large a number"),
        (b'{"query": "\\ud800"}', "surrogates not allowed"),
        (b'{"query": "a", "filters": {"a": ["\\udc00"]}}', "'filters'"),
        (b'{"query": "\xff"}', "utf-8"),
        (b'{"query": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"limit": 1' + b"0" * 5000 + b', "query": "a"}', "digits"),
    ],
)
def test_a_body_must_be_one_unambiguous_object(shared: Service, body: bytes, told: str) -> None:
    answer = shared.ask("/search", body)
    assert (answer.status, answer.json()["error"]) == (400, "BadInput")
    assert told in answer.json()["answer"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": None},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Encoding": "gzip"},
    ],
)
def test_a_body_must_say_that_it_is_json(shared: Service, headers: dict[str, str | None]) -> None:
    assert shared.ask("/status", {}, headers=headers).status == 415


def test_health_needs_no_token_and_says_nothing_else(shared: Service) -> None:
    answer = shared.ask("/health", method="GET", headers={"Authorization": None})
    assert (answer.status, answer.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/search", 405),
        ("DELETE", "/search", 405),
        ("PUT", "/health", 405),
        ("POST", "/openapi.json", 404),
        ("GET", "/", 404),
        ("POST", "/", 404),
        ("POST", "/search/", 404),
        ("POST", "/a/b", 404),
        ("GET", "/mcp", 405),
    ],
)
def test_other_ways_to_ask_are_told_in_json(
    shared: Service, method: str, path: str, status: int
) -> None:
    answer = shared.ask(path, {}, method=method)
    assert (answer.status, answer.json()["success"]) == (status, False)


def test_only_chosen_jobs_are_served(folder: Path) -> None:
    with running(folder, 'jobs=["search","write"]', "read_only=true") as service:
        assert service.ask("/search", {"query": "a"}).status == 200
        assert service.ask("/write", {"path": "a.md", "content": "x"}).status == 404
        document = service.ask("/openapi.json", method="GET").json()
        assert set(document["paths"]) == {"/search", "/health"}


def test_a_service_of_a_user_serves_that_user(folder: Path) -> None:
    with running(folder) as everybody, running(folder, "user=ann") as ann:
        assert ann.workspace == everybody.workspace / "users/ann"
        for service, secret in ((everybody, SECRET), (ann, "quagga")):
            card = {"path": "digest/wiki/a.md", "content": secret}
            assert service.ask("/write", card).status == 200
        assert SECRET not in ann.ask("/search", {"query": SECRET}).body.decode()
        assert "quagga" not in everybody.ask("/search", {"query": "quagga"}).body.decode()
        assert everybody.ask("/status", {}, headers=with_token_of(ann)).status == 401
        for name in ("user", "workspace_dir"):
            assert everybody.ask("/search", {"query": "a", name: "ann"}).status == 400


def with_token_of(service: Service) -> dict[str, str | None]:
    return {"Authorization": f"Bearer {service.token}"}


def test_every_job_says_whether_it_changes_anything() -> None:
    assert set(jobs()) >= READING_JOBS | DESTRUCTIVE_JOBS
    assert not READING_JOBS & DESTRUCTIVE_JOBS


def test_answers_are_never_kept_by_anybody(shared: Service) -> None:
    headers = shared.ask("/status", {}).headers
    assert headers["cache-control"] == "no-store"
    assert not [
        name for name in headers if name.startswith("access-control") or name == "set-cookie"
    ]


def test_progress_comes_before_the_result(writable: Service) -> None:
    for number in range(5):
        card = {"path": f"digest/procedure/{number}.md", "content": f"card {number}"}
        assert writable.ask("/write", card).status == 200
    told = writable.ask("/reindex", {}, headers={"Accept": "text/event-stream"})
    events = [block.split("\n") for block in told.body.decode().split("\n\n") if block]
    named = [(lines[0], json.loads(lines[1].removeprefix("data: "))) for lines in events]
    steps = [data for name, data in named if name == "event: progress"]
    assert steps
    assert all(step["what"] == "files" and step["total"] >= 5 for step in steps)
    assert named[-1][0] == "event: result"
    assert named[-1][1]["status"] == 200
    assert named[-1][1]["result"]["files"] == steps[-1]["total"]
