"""Whatever is wrong with a configuration, what lets somebody in is not in the words about it."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path

import pytest

from agentscope_reme.cli import main
from agentscope_reme.configuration import load, shown
from agentscope_reme.errors import BadInput

KEY = "SEKRIT123"
FILES = {
    "reference": f'llm: {{api_key: "{KEY}${{"}}',
    "tag": f"llm:\n  api_key: !{KEY}\n",
    "alias": f"llm:\n  api_key: *{KEY}\n",
    "anchor": f"llm:\n  api_key: &{KEY} &{KEY} x\n",
    "braces": f"llm:\n  api_key: {{{KEY}}}\n",
    "mapping": f"llm:\n  api_key:\n    {KEY}: 1\n",
    "list": f"llm:\n  api_key: [{KEY}]\n",
    "address": f"llm:\n  api_key: k\n  model_name: m\n  base_url: u:{KEY}@host/v1?key={KEY}\n",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
@pytest.mark.parametrize("command", ["config show", "config show --json", "auto_dream"])
def test_in_a_file(home: Path, capsys: pytest.CaptureFixture[str], text: str, command: str) -> None:
    (home / "reme.yaml").write_text(text, "utf-8")
    main(command.split())
    said = capsys.readouterr()
    assert said.out + said.err
    assert KEY not in said.out + said.err


@pytest.mark.parametrize(
    "word",
    [
        f"--llm.api_key={KEY}",
        f"llm.api_key:{KEY}",
        f"={KEY}",
        f"llm.api_key=@{KEY}",
        f'vector_store.options={{"api_key": "{KEY}',
        f'llm.parameters={{"api_key": "{KEY}',
        f"llm.api_kye=[{KEY}",
        f"llm.stream={KEY}",
        f"embedding.dimensions={KEY}",
    ],
)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_behind_a_command(
    home: Path, capsys: pytest.CaptureFixture[str], word: str, more: list[str]
) -> None:
    assert main(["search", "query=x", word, *more]) == 2
    said = capsys.readouterr()
    assert KEY not in said.out + said.err


def test_in_what_goes_along_with_requests(tmp_path: Path) -> None:
    parameters = {"headers": {"x": f"Bearer {KEY}", "Cookie": KEY}, "temperature": 0.5}
    words = {"llm.parameters": json.dumps(parameters), "llm.base_url": f"u:{KEY}@host"}
    told = json.dumps([one.value for one in shown(load(words, environ={}, folder=tmp_path))])
    assert KEY not in told
    assert "0.5" in told


def test_small_files_that_are_endless(tmp_path: Path) -> None:
    names = "abcdefghijklmnopqrstuvwxyz"
    pairs = itertools.pairwise(names)
    bomb = "".join(f", &{new} {{x: *{old}, y: *{old}}}" for old, new in pairs)
    (tmp_path / "bomb.yaml").write_text(f"service:\n  jobs: [&a {{x: 1}}{bomb}]\n")
    for number in range(26):
        base = f"f{number + 1}.yaml"
        (tmp_path / f"f{number}.yaml").write_text(f"extends: [{base}, {base}]\n")
    (tmp_path / "f26.yaml").write_text("user: ann\n")
    begun = time.process_time()
    with pytest.raises(BadInput, match="more values than any configuration"):
        load({"config": "bomb.yaml"}, environ={}, folder=tmp_path)
    assert load({"config": "f0.yaml"}, environ={}, folder=tmp_path).user == "ann"
    assert time.process_time() - begun < 20  # either took hours


def test_a_circle_over_another_way(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "reme.yaml").write_text("extends: sub/../reme.yaml\n")
    with pytest.raises(BadInput, match="a file that extends itself"):
        load(environ={}, folder=tmp_path)


def test_no_tag_makes_an_object_however_deep(tmp_path: Path) -> None:
    text = "llm:\n  parameters: {y: [{z: !!python/name:os.system x}]}\n"
    (tmp_path / "reme.yaml").write_text(text)
    with pytest.raises(BadInput, match="a value of a kind of its own"):
        load(environ={}, folder=tmp_path)


def test_an_empty_key_chooses_no_service(tmp_path: Path) -> None:
    found = load(environ={"EMBEDDING_API_KEY": " "}, folder=tmp_path)
    assert found.embedding.base_url is None
