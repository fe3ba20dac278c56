"""The page holds what the files say, as data that cannot run, and reaches nowhere."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadInput
from agentscope_reme.view.page_file import page_of, write_page
from tests.view.conftest import HOSTILE, PNG


def shown(html: bytes) -> dict[str, Any]:
    """What the script unpacks."""
    packed = re.search(rb'<script id="memory" type="text/plain">(.*?)</script>', html, re.DOTALL)
    assert packed is not None
    unpacked: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    return unpacked


async def test_every_text_with_its_links_and_turns(lived_in: ReMe) -> None:
    html, count = await page_of(lived_in)
    page = shown(html)
    files = {file["path"]: file for file in page["files"]}
    assert count == len(files)
    assert {"daily/2026-06-19/talk.md", "digest/personal/zebra.md"} <= set(files)
    card = files["daily/2026-06-19/talk.md"]
    assert (card["name"], card["tags"], card["date"]) == ("Zebra talk", ["animals"], "2026-06-19")
    assert card["links"] == ["session/dialog/talk.jsonl"]
    turns = files["session/dialog/talk.jsonl"]["turns"]
    assert [turn["text"] for turn in turns][1:] == ["斑马 sleeps in the vault at nine.", HOSTILE]
    lines = (lived_in.workspace.root / "session/dialog/talk.jsonl").read_text().splitlines()
    assert all(json.loads(lines[turn["line"] - 1])["role"] == turn["role"] for turn in turns)
    picture = base64.b64encode(PNG).decode()
    assert page["images"] == {"resource/2026-06-19/cup.png": f"data:image/png;base64,{picture}"}


async def test_nothing_of_the_memory_stands_in_the_page_as_markup(lived_in: ReMe) -> None:
    html, _ = await page_of(lived_in)
    assert b"onerror" not in html
    assert html.count(b"<script") == 2


async def test_the_policy_names_exactly_the_script_and_the_style(lived_in: ReMe) -> None:
    html, _ = await page_of(lived_in)
    policy = re.search(rb'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    for tag in (b"<style>", b"<script>"):
        inner = html.split(tag)[1].split(b"</")[0] if tag == b"<style>" else None
        body = inner if inner is not None else html.split(tag)[1].rsplit(b"</script>", 1)[0]
        digest = base64.b64encode(hashlib.sha256(body).digest())
        assert b"'sha256-" + digest + b"'" in policy[1]
    assert policy[1].startswith(b"default-src 'none';")
    assert b"connect-src" not in policy[1]  # so `default-src` holds
    assert b"unsafe" not in policy[1]


async def test_what_is_derived_deleted_or_of_others_is_not_in_it(lived_in: ReMe) -> None:
    await lived_in.write("digest/wiki/gone.md", "Deleted secret.\n")
    await lived_in.delete("digest/wiki/gone.md")
    root = lived_in.workspace.root
    (root / "users" / "ann").mkdir(parents=True)
    (root / "users" / "ann" / "note.md").write_text("Ann's.")
    page = json.dumps(shown((await page_of(lived_in))[0]))
    assert "Deleted secret" not in page
    assert "Ann's" not in page


async def test_large_and_binary_files_are_named(memory: ReMe) -> None:
    root = memory.workspace.root / "resource"
    (root / "big.txt").write_text("word " * 100_000)
    (root / "data.bin").write_bytes(bytes(4000))
    (root / "huge.png").write_bytes(PNG + bytes(9 * 1024**2))
    (root / "drawing.svg").write_text("<svg onload='alert(1)'/>")
    page = shown((await page_of(memory))[0])
    (big,) = [file for file in page["files"] if file["path"] == "resource/big.txt"]
    assert (big["cut"], len(big["text"])) == (500_000, 256 * 1024)
    assert sorted(page["left_out"]) == ["resource/data.bin", "resource/huge.png"]
    assert page["images"] == {}


async def test_only_its_owner_may_read_the_file(lived_in: ReMe, tmp_path: Path) -> None:
    result = await write_page(lived_in, tmp_path / "page.html")
    place = Path(result.path)
    assert os.stat(place).st_mode & 0o077 == 0
    with pytest.raises(BadInput, match="something stands there"):
        await write_page(lived_in, place, overwrite=False)
    with pytest.raises(BadInput, match="in the memory itself"):
        await write_page(lived_in, lived_in.workspace.root / "daily" / "page.html")


async def test_an_empty_memory_has_a_page(memory: ReMe) -> None:
    page = shown((await page_of(memory))[0])
    assert (page["files"], page["images"], page["left_out"]) == ([], {}, [])


async def test_half_a_character_does_not_spoil_the_page(memory: ReMe) -> None:
    log = memory.workspace.root / "session" / "dialog" / "talk.jsonl"
    log.parent.mkdir(parents=True)
    block = r'{"type": "text", "text": "half a \ud83d character"}'
    log.write_text(f'{{"id": "1", "role": "user", "blocks": [{block}]}}\n')
    html, _ = await page_of(memory)
    (file,) = shown(html)["files"]
    assert [turn["text"] for turn in file["turns"]] == ["half a ? character"]


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16"])
@pytest.mark.parametrize("shift", [0, 1, 2])
async def test_a_long_text_is_cut_between_characters(
    memory: ReMe, encoding: str, shift: int
) -> None:
    place = memory.workspace.root / "digest" / "wiki" / "long.md"
    place.parent.mkdir(parents=True)
    place.write_bytes(("a" * shift + "你好" * 150_000).encode(encoding))
    html, _ = await page_of(memory)
    (file,) = shown(html)["files"]
    assert file["cut"] == place.stat().st_size
    assert set(file["text"]) <= set("a你好\ufeff")
