"""``agentscope-reme <job> key=value`` as a process of its own: what it prints and how it ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentscope_reme.cli import main
from agentscope_reme.cli.catalogue import catalogue
from agentscope_reme.jobs import MODEL_JOBS, READING_JOBS, jobs
from tests.loopback import LoopbackProvider, Reply, Request

TURNS = [{"id": "m1", "role": "user", "content": "The zebra vault opens at nine."}]


def run(folder: Path, *words: str, said: str = "", **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "agentscope_reme.cli", *words],
        cwd=folder,
        input=said,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "REME_LLM_API_KEY": "", **environment},
    )
    return done.returncode, done.stdout, done.stderr


def test_what_one_process_writes_another_finds(tmp_path: Path) -> None:
    assert run(tmp_path, "write", "path=digest/wiki/a.md", "content=zirconia is hard")[0] == 0
    code, out, _ = run(tmp_path, "search", "query=zirconia", "limit=3", "--json")
    found = json.loads(out)
    assert (code, found["hits"][0]["path"]) == (0, "digest/wiki/a.md")
    assert (tmp_path / ".reme" / "digest").is_dir()


def test_turns_come_from_a_file_or_from_standard_input(tmp_path: Path) -> None:
    (tmp_path / "turns.json").write_text(json.dumps(TURNS), encoding="utf-8")
    for value, said in (("@turns.json", ""), ("-", json.dumps(TURNS))):
        code, out, _ = run(
            tmp_path, "auto_memory", f"messages={value}", "session_id=s", "--json", said=said
        )
        assert (code, json.loads(out)["pending"]) == (0, True)
    log = tmp_path / ".reme/session/dialog/s.jsonl"
    assert log.read_text("utf-8").count("zebra vault") == 1


def test_a_file_without_its_at_sign_is_pointed_out(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("[]")
    code, _, told = run(tmp_path, "auto_memory", "session_id=s", "messages=t.json")
    assert (code, "Write messages=@t.json to take it from that file." in told) == (2, True), told
    _, _, told = run(tmp_path, "auto_memory", "session_id=s", "messages=gone.json")
    assert "a list in JSON, or @file" in told


def test_a_nightly_job_takes_its_model_from_the_environment(
    tmp_path: Path, provider: LoopbackProvider
) -> None:
    def nothing_new(request: Request) -> Reply:
        return Reply(structured={"units": [], "topics": []})

    provider.respond_with(nothing_new)
    card = "---\nname: vault\ndescription: hours\n---\nThe vault opens at nine.\n"
    assert run(tmp_path, "write", "path=daily/2026-06-20/vault.md", f"content={card}")[0] == 0
    code, out, err = run(
        tmp_path,
        "auto_dream",
        "date=2026-06-20",
        REME_LLM_API_KEY="k",
        REME_LLM_MODEL_NAME="m",
        REME_LLM_BASE_URL=provider.openai_url,
    )
    assert (code, err) == (0, "")
    assert out.strip()
    assert any("The vault opens at nine." in text for r in provider.chats for text in r.texts)


def test_settings_and_users_belong_to_every_job(tmp_path: Path) -> None:
    run(tmp_path, "write", "path=digest/wiki/a.md", "content=zirconia", "user=ann")
    assert "zirconia" in run(tmp_path, "search", "query=zirconia", "user=ann")[1]
    assert "zirconia" not in run(tmp_path, "search", "query=zirconia", "user=bob")[1]
    assert run(tmp_path, "status", "settings.chunk_byte_size=500")[0] == 0
    rule = 'settings.forget_after_days={"session": 365}'
    assert run(tmp_path, "retention", "dry_run=false", rule)[0] == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["serch", "query=a"], "no such job. Did you mean search or node_search?"),
        (["x-y-z", "query=a"], "no such job. `agentscope-reme --help` lists them."),
        (["search"], "'query'"),
        (["search", "query=a", "limt=3"], "Did you mean limit?"),
        (["undo", "id=1"], "Did you mean change_id?"),
        (["remember", "statement=x"], "Did you mean text?"),
        (["remember", "text=x", "statement=y"], "It takes text"),
        (["auto_memory", "messages=[]"], "'session_id': "),
        (["search", "query=a", "limit=three"], "'limit=three': Input should be a valid integer"),
        (["search", "query=a", "query=b"], "given twice"),
        (["search", "query"], "key=value"),
        (["search", "query=@nowhere.txt"], "cannot be read"),
        (["status", "settings.chunk_size=5"], "chunk_byte_size"),
        (["status", "settings.forget_after_days={session: 5"], "no JSON"),
        (["status", f"settings.forget_after_days={'[' * 100_000}"], "no JSON"),
        (["edit", "path=-", "old=-", "new=x"], "once only"),
        (["search", "query=a", "tags=[1]"], "valid string"),
        (["record", "session_id=s", 'messages=[{"role":"user"},]'], "line 1"),
        (["record", "session_id=s", "messages=hello"], "'messages=hello'"),
        (["frontmatter_update", "path=a.md", 'metadata={"v": NaN}'], "NaN"),
        (["search", "query=a", "limit=-1"], "limit"),
        (["search", "query=a", "timezone=Nope/Zone"], "Nope/Zone"),
    ],
)
def test_bad_usage_ends_with_two_and_names_the_key(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    extra = [f"workspace_dir={tmp_path}"] if words[0] in jobs() else []
    assert main([*words, *extra]) == 2
    out, err = capsys.readouterr()
    assert (out, told in err) == ("", True), err


def test_a_search_that_finds_nothing_says_where_it_looked(tmp_path: Path) -> None:
    place = tmp_path / "other"
    place.mkdir()
    code, out, _ = run(tmp_path, "search", "query=zirconia", f"workspace_dir={place}")
    assert (code, "is empty" in out, str(place) in out) == (0, True, True)


WANTED = {"query": "a", "path": "a.md", "node": "a.md", "change_id": "1"}


@pytest.mark.parametrize("user", [(), ("user=ann",)], ids=["", "of a user"])
@pytest.mark.parametrize("name", [*sorted(READING_JOBS), "view", "export"])
def test_who_only_reads_makes_no_memory_and_says_where_it_looked(
    name: str, user: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "typo"
    needed = jobs()[name].required if name in READING_JOBS else []
    given = [f"{key}={WANTED[key]}" for key in needed]
    given += {"view": [f"to={tmp_path}/x.html"], "export": [f"to={tmp_path}/x.zip"]}.get(name, [])
    assert main([name, *given, f"workspace_dir={place}", *user]) == 1
    out, told = capsys.readouterr()
    assert (out, "there is no memory here" in told, str(place) in told) == ("", True, True), told
    assert list(tmp_path.iterdir()) == []


def test_who_writes_makes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "new"
    assert main(["remember", "text=Ann likes tea.", f"workspace_dir={place}"]) == 0
    assert main(["search", "query=tea", f"workspace_dir={place}", "--json"]) == 0
    assert "Ann likes tea." in capsys.readouterr().out


def test_config_without_an_action_is_told_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config"]) == 2
    assert "'config': the action is missing" in capsys.readouterr().err


def test_a_job_that_fails_ends_with_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REME_LLM_API_KEY", raising=False)
    assert main(["read", "path=daily/none.md", f"workspace_dir={tmp_path}"]) == 1
    assert main(["auto_dream", f"workspace_dir={tmp_path}"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "daily/none.md" in err
    assert "REME_LLM_API_KEY" in err


def test_lists_and_mappings_are_json(tmp_path: Path) -> None:
    assert run(tmp_path, "write", "path=digest/wiki/a.md", "content=zirconia")[0] == 0
    file = "path=digest/wiki/a.md"
    assert run(tmp_path, "frontmatter_update", file, 'metadata={"name": "x", "v": 1}')[0] == 0
    assert run(tmp_path, "frontmatter_delete", file, 'keys=["v"]')[0] == 0
    assert run(tmp_path, "remember", "text=hi", 'sources=["digest/wiki/a.md"]')[0] == 0
    text = (tmp_path / ".reme/digest/wiki/a.md").read_text("utf-8")
    assert ("name: x" in text, "v: 1" in text) == (True, False)


@pytest.mark.parametrize(
    "wrong", [{}, {"REME_LLM_MODEL_NAME": "m", "REME_LLM_BASE_URL": "nonsense"}]
)
def test_turns_are_saved_before_a_wrong_model_is_told(
    tmp_path: Path, wrong: dict[str, str]
) -> None:
    given = f"messages={json.dumps(TURNS)}"
    code, out, _ = run(
        tmp_path, "auto_memory", given, "session_id=s", REME_LLM_API_KEY="k", **wrong
    )
    assert (code, "REME_LLM_" in out) == (1, True)
    assert "zebra" in (tmp_path / ".reme/session/dialog/s.jsonl").read_text("utf-8")


def test_text_may_begin_with_an_at_sign(tmp_path: Path) -> None:
    assert run(tmp_path, "write", "path=digest/wiki/a.md", "content=@@alice said so")[0] == 0
    assert (tmp_path / ".reme/digest/wiki/a.md").read_text("utf-8") == "@alice said so\n"


def test_standard_input_must_be_text(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agentscope_reme.cli", "write", "path=a.md", "content=-"],
        cwd=tmp_path,
        input=b"\xff\xfe",
        capture_output=True,
        check=False,
    )
    assert (done.returncode, b"'content=-'" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "words", [["--json", "read", "path=a.md"], ["read", "path=a.md", "--json"]]
)
def test_a_refusal_is_json_where_json_was_asked_for(tmp_path: Path, words: list[str]) -> None:
    code, out, err = run(tmp_path, *words)
    assert (code, err) == (1, "")
    assert json.loads(out)["success"] is False


def test_a_full_device_does_not_undo_the_job(tmp_path: Path) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "agentscope_reme.cli", "write", "path=a.md", "content=x"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")


def test_words_a_terminal_cannot_show_are_escaped(tmp_path: Path) -> None:
    code, out, err = run(
        tmp_path, "write", "path=digest/wiki/ü.md", "content=ü", PYTHONIOENCODING="ascii"
    )
    assert (code, "\\xfc" in out, err) == (0, True, "")


@pytest.mark.parametrize("name", sorted(jobs()))
def test_every_job_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    told = capsys.readouterr().out
    assert jobs()[name].summary
    assert "`" not in told
    assert all(f"{key}=" in told for key in jobs()[name].types)


def test_help_says_what_a_key_takes_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "--help"]) == 0
    told = capsys.readouterr().out
    assert "query=  text (required)" in told
    assert "limit=  a whole number (default 5)" in told
    assert "tags=  a list of texts in JSON, or @file (optional)" in told
    assert "fusion=  rrf or score (optional)" in told
    assert "expand_links=  true or false (default true)" in told
    kinds = {key.told for entry in catalogue().jobs for key in entry.keys}
    kinds |= {key.told for key in catalogue().keys}
    assert not [
        kind for kind in kinds if re.search(r"[\[\]|_]|None|typing|collections|str\b", kind)
    ]


def test_help_lists_every_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    told = capsys.readouterr().out
    assert all(f"  {name} " in told for name in jobs())
    assert set(jobs()) >= MODEL_JOBS


def test_reindex_says_what_it_did(tmp_path: Path) -> None:
    assert run(tmp_path, "write", "path=digest/wiki/a.md", "content=zirconia")[0] == 0
    code, out, _ = run(tmp_path, "reindex")
    assert (code, "file" in out) == (0, True)
