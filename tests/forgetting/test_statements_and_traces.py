"""What a statement is, what a trace of forgotten text is, and what is pruned from plain data."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.files.forgotten import Forgotten, ForgottenLines, forgotten_in, salted
from agentscope_reme.files.pruning import GONE, pruned, pruned_root
from agentscope_reme.files.statements import statements_of
from agentscope_reme.files.traces import Traces, lines_of, telling, words_of


def test_items_rows_headings_code_and_paragraphs_are_statements() -> None:
    text = (
        "# Title\n\nA paragraph\nof two lines.\n- one\n  goes on\n- two\n  - below\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n```py\nx\n\ny\n```\n## Sources\n\n- [[a.md]]\n"
    )
    found = [(s.start, s.end, s.kind, s.section) for s in statements_of(text, first_line=11)]
    assert found == [
        (11, 11, "heading", "Title"),
        (13, 14, "paragraph", "Title"),
        (15, 16, "item", "Title"),
        (17, 17, "item", "Title"),
        (18, 18, "item", "Title"),
        (20, 21, "row", "Title"),
        (22, 22, "row", "Title"),
        (23, 27, "code", "Title"),
        (28, 28, "heading", "Sources"),
        (30, 30, "item", "Sources"),
    ]


@given(st.lists(st.sampled_from(["", "# h", "- a", "  b", "text", "| c |", "```", "~~~", "1. d"])))
def test_every_line_that_says_something_is_in_exactly_one_statement(lines: list[str]) -> None:
    numbers = [n for s in statements_of("\n".join(lines)) for n in s.lines]
    assert len(numbers) == len(set(numbers))
    said = {n for n, line in enumerate(lines, 1) if line.strip()}
    assert said <= set(numbers)


def test_words_are_whole_and_in_parts_and_pairs_where_there_are_no_blanks() -> None:
    assert words_of("Call x-4711, Mei!") == {"call", "x-4711", "x", "4711", "mei"}
    assert words_of("瓢虫密码") == {"瓢虫", "虫密", "密码"}
    assert telling({"yes", "42", "4711", "dinner", "密码"}) == {"4711", "dinner"}


def test_long_runs_are_looked_at_once() -> None:
    """Base64, a table of blanks, a text without a full stop: quadratic patterns would hang."""
    length = 100_000
    for run in (
        "a" * length,
        "字" * length,
        "-" * length,
        "| " * length,
        " " * length,
        "a-" * length,
    ):
        text = f"|{run}!x\n- {run}\n{run}\n"
        assert words_of(text)
        assert statements_of(text)
        lines_of(text)
        assert not Traces(words={"zeta-4711"}, lines={"zeta"}, phrase="zeta").in_text(text)


def test_a_trace_is_a_word_a_line_a_path_or_a_copy() -> None:
    traces = Traces(
        words={"zeta-4711"}, lines=lines_of("- 他的储物柜密码写在这里"), paths={"daily/x/a.md"}
    )
    assert traces.in_text("It was ZETA-4711.")
    assert traces.in_data("他的储物柜密码写在这里，好的".encode())
    assert traces.in_text("see [[daily/x/a.md]]")
    assert traces.in_data(json.dumps({"text": "他的储物柜密码写在这里"}).encode())
    assert not traces.in_text("zeta and 4711 and daily/x/b.md")
    assert not traces.in_data(b"\0zeta-4711")


def test_plain_data_loses_what_speaks_of_it() -> None:
    row = {
        "event": "read",
        "files": {"gone.md": {"hash": "0"}, "stays.md": {"hash": "1"}},
        "units": [
            {"summary": "a secret", "paths": ["stays.md"]},
            {"summary": "plain", "paths": ["gone.md"]},
            {"summary": "both", "paths": ["gone.md", "stays.md"]},
        ],
    }
    tainted = ("secret", "gone.md")
    assert pruned_root(row, lambda text: any(word in text for word in tainted)) == {
        "event": "read",
        "files": {"stays.md": {"hash": "1"}},
        "units": [{"summary": "both", "paths": ["stays.md"]}],
    }
    assert pruned_root({"path": "gone.md"}, lambda text: "gone" in text) is GONE
    assert pruned([], lambda text: True) == []


@pytest.mark.parametrize("said", ["", "who said what"])
def test_a_tombstone_knows_its_message_and_tells_nobody(said: str) -> None:
    stone = Forgotten("salt", salted("salt", "m1"), salted("salt", said) if said else "", True)
    line = stone.dump()
    assert b"m1" not in line
    assert forgotten_in([b"{}", line, b'"forgotten" torn', b'{"type": "forgotten"}']) == [stone]
    assert stone.is_said("who said what") is bool(said)
    lines = ForgottenLines([stone])
    assert [lines.has_id(name) for name in ("m1", "m2", stone.key)] == [True, False, True]
    assert lines.keys_of("who said what") == [stone.key] * bool(said)


def test_a_message_is_looked_for_among_forgettings_not_among_their_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stones = [
        Forgotten(salt, salted(salt, f"{salt}{n}"), salted(salt, "the same"))
        for salt in ("first", "second")
        for n in range(50)
    ]
    lines = ForgottenLines(stones)
    asked: list[str] = []

    def counted(salt: str, text: str) -> str:
        asked.append(text)
        return salted(salt, text)

    monkeypatch.setattr("agentscope_reme.files.forgotten.salted", counted)
    assert lines.has_id("second49")
    assert not lines.has_id("third0")
    assert lines.keys_of("the same") == [stone.key for stone in stones]
    assert len(asked) == 2 * 3
