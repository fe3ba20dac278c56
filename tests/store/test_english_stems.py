"""What the stem of an English word is; stored indexes depend on it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snowballstemmer import stemmer

from agentscope_reme.store.english_stem import english_stem

REFERENCE = stemmer("english")

STEMS = """
    cats cat | caresses caress | ties tie | cries cri | gas gas | this this | gaps gap
    kiwis kiwi | bus bus | class class | agreed agre | feed feed | exceed exceed
    proceeding proceed | hopping hop | hoping hope | hoped hope | sized size | egged egg
    added add | adding add | filing file | falling fall | bed bed | shed shed | dying die
    outing outing | evening evening | pasted paste | pasting paste | troubled troubl
    luxuriated luxuri | happy happi | say say | by by | cry cri | enjoy enjoy
    youth youth | sayings say | boyish boyish | relational relat | conditional condit
    valency valenc | hesitancy hesit | digitizer digit | conformably conform | radically radic
    analogously analog | vietnamization vietnam | predication predic | operator oper
    feudalism feudal | decisiveness decis | hopefulness hope | callousness callous
    formality formal | sensitivity sensit | sensibility sensibl | geology geolog
    geologist geolog | simply simpli | triplicate triplic | formative format | formalize formal
    electricity electr | electrical electr | goodness good | revival reviv | allowance allow
    inference infer | airliner airlin | adjustable adjust | defensible defens | irritant irrit
    replacement replac | adjustment adjust | dependent depend | adoption adopt | communism communism
    activate activ | effective effect | bowdlerize bowdler | probate probat | rate rate
    cease ceas | controlling control | roll roll | generate generat | general general
    university universiti | communities communiti | organization organiz | later later
    skies sky | news news | early earli | only onli | singly singl | ugly ugli | at at
"""


PAIRS = [pair.split() for line in STEMS.split("\n") for pair in line.split("|") if pair.strip()]


@pytest.mark.parametrize(("word", "stem"), PAIRS)
def test_stem_of_a_word(word: str, stem: str) -> None:
    assert english_stem(word) == stem


@given(st.text(alphabet="aeiouybdgilnrstz", min_size=1, max_size=12))
def test_a_stem_begins_like_its_word_and_is_not_longer(word: str) -> None:
    stem = english_stem(word)
    assert 0 < len(stem) <= len(word)
    assert stem[0] == word[0]


@given(
    st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=14),
    st.sampled_from(
        ["", "s", "ies", "ing", "edly", "ational", "fulness", "ization", "ement", "ably", "y"]
    ),
)
def test_it_stems_as_the_reference_implementation_does(start: str, ending: str) -> None:
    word = start + ending
    assert english_stem(word) == REFERENCE.stemWord(word)
