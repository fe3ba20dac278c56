"""Raw output becomes what a terminal would show, and plain text stays exactly as it is."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.context import as_shown

SHOWN = {
    "colours": ("\x1b[1;31mred\x1b[0m and \x1b[38;5;7mgrey\x1b[m", "red and grey"),
    "a redraw": ("50%\r75%\r100%", "100%"),
    "a shorter redraw leaves the rest": ("100%\r5%", "5%0%"),
    "an erased line": ("loading...\r\x1b[Kok", "ok"),
    "an erased beginning": ("abcdef\x1b[3D\x1b[1Kx", "   xef"),
    "a cleared line": ("abc\x1b[2Kd", "   d"),
    "backspaces": ("helo\blo", "hello"),
    "windows lines": ("one\r\ntwo\r\n", "one\ntwo\n"),
    "cursor up": ("one\ntwo\x1b[1A\rONE", "ONE\ntwo"),
    "two bars": ("a 1%\nb 1%\x1b[1F\x1b[2Ka 9%\n\x1b[2Kb 9%", "a 9%\nb 9%"),
    "cursor back and forward": ("abc\x1b[2DX\x1b[1CY", "aXcY"),
    "a column": ("abcdef\x1b[3GX", "abXdef"),
    "a link": ("\x1b]8;;https://a.org\x1b\\here\x1b]8;;\x1b\\ now", "here now"),
    "a title": ("\x1b]0;my shell\x07$ ls", "$ ls"),
    "a cleared screen": ("old\n\x1b[2J\x1b[Hnew", "old\n\nnew"),
    "erased below": ("one\ntwo\nthree\x1b[1;1H\x1b[0Jx", "x"),
    "bells and nulls": ("a\x07b\x00c", "abc"),
    "a cut sequence": ("abc\x1b[3", "abc"),
    "character sets": ("\x1b(Bplain\x1b=", "plain"),
}


@pytest.mark.parametrize("what", SHOWN)
def test_a_sequence_does_what_it_does_on_a_screen(what: str) -> None:
    raw, shown = SHOWN[what]
    assert as_shown(raw) == shown


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"], include_characters="\n\t")))
def test_text_without_control_characters_is_returned_as_it_is(text: str) -> None:
    assert as_shown(text) == text


@given(st.text(st.sampled_from("ab\n\r\b\x1b[]0123;HJKmABCDG\x07 "), max_size=80))
def test_nothing_shown_is_a_control_character(raw: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", as_shown(raw))


def test_a_wild_number_costs_no_gigabyte() -> None:
    assert len(as_shown("\x1b[999999999Cx\x1b[999999999By")) < 50_000


def test_a_megabyte_of_redraws_is_quick() -> None:
    raw = "".join(f"\r\x1b[K[{'#' * (n % 60):60}] {n}" for n in range(20_000))
    begin = time.process_time()
    assert as_shown(raw).endswith("19999")
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    "attack",
    [
        "\x1b[1000B" * 20_000,
        "\x1b[1000Cx" * 20_000,
        "x" * 100_000 + "\x1b[1K" * 20_000,
        "\x1b[9999G\x1b[1K" * 20_000,
    ],
    ids=["down", "to the right", "erasing a long line", "erasing nothing"],
)
def test_a_few_bytes_repeated_fill_no_memory(attack: str) -> None:
    shown = as_shown(f"first\n{attack}\nlast")
    assert len(shown) <= 4 * len(attack) + 1_000_000
    assert shown.startswith("first")
    assert shown.endswith("last")
