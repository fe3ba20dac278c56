"""One odd file among the session logs is named and passed over; everything else goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentscope_reme import ReMe, Settings
from agentscope_reme.errors import BadPath

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


def a_link_to_somebody_elses(place: Path) -> None:
    foreign = place.parents[3] / "foreign.jsonl"
    foreign.write_text('{"type":"session","session_id":"theirs"}\n' + LINE)
    place.symlink_to(foreign)


ODD = [a_folder, header(""), header(" "), header(".."), a_dangling_link, a_link_to_somebody_elses]


@pytest.mark.parametrize("put", ODD)
async def test_the_calls_go_on_and_doctor_names_it(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    root = tmp_path / "memory"
    async with ReMe(root, settings=QUIET) as reme:
        await reme.record("s", [{"role": "user", "content": "hello"}])
        put(root / "session/dialog/odd.jsonl")
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


async def test_a_session_whose_name_leads_out_gets_another(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    async with ReMe(root, settings=QUIET) as reme:
        await reme.record("s", [{"role": "user", "content": "hello"}])
        a_link_to_somebody_elses(root / "session/dialog/theirs.jsonl")
        await reme.record("theirs", [{"role": "user", "content": "hi"}])
        assert (await reme.status()).pending_sessions == ["s", "theirs"]
    assert "hi" not in (tmp_path / "foreign.jsonl").read_text()


async def test_a_folder_of_logs_that_leads_out_costs_the_recording_alone(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "memory", tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with ReMe(root, settings=QUIET) as reme:
        (root / "session").mkdir(exist_ok=True)
        (root / "session/dialog").symlink_to(elsewhere)
        (elsewhere / "x.jsonl").write_text(LINE)
        assert (await reme.status()).pending_sessions == []
        assert (await reme.auto_memory()).success
        with pytest.raises(BadPath, match="leaves the workspace"):
            await reme.record("s", [{"role": "user", "content": "hello"}])
    assert [place.name for place in elsewhere.iterdir()] == ["x.jsonl"]
