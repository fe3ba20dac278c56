"""What a change that was made is told as."""

from __future__ import annotations

from collections.abc import Sequence

from agentscope_reme.files.views import ViewChange
from agentscope_reme.results import ChangeResult
from agentscope_reme.store.indexer import SEARCHED_PLACES, is_searched_place


def change_result(
    path: str,
    change: ViewChange,
    answer: str,
    *,
    replaced: int = 0,
    standing: Sequence[str] | None = None,
) -> ChangeResult:
    """A result for a change that was made; the answer says what search will not show, or not yet.

    Args:
        path: what was changed.
        change: how it went.
        answer: what to tell.
        replaced: how many places were changed.
        standing: the files that stand there now; `path` itself, unless it is gone.
    """
    if standing is None:
        standing = [path] if change.content_hash is not None else []
    unsearched = not_searched(standing)
    late = "\nSaved; search will show it after the next index run."
    return ChangeResult(
        answer=answer + (unsearched or ("" if change.indexed else late)),
        path=path,
        change_id=change.change_id,
        content_hash=change.content_hash,
        created=change.created,
        replaced=replaced,
        inbound=list(change.inbound),
        touched=list(change.touched),
        indexed=change.indexed and not unsearched,
    )


def not_searched(paths: Sequence[str]) -> str:
    """A line for an answer when search leaves some of these files out, else an empty text."""
    outside = [path for path in paths if not is_searched_place(path)]
    if not outside:
        return ""
    which = "it" if len(paths) == 1 else f"{len(outside)} of these files"
    return f"\nKept, but search does not show {which}: it looks into {SEARCHED_PLACES}."
