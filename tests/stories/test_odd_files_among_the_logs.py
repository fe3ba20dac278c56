"""One odd file among the session logs is named and passed over; everything else goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings

QUIET = Settings(fsync=False, watch=False)
LINE = '{"role":"user","name":"u","blocks":[]}\n'


def a_folder(place: Path) -> None:
    place.mkdir()


def header(session_id: str) -> Callable[[Path], None]:
    def put(place: Path) -> None:
        place.write_text(f'{{"type":"session","session_id":"{session_id}"}}\n{LINE}')

    return put


def a_dangling_link(place: Path) -> None:
    place.symlink_to("nowhere.jsonl")


@pytest.mark.parametrize("put", [a_folder, header(""), header(" "), header(".."), a_dangling_link])
async def test_the_calls_go_on_and_doctor_names_it(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    async with ReMe(tmp_path, settings=QUIET) as reme:
        await reme.record("s", [{"role": "user", "content": "hello"}])
        put(tmp_path / "session/dialog/odd.jsonl")
        assert (await reme.status()).pending_sessions == ["s"]
        assert (await reme.auto_memory()).answer
        found = [difference.item for difference in (await reme.doctor()).differences]
        assert "session/dialog/odd.jsonl" in found
        assert (await reme.record("t", [{"role": "user", "content": "hi"}])).appended == 1


async def test_a_session_whose_name_a_folder_took_gets_another(tmp_path: Path) -> None:
    async with ReMe(tmp_path, settings=QUIET) as reme:
        (tmp_path / "session/dialog/odd.jsonl").mkdir(parents=True)
        await reme.record("odd", [{"role": "user", "content": "hi"}])
        assert (await reme.status()).pending_sessions == ["odd"]


async def test_a_file_named_like_no_session_is_passed_over(tmp_path: Path) -> None:
    async with ReMe(tmp_path, settings=QUIET) as reme:
        (tmp_path / "session/dialog").mkdir(parents=True)
        (tmp_path / "session/dialog/%2E%2E.jsonl").write_text(LINE)
        assert (await reme.status()).pending_sessions == []
