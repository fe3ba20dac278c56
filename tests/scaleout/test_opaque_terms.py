"""What an engine gets to see of words."""

from __future__ import annotations

import re

import pytest

from agentscope_reme.store.scaleout.opaque_terms import MOST_REPEATS, OpaqueTerms
from agentscope_reme.store.term_keys import TermCounts
from agentscope_reme.store.tokenizers import MemoryTokenizer

TEXT = "C++ and node-js, x86_64, getUserName 数据库选型 ひらがな 🎉 don't İstanbul 3.14"
TOKENIZER = MemoryTokenizer()


def field(text: str, workspace: str = "w", *, raw: bool = False) -> str:
    return OpaqueTerms(workspace).field(TermCounts.of(TOKENIZER.keys(text)), raw=raw)


def test_every_term_is_one_plain_word_of_one_length() -> None:
    words = field(TEXT).split(" ")
    assert all(re.fullmatch(r"t[a-z2-7]{8}", word) for word in words)
    assert len(set(words)) == len(set(TOKENIZER.keys(TEXT).tolist()))


def test_a_query_has_the_words_of_the_texts_it_finds() -> None:
    terms = OpaqueTerms("w")
    for term in TOKENIZER.terms(TEXT):
        (word,) = terms.words(TOKENIZER.keys(term)[:1], raw=False)
        assert word in field(term).split()


def test_repeats_are_kept_up_to_a_limit() -> None:
    assert len(field("pear " * 3).split()) == 3
    assert len(field("pear " * (MOST_REPEATS + 9)).split()) == MOST_REPEATS


@pytest.mark.parametrize("other", [("other", False), ("w", True), ("", False)])
def test_another_workspace_or_group_has_other_words(other: tuple[str, bool]) -> None:
    workspace, raw = other
    ours, theirs = field(TEXT), field(TEXT, workspace, raw=raw)
    assert not set(ours.split()) & set(theirs.split())


def test_nothing_has_no_words() -> None:
    assert field("") == field("?!") == ""


def test_a_hundred_thousand_terms_hardly_ever_coincide() -> None:
    keys = TOKENIZER.keys(" ".join(f"word{number}x" for number in range(50_000)))
    distinct = TermCounts.of(keys).keys
    assert len(distinct) > 100_000
    assert len(set(OpaqueTerms("w").words(distinct, raw=False))) >= len(distinct) - 2
