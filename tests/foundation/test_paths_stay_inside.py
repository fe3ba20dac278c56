"""Every path a caller gives stays inside the workspace, or is refused with the way out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.errors import BadInput, BadPath
from agentscope_reme.workspace import Workspace, encode_name, hashed_name, is_plain

REFUSED = [
    "../x.md",
    "a/../../x.md",
    "/etc/passwd",
    "~/x.md",
    "daily/../../x",
    "C:\\x.md",
    "a\u0000b.md",
    "metadata/index.db",
    "Metadata/index.db",
    "journal/2026-06.jsonl",
    "trash/x.md",
    "users/mei/daily/x.md",
    ".locks/commit",
    "daily/.hidden.md",
    "",
    "   ",
    ".",
    "./",
    "CON.md",
    "daily/nul",
    "daily/com1.txt",
    "daily/trailing.",
    "daily/ blank.md",
    "what?.md",
    "a" * 256,
    "a/" * 600 + "x",
    "lone\ud800surrogate.md",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "memory")
    made.create()
    return made


@pytest.mark.parametrize("path", REFUSED)
def test_an_unsafe_path_is_refused_with_a_way_out(workspace: Workspace, path: str) -> None:
    with pytest.raises(BadPath, match="Use a path relative to the workspace"):
        workspace.locate(path)


@pytest.mark.parametrize("path", ["../x.md", "a/../../x.md", "daily/../../x", ".."])
def test_a_path_that_climbs_out_is_called_that(workspace: Workspace, path: str) -> None:
    with pytest.raises(BadPath, match="climbs out of its folder"):
        workspace.normalise(path)


@pytest.mark.parametrize(
    ("given", "kept"), [("./a.md", "a.md"), ("a//b.md", "a/b.md"), (" a.md ", "a.md")]
)
def test_equal_spellings_become_one(workspace: Workspace, given: str, kept: str) -> None:
    assert workspace.normalise(given) == kept


def test_a_symlink_that_leads_out_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (workspace.root / "link-out").symlink_to(tmp_path / "outside")
    (workspace.root / "link-in").symlink_to(workspace.root / "daily")
    with pytest.raises(BadPath, match="a symlink on this path leaves the workspace"):
        workspace.locate("link-out/x.md")
    assert workspace.locate("link-in/x.md") == workspace.root / "link-in/x.md"


@given(st.text())
def test_no_text_leads_outside(text: str) -> None:
    workspace = Workspace("/memory-that-does-not-exist")
    try:
        place = workspace.locate(text)
    except BadPath:
        return
    assert workspace.root in place.resolve().parents


@given(st.text(min_size=1))
def test_an_id_becomes_a_plain_file_name(name: str) -> None:
    try:
        encoded = encode_name(name)
    except BadInput:
        return
    assert "/" not in encoded
    assert "\\" not in encoded
    assert encoded not in (".", "..")
    assert not encoded.startswith(".")
    assert len(encoded.encode()) <= 120
    encoded.encode("utf-8")


@given(st.text(min_size=1), st.text(min_size=1))
def test_two_ids_never_share_a_name(first: str, second: str) -> None:
    import unicodedata

    try:
        names = encode_name(first), encode_name(second)
    except BadInput:
        return
    same = unicodedata.normalize("NFC", first) == unicodedata.normalize("NFC", second)
    assert (names[0] == names[1]) == same


def test_ids_of_any_script_stay_readable() -> None:
    assert encode_name("用户:alice/会话 1") == "用户%3Aalice%2F会话%201"
    assert encode_name("नमस्ते") == "नमस्ते"
    assert encode_name("plan.v2_final-1") == "plan.v2_final-1"


def test_long_and_reserved_ids_get_a_hash() -> None:
    long = encode_name("长" * 100)
    assert len(long.encode()) <= 120
    assert long == hashed_name("长" * 100, "长" * 100)
    assert encode_name("CON") == hashed_name("CON", "CON")


@pytest.mark.parametrize("name", ["", "  ", "..", ".", "../../etc/x", "a/../b", "a\\..\\b"])
def test_an_id_that_names_no_file_is_refused(name: str) -> None:
    with pytest.raises(BadInput):
        encode_name(name)


@pytest.mark.parametrize("user", ["", ".", "..", "../bob"])
def test_an_empty_or_dotted_user_is_refused(tmp_path: Path, user: str) -> None:
    with pytest.raises(BadInput, match="user"):
        Workspace(tmp_path, user=user)


def test_users_live_in_workspaces_of_their_own(tmp_path: Path) -> None:
    mei, bob = Workspace(tmp_path, user="mei"), Workspace(tmp_path, user="bob/x")
    assert mei.root == tmp_path.resolve() / "users/mei"
    assert bob.root == tmp_path.resolve() / "users/bob%2Fx"


@given(st.text(alphabet="aC.0-_ ~:é\0\\", max_size=70) | st.sampled_from(["con.md", "LPT1", "a."]))
def test_a_plain_name_is_one_that_is_taken_as_it_stands(name: str) -> None:
    if is_plain(name) and name:
        assert Workspace(".").normalise(f"daily/{name}") == f"daily/{name}"


@pytest.mark.parametrize("name", ["con.md", "LPT1", ".a", "a.", "a ", "a:b", "x" * 300])
def test_an_odd_name_is_not_plain(name: str) -> None:
    assert not is_plain(name)
