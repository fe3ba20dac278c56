"""Pictures among the hits of a search: which, how many, and where they were said."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final

from agentscope_reme.files.session_names import DIALOG_FOLDER
from agentscope_reme.schema import FileChunk, FileLink, SearchHit
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.filters import days_within
from agentscope_reme.store.records import SearchFilter

_SAID: Final = re.compile(r"session/images/([^/]+)/msg-([0-9a-f]+)-image-\d+\.\w+")
_PART: Final = 3
"""Beside passages, pictures take a third of the places; where passages leave some free, those too.

Their cosines are no measure beside those of passages: models put texts and pictures into different
regions of one space (Liang and others, "Mind the Gap", NeurIPS 2022).
"""


def with_pictures(
    passages: Sequence[SearchHit], pictures: Sequence[SearchHit], limit: int, *, first: bool
) -> list[SearchHit]:
    """Passages and pictures as one answer, each group best first.

    Args:
        passages: at most `limit`; pictures that were found by their name stand among them.
        pictures: others.
        limit: how many hits there are.
        first: pictures stand in front and take half of the places: the query is one.
    """
    named = {hit.chunk_id for hit in passages}
    others = [hit for hit in pictures if hit.chunk_id not in named]
    share = -(-limit // 2) if first else limit // _PART
    shown = others[: max(share, limit - len(passages))]
    kept = list(passages[: limit - len(shown)])
    return [*shown, *kept] if first else [*kept, *shown]


def with_days(
    pictures: Iterable[SearchHit], store: BaseFileStore, where: SearchFilter
) -> Iterator[SearchHit]:
    """Pictures; those of a conversation with their day, and the passage they belong to.

    Those that were said on other days than are asked for are left out.
    """
    chunks_of = cache(store.chunks)
    for hit in pictures:
        found = _SAID.fullmatch(hit.path)
        log = f"{DIALOG_FOLDER}/{found[1]}.jsonl" if found else ""
        chunk = next((c for c in chunks_of(log) if found and _is_of(c, found[2])), None)
        days = [] if chunk is None else [str(day) for day in chunk.metadata.get("days", ())]
        shown = days_within(where, days)
        if days and not shown:
            continue
        if chunk is None:
            yield hit
            continue
        update = {
            "date": shown[-1] if shown else hit.date,
            "said_in": f"{log}:{chunk.start_line}-{chunk.end_line}",
            "inlinks": (FileLink(source_path=log, target_path=hit.path),),
        }
        yield hit.model_copy(update=update)


def _is_of(chunk: FileChunk, named: str) -> bool:
    """Whether a passage of a log holds the message a picture is named after."""
    ids = [str(one).encode("utf-8", "surrogatepass") for one in chunk.metadata.get("messages", ())]
    return any(named in (one.hex(), hashlib.sha256(one).hexdigest()) for one in ids)
