"""Which terms a text and a query are made of."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.store.scripts import ASCII_WORD, ascii_pieces
from agentscope_reme.store.term_keys import pair_keys, term_key
from agentscope_reme.store.tokenizers import MemoryTokenizer, han_cutter

TOKENIZER = MemoryTokenizer()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("C, R and 5", ["c", "r", "and", "5"]),
        ("getUserName", ["getusername", "get", "user", "name"]),
        ("x86_64", ["x86_64", "x", "86", "64"]),
        ("node-js", ["node-js", "node", "js"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("v1.2 end.", ["v1.2", "v", "1", "2", "end"]),
        ("APIs of Ann's O'Brien don't", ["api", "of", "ann", "obrien", "o", "brien", "dont"]),
        ("__init__ ___", ["init"]),
        ("naïve CAFE\u0301 Straße ёлка", ["naiv", "cafe", "strass", "елка"]),
        ("Ａｐｐｌｅ ｶﾞｷﾞ", ["appl", "ガギ"]),
        ("数据库", ["数据", "据库", "数据库", "数据", "据库"]),
        ("茶", ["茶"]),
        ("しりとり", ["しり", "りと", "とり"]),
        ("끝말잇기", ["끝말", "말잇", "잇기"]),
        ("ภาษา ข", ["ภา", "าษ", "ษา", "ข"]),
        ("𠮷野家", ["𠮷", "野家", "𠮷野", "野家"]),
        ("पढ़ना", ["पढ़ना"]),
        ("", []),
        ("— … !?", []),
    ],
)
def test_terms_of_a_text(text: str, terms: list[str]) -> None:
    assert Counter(TOKENIZER.terms(text)) == Counter(terms)


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("what do I like", ["like"]),
        ("What is R?", ["r"]),
        ("vitamin D", ["vitamin", "d"]),
        ("to be or not to be", ["to", "be", "or", "not"]),
        ("get get GET", ["get"]),
        ("什么", ["什么"]),
        ("茶是什么", ["茶", "茶是", "是什"]),
    ],
)
def test_terms_of_a_query(query: str, terms: list[str]) -> None:
    assert TOKENIZER.query_terms(query) == terms


@given(st.text(max_size=60))
def test_the_keys_of_a_text_are_those_of_its_terms(text: str) -> None:
    assert Counter(TOKENIZER.keys(text).tolist()) == Counter(map(term_key, TOKENIZER.terms(text)))


@given(st.text(alphabet="abC1_'-.+# \n,\x1c", max_size=20))
def test_words_of_a_text_in_pieces_are_its_words(text: str) -> None:
    found = [word for piece in ascii_pieces(text) for word in ASCII_WORD.findall(piece)]
    assert found == ASCII_WORD.findall(text)
    assert Counter(TOKENIZER.keys(text).tolist()) == Counter(map(term_key, TOKENIZER.terms(text)))


@given(st.text(alphabet="ab数据库が𠮷\n", max_size=30))
def test_pairs_have_the_keys_of_two_character_terms(lines: str) -> None:
    pairs = [a + b for line in lines.split("\n") for a, b in pairwise(line)]
    assert pair_keys(lines).tolist() == [term_key(pair) for pair in pairs]


def test_keys_never_change() -> None:
    assert term_key("a") == 97
    assert term_key("ab") == 4611686018630811746
    assert term_key("数据") == 4611686072886256494
    assert term_key("database") == -2705563238528184351
    assert term_key("database") != term_key("getusername")
    assert all(-(1 << 63) <= term_key(t) < 0 for t in ("database", "getusername"))


def test_rjieba_and_jieba_cut_alike(tmp_path: Path) -> None:
    nothing_added = tmp_path / "words.txt"
    nothing_added.write_text("", "utf-8")
    fast, slow = han_cutter(), han_cutter(nothing_added)
    for text in (
        "今天讨论了向量数据库的选型",
        "他来到了网易杭研大厦",
        "小明硕士毕业于中国科学院计算所",
    ):
        assert list(fast(text)) == list(slow(text))


def test_a_user_dictionary_adds_words_and_changes_the_fingerprint(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("向量数据库选型 1000000\n", "utf-8")
    own = MemoryTokenizer(words)
    assert "向量数据库选型" in own.terms("向量数据库选型")
    assert own.fingerprint != TOKENIZER.fingerprint


def test_jieba_is_not_loaded_for_text_it_does_not_cut() -> None:
    program = (
        "import sys\n"
        "from agentscope_reme.store.bm25 import BM25Index\n"
        "index = BM25Index()\n"
        "index.add_docs({'a': 'plain words'})\n"
        "assert not {'jieba', 'rjieba'} & sys.modules.keys()\n"
        "index.add_docs({'b': '数据库'})\n"
        "assert 'jieba' not in sys.modules and 'rjieba' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
