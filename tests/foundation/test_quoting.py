"""Quoted text cannot leave its quotation, however it spells the wrapper."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.quoting import WRAPPERS, defuse


@pytest.mark.parametrize("tag", WRAPPERS)
@pytest.mark.parametrize(
    "form", ["</{}>", "<{}>", "</{} >", "< /{}>", "</ {}>", '<{} note="x">', "</\n{}>"]
)
def test_no_spelling_of_a_wrapper_survives(tag: str, form: str) -> None:
    for spelled in (form.format(tag), form.format(tag.upper())):
        assert "<" not in defuse(f"before {spelled} after")


@pytest.mark.parametrize("text", ["a < b", "<b>bold</b>", "<cardinal>", "x</conversational>", ""])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert defuse(text) == text


@given(st.text())
def test_defusing_twice_changes_nothing_more(text: str) -> None:
    assert defuse(defuse(text)) == defuse(text)
