"""Rights come from code: what each actor may read and change."""

from __future__ import annotations

import pytest

from agentscope_reme.errors import BadInput, BadPath
from agentscope_reme.tools import AGENT, OWNER, Scope, card_scope
from tests.tools.conftest import Desk

CARD = card_scope(actor="auto_memory", day="2026-06-20", session_id="a")

REFUSED = [
    "../x.md",
    "a/../../x.md",
    "/etc/passwd",
    "~/x.md",
    "daily/../../x",
    "C:\\x.md",
    "a\0b.md",
    "metadata/index.db",
    "METADATA/index.db",
    "journal/2026-06.jsonl",
    "trash/x.md",
    "users/bob/x.md",
    ".locks/commit",
    "",
    ".",
    "CON.md",
    "daily/nul",
    "x" * 300 + ".md",
    "link-out/x.md",
]


@pytest.mark.parametrize("scope", [OWNER, AGENT, CARD], ids=lambda scope: scope.actor)
@pytest.mark.parametrize("path", REFUSED)
def test_unsafe_paths_are_refused_by_every_call(desk: Desk, scope: Scope, path: str) -> None:
    outside = desk.workspace.root.parent / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("secret")
    (desk.workspace.root / "link-out").symlink_to(outside)
    files = desk.operations(scope)
    desk.put("a.md", "a\n")

    for call in (
        files.read,
        files.read_image,
        files.stat,
        files.delete,
        files.frontmatter_read,
        lambda p: files.write(p, "x"),
        lambda p: files.edit(p, "a", "b"),
        lambda p: files.move(p, "daily/y.md"),
        lambda p: files.move("a.md", p),
        lambda p: files.frontmatter_update(p, {"k": 1}),
        lambda p: files.frontmatter_delete(p, ["k"]),
    ):
        with pytest.raises(BadPath):
            call(path)
    assert (outside / "x.md").read_text() == "secret"


@pytest.mark.parametrize(
    "path",
    [".", "daily", "digest", "metadata", "session", "resource", "memory", "journal", "trash"],
)
def test_permanent_folders_are_never_deleted_or_moved(desk: Desk, path: str) -> None:
    desk.put("daily/x.md", "x\n")
    for scope in (OWNER, AGENT):
        files = desk.operations(scope)
        with pytest.raises(BadPath):
            files.delete(path)
        with pytest.raises(BadPath):
            files.move(path, "elsewhere")
    assert desk.view.exists("daily/x.md")


@pytest.mark.parametrize(
    ("given", "meant"), [("./a.md", "a.md"), ("a//b.md", "a/b.md"), (" a.md ", "a.md")]
)
def test_loose_spellings_name_the_same_file(desk: Desk, given: str, meant: str) -> None:
    files = desk.operations()
    assert files.write(given, "text").path == meant
    assert files.read(given).path == meant
    assert files.delete(given).path == meant


@pytest.mark.parametrize("path", ["daily/x.md", "digest/wiki/x.md", "MEMORY.md"])
def test_an_agent_writes_notes(desk: Desk, path: str) -> None:
    assert desk.operations(AGENT).write(path, "text").created


@pytest.mark.parametrize(
    "path", ["session/dialog/a.jsonl", "resource/x.md", "x.txt", "notes/x.md", "SESSION/x.md"]
)
def test_an_agent_reads_evidence_and_never_changes_it(desk: Desk, path: str) -> None:
    desk.put(path, "evidence\n")
    files = desk.operations(AGENT)
    assert files.read(path).content == "evidence"
    for call in (
        lambda: files.write(path, "x"),
        lambda: files.edit(path, "evidence", "lie"),
        lambda: files.delete(path),
        lambda: files.move(path, "daily/y.md"),
        lambda: files.move("daily/z.md", path),
    ):
        desk.put("daily/z.md", "z\n")
        with pytest.raises(BadPath, match="agent may not change"):
            call()
    assert desk.text(path) == "evidence\n"


def test_the_owner_may_change_evidence(desk: Desk) -> None:
    desk.put("session/dialog/a.jsonl", "{}\n")
    assert desk.operations(OWNER).delete("session/dialog/a.jsonl").path == "session/dialog/a.jsonl"


def test_a_scope_can_hide_folders(desk: Desk) -> None:
    desk.put("daily/x.md", "x\n")
    desk.put("digest/y.md", "y\n")
    files = desk.operations(Scope("guest", writable=(), readable=("digest/",)))
    assert files.read("digest/y.md").content == "y"
    with pytest.raises(BadPath, match="guest may not read"):
        files.read("daily/x.md")


def _two_cards(desk: Desk) -> None:
    for session in ("a", "b"):
        desk.operations().daily_write(session, "", "body\n", session_id=session)


def test_a_run_for_one_card_leaves_every_other_file_alone(desk: Desk) -> None:
    _two_cards(desk)
    other = desk.text("daily/2026-06-20/b.md")
    files = desk.operations(CARD)
    for call in (
        lambda: files.edit("daily/2026-06-20/b.md", "body", "lie"),
        lambda: files.write("daily/2026-06-20/b.md", "lie"),
        lambda: files.delete("daily/2026-06-20/b.md"),
        lambda: files.move("daily/2026-06-20/b.md", "daily/2026-06-20/c.md"),
        lambda: files.move("daily/2026-06-20/a.md", "daily/2026-06-20/b.md", overwrite=True),
        lambda: files.frontmatter_update("daily/2026-06-20/b.md", {"name": "x"}),
        lambda: files.write("daily/2026-06-21/a.md", "x"),
        lambda: files.write("daily/2026-06-20.md", "x"),
        lambda: files.write("digest/wiki/x.md", "x"),
        lambda: files.delete("daily/2026-06-20"),
        lambda: files.write("daily/2026-06-20/new.md", "x"),
    ):
        with pytest.raises(BadPath):
            call()
    assert desk.text("daily/2026-06-20/b.md") == other


def test_a_run_for_one_card_changes_that_card_and_keeps_its_provenance(desk: Desk) -> None:
    _two_cards(desk)
    files = desk.operations(CARD)
    path = "daily/2026-06-20/a.md"
    assert files.edit(path, "body", "more").replaced == 1
    with pytest.raises(BadInput, match="tie the card to its conversation"):
        files.frontmatter_update(path, {"session_id": "b"})
    with pytest.raises(BadInput, match="tie the card to its conversation"):
        files.frontmatter_delete(path, ["source_conversation"])

    files.write(path, "all new", name="a")
    assert files.frontmatter_read(path).frontmatter == {
        "name": "a",
        "session_id": "a",
        "source_conversation": "[[session/dialog/a.jsonl]]",
    }


def test_a_run_for_an_existing_card_changes_only_that_path(desk: Desk) -> None:
    desk.put("daily/2026-06-20/by-hand.md", "no front matter\n")
    card = "daily/2026-06-20/by-hand.md"
    files = desk.operations(
        card_scope(actor="auto_memory", day="2026-06-20", session_id="a", card=card)
    )
    assert files.edit(card, "no", "still no").replaced == 1
    with pytest.raises(BadPath):
        files.daily_write("second", "", "text")


def test_a_symlink_inside_the_workspace_does_not_widen_rights(desk: Desk) -> None:
    evidence = desk.workspace.root / "session" / "dialog"
    evidence.mkdir(parents=True, exist_ok=True)
    (evidence / "a.jsonl").write_text("evidence\n")
    (desk.workspace.root / "daily" / "link").symlink_to(evidence)
    (desk.workspace.root / "daily" / "index").symlink_to(desk.workspace.metadata)
    with pytest.raises(BadPath):
        desk.operations(AGENT).write("daily/link/a.jsonl", "lie")
    for scope in (AGENT, OWNER):
        with pytest.raises(BadPath):
            desk.operations(scope).write("daily/index/x.md", "x")
    assert (evidence / "a.jsonl").read_text() == "evidence\n"
