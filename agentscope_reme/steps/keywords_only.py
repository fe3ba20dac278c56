"""A search that may not find everything says so.

That it had to do without vectors stands in a field always, in words once; that files are still
being brought into the index, in words as long as they are.
"""

from __future__ import annotations

from typing import Any, Final

from agentscope_reme.runtime.embedding_calls import Absence, AbsenceKind

_NOTICES: Final[dict[str, dict[AbsenceKind, str]]] = {
    "en": {
        "outage": "Found by keywords only: the embedding model does not answer, so passages that "
        "say the same in other words may be missing. Try other words too.",
        "filling": "Found by keywords only: the vectors of this memory are still being made, so "
        "passages that say the same in other words may be missing. Try other words too.",
        "loading": "Found by keywords only: the embedding model is still being loaded. "
        "Search again in a moment, or try other words.",
    },
    "zh": {
        "outage": "仅按关键词查找：嵌入模型没有响应，意思相同而措辞不同的内容可能缺失。"
        "请也换其他词语再试。",
        "filling": "仅按关键词查找：记忆的向量仍在生成，意思相同而措辞不同的内容可能缺失。"
        "请也换其他词语再试。",
        "loading": "仅按关键词查找：嵌入模型仍在加载。请稍后再搜索，或换其他词语。",
    },
}
_NO_WORDS: Final[dict[str, dict[AbsenceKind, str]]] = {
    "en": {
        "outage": "The embedding model does not answer, so nothing can be found by a picture now. "
        "Describe it in words, or try again later.",
        "filling": "The vectors of this memory are still being made, so nothing can be found by a "
        "picture now. Describe it in words, or try again later.",
        "loading": "The embedding model is still being loaded. Search again in a moment.",
    },
    "zh": {
        "outage": "嵌入模型没有响应，现在无法用图片查找。请用文字描述，或稍后再试。",
        "filling": "记忆的向量仍在生成，现在无法用图片查找。请用文字描述，或稍后再试。",
        "loading": "嵌入模型仍在加载，请稍后再搜索。",
    },
}
_CATCHING_UP: Final = {
    "en": "The files of this memory are still being compared with the index, so something may be "
    "missing here. Search again later.",
    "zh": "记忆的文件仍在与索引比对，这里可能缺少内容。请稍后再搜索。",
}
_TOLD: Final = "keywords_only_told"


def notice_once(shared: dict[str, Any], absence: Absence | None, *, to: str, language: str) -> str:
    """Why there are no vectors, the first time somebody is told of this absence; else empty.

    Args:
        shared: the data all searches of one memory share.
        absence: why there are none; ``None`` when there are.
        to: who is told: people and agents who search, and prompts, each hear it once.
        language: ``en`` or ``zh``.
    """
    if absence is None:
        return ""
    told: dict[tuple[str, AbsenceKind], int] = shared.setdefault(_TOLD, {})
    if told.get((to, absence.kind)) == absence.number:
        return ""
    told[to, absence.kind] = absence.number
    return _NOTICES.get(language, _NOTICES["en"])[absence.kind]


def not_heard(shared: dict[str, Any], *, to: str) -> None:
    """Take back that somebody was told: there was no room for it in what was shown."""
    told: dict[tuple[str, AbsenceKind], int] = shared.get(_TOLD, {})
    for one in [one for one in told if one[0] == to]:
        del told[one]


def catching_up(language: str) -> str:
    """That files are still being brought into the index."""
    return _CATCHING_UP.get(language, _CATCHING_UP["en"])


def words_of(absence: Absence, language: str) -> str:
    """Why nothing could be found by a picture alone."""
    return _NO_WORDS.get(language, _NO_WORDS["en"])[absence.kind]
