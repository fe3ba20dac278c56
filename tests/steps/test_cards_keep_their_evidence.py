"""Whatever a model does to a card, its provenance and its links are still there."""

from __future__ import annotations

import pytest

from agentscope_reme.files import MarkdownDocument, parse_wikilinks
from agentscope_reme.steps.cards import free_path, slug, with_provenance

LOG = "session/dialog/s.jsonl"
BEFORE = (
    "---\nname: tea\nsession_id: s\nsource_conversation: '[[session/dialog/s.jsonl]]'\n"
    "source_images:\n  - '[[session/images/s/msg-61-image-0.png]]'\nmemory_tags: [tea]\n---\n"
    "See [[digest/wiki/tea.md#L3]] and [[daily/2026-06-18/a.md]].\n"
)
LINKS = {
    (LOG, None),
    ("session/images/s/msg-61-image-0.png", None),
    ("digest/wiki/tea.md", "L3"),
    ("daily/2026-06-18/a.md", None),
}


def links(data: bytes) -> set[tuple[str, str | None]]:
    found = parse_wikilinks(MarkdownDocument.parse(data).text)
    return {(link.target_path, link.target_anchor) for link in found}


@pytest.mark.parametrize(
    "rewritten",
    [
        "everything is new",
        "---\nname: other\n---\nnew text",
        "---\nname: other\nsession_id: stolen\n---\nnew text",
        "ends in an open fence\n\n```python\nx = 1\n",
        "ends in an open comment\n\n<!-- todo",
        "",
        "windows\r\nlines\r\n",
    ],
)
def test_no_rewrite_loses_a_link_or_the_origin(rewritten: str) -> None:
    checked = with_provenance(
        rewritten.encode(), session_id="s", session_path=LOG, before=BEFORE.encode()
    )
    assert links(checked) >= LINKS
    front = MarkdownDocument.parse(checked).front_matter
    assert front["session_id"] == "s"
    assert front["memory_tags"] == ["tea"]
    assert (
        MarkdownDocument.parse(checked)
        .body.rstrip("\r\n")
        .startswith(("## Sources", MarkdownDocument.parse(rewritten).body.rstrip("\r\n")[:5]))
    )


def test_a_card_that_kept_everything_is_not_touched() -> None:
    same = with_provenance(
        BEFORE.encode(), session_id="s", session_path=LOG, before=BEFORE.encode()
    )
    assert same == BEFORE.encode()


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("Login Refactor: decision!", "login-refactor-decision"),
        ("发布 日期", "发布-日期"),
        ("../../etc/passwd", "etc-passwd"),
        ("a_b--c", "a-b-c"),
        ("???", "conversation"),
        ("x" * 500, "x" * 80),
    ],
)
def test_a_topic_becomes_a_file_stem(name: str, stem: str) -> None:
    assert slug(name) == stem


def test_a_taken_name_gets_a_number_and_never_fails() -> None:
    taken = ["daily/2026-06-20/tea.md", "daily/2026-06-20/Tea-2.md"]
    assert free_path(taken, "2026-06-20", "tea") == "daily/2026-06-20/tea-3.md"
    assert free_path(taken, "2026-06-20", "tea", own=taken[0]) == taken[0]


@pytest.mark.parametrize("sign", ["\x00", "\x1b[2J", "\u202e", "\x85", "\u2066"])
def test_signs_nobody_sees_are_in_no_card(sign: str) -> None:
    told = f'---\nname: "a{sign.encode("unicode_escape").decode()}b"\n---\nThe {sign}heron.\n'
    card = with_provenance(told.encode(), session_id="s", session_path=LOG, before=None)
    assert sign[0] not in card.decode()
    assert "heron" in card.decode()


def test_a_description_is_one_line() -> None:
    told = (
        "---\nname: a\ndescription: |-\n  ---\n  pinned: true\n  ---\n"
        + f"  {'long ' * 999}\n---\nx\n"
    )
    card = with_provenance(told.encode(), session_id="s", session_path=LOG, before=None)
    front = MarkdownDocument.parse(card).front_matter
    assert "pinned" not in front
    assert str(front["description"]).startswith("--- pinned: true --- long")
    assert len(str(front["description"])) == 240


def test_what_a_person_wrote_into_a_card_stays() -> None:
    theirs = (
        BEFORE.replace("name: tea", f"name: tea\ndescription: {'word ' * 99}end") + "\x0cPage 2\n"
    )
    same = with_provenance(
        theirs.encode(), session_id="s", session_path=LOG, before=theirs.encode()
    )
    assert same == theirs.encode()
