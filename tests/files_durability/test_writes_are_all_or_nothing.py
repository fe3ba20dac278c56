from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agentscope_reme.errors import NotFound, StorageFailed
from agentscope_reme.files.disk import Disk, is_temporary, is_temporary_of
from tests.files_durability.failing_disk import FailingDisk


def test_a_file_is_replaced_and_its_folder_is_made(tmp_path: Path) -> None:
    place = tmp_path / "daily" / "2026-06-20" / "a.md"
    disk = Disk()
    disk.replace(place, b"one")
    disk.replace(place, b"two")
    assert disk.read(place) == b"two"
    assert os.listdir(place.parent) == ["a.md"]


def test_a_replace_costs_two_flushes(tmp_path: Path) -> None:
    disk = Disk()
    disk.replace(tmp_path / "a.md", b"one")
    assert disk.fsyncs == 2


def test_a_throw_away_workspace_is_never_flushed(tmp_path: Path) -> None:
    disk = Disk(fsync=False)
    disk.replace(tmp_path / "a.md", b"one")
    disk.append(tmp_path / "log", b"line\n")
    assert disk.fsyncs == 0


@pytest.mark.parametrize("name", ["a" * 252 + ".md", "\U0001f600" * 63, "\u4e2d" * 84])
def test_a_name_may_be_as_long_as_the_disk_allows(tmp_path: Path, name: str) -> None:
    disk = Disk()
    place = tmp_path / name
    disk.replace(place, b"one")
    unfinished = disk.stage(place, b"two")
    assert is_temporary_of(unfinished.name, place.name)
    disk.publish(unfinished, place)
    assert place.read_bytes() == b"two"


def test_the_mode_is_kept(tmp_path: Path) -> None:
    place = tmp_path / "a.md"
    place.write_bytes(b"one")
    place.chmod(0o640)
    Disk().replace(place, b"two")
    assert stat.S_IMODE(place.stat().st_mode) == 0o640


def test_the_mode_of_a_new_file_can_be_given(tmp_path: Path) -> None:
    Disk().replace(tmp_path / "a.md", b"one", mode=0o600)
    assert stat.S_IMODE((tmp_path / "a.md").stat().st_mode) == 0o600


def test_whichever_call_fails_the_old_file_stands(tmp_path: Path) -> None:
    place = tmp_path / "a.md"
    steps = _calls_of_a_replace(tmp_path)
    for failing in range(1, steps + 1):
        place.write_bytes(b"old")
        with pytest.raises(StorageFailed, match="No space left on device"):
            FailingDisk(failing).replace(place, b"new" * 1000)
        assert place.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["a.md"]
    assert steps == 6  # open, write, fsync, replace, open folder, fsync folder


def test_the_error_names_path_and_cause(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed) as caught:
        FailingDisk(1).replace(tmp_path / "a.md", b"new")
    assert "a.md" in str(caught.value)
    assert "No space left on device" in str(caught.value)
    assert isinstance(caught.value.__cause__, OSError)


def test_whichever_call_fails_a_log_keeps_its_length(tmp_path: Path) -> None:
    place = tmp_path / "log.jsonl"
    place.write_bytes(b"first\n")
    for failing in (1, 2, 3):
        with pytest.raises(StorageFailed):
            FailingDisk(failing).append(place, b"second\n")
        assert place.read_bytes() == b"first\n"


def test_an_append_is_one_flush_and_one_more_on_creation(tmp_path: Path) -> None:
    disk = Disk()
    disk.append(tmp_path / "log", b"one\n")
    assert disk.fsyncs == 2
    disk.append(tmp_path / "log", b"two\nthree\n")
    assert disk.fsyncs == 3


def test_a_torn_tail_never_joins_the_next_line(tmp_path: Path) -> None:
    place = tmp_path / "log"
    place.write_bytes(b'{"whole": 1}\n{"to')
    Disk().append(place, b'{"next": 2}\n')
    assert place.read_bytes() == b'{"whole": 1}\n{"to\n{"next": 2}\n'


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    place = tmp_path / "a.md"
    place.write_bytes(b"old")
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from agentscope_reme.errors import StorageFailed\n"
        "from agentscope_reme.files.disk import Disk\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "for call in (Disk().replace, Disk().append):\n"
        "    try: call(Path(sys.argv[1]), b'x' * 10000)\n"
        "    except StorageFailed as error: print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(place)], capture_output=True, text=True, check=True
    )
    assert run.stdout.count("File too large") == 2
    assert place.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.md"]


def test_a_place_below_a_file_is_refused_with_the_cause(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageFailed, match=r"Not a directory|File exists"):
        Disk().replace(tmp_path / "file" / "a.md", b"new")


def test_reading_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        Disk().read(tmp_path / "a.md")
    with pytest.raises(StorageFailed, match="Is a directory"):
        Disk().read(tmp_path)


def test_unfinished_files_are_hidden_and_known_by_name(tmp_path: Path) -> None:
    temporary = Disk().stage(tmp_path / ("long" * 60 + ".md"), b"half")
    assert temporary.name.startswith(".")
    assert is_temporary(temporary.name)
    assert not is_temporary("notes.tmp")
    assert not is_temporary(".hidden.tmp")


class _NoLinks(Disk):
    def _link(self, src: Path, dst: Path) -> None:
        raise PermissionError(1, "Operation not permitted")


def test_where_links_are_not_supported_a_copy_is_made(tmp_path: Path) -> None:
    src, dst = tmp_path / "a", tmp_path / "blobs" / "b"
    src.write_bytes(b"data")
    src.chmod(0o640)
    _NoLinks().link_or_copy(src, dst)
    assert dst.read_bytes() == b"data"
    assert dst.stat().st_ino != src.stat().st_ino
    assert stat.S_IMODE(dst.stat().st_mode) == 0o640


def test_a_link_survives_the_replacing_of_the_file(tmp_path: Path) -> None:
    src, dst = tmp_path / "a", tmp_path / "b"
    src.write_bytes(b"old")
    disk = Disk()
    disk.link_or_copy(src, dst)
    disk.link_or_copy(src, dst)
    disk.replace(src, b"new")
    assert dst.read_bytes() == b"old"


def test_rename_and_remove(tmp_path: Path) -> None:
    disk = Disk()
    disk.replace(tmp_path / "a", b"1")
    disk.rename(tmp_path / "a", tmp_path / "deep" / "b")
    disk.remove(tmp_path / "deep" / "b")
    with pytest.raises(NotFound):
        disk.remove(tmp_path / "deep" / "b")


def _calls_of_a_replace(folder: Path) -> int:
    disk = FailingDisk()
    (folder / "a.md").write_bytes(b"old")
    disk.replace(folder / "a.md", b"new")
    return disk.calls
