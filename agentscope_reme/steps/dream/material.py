"""Which daily files a dream reads, and how they fit into one prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from agentscope_reme.context.tokens import estimate_tokens
from agentscope_reme.errors import NotFound
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.files.dream_progress import DreamState, ReadFile
from agentscope_reme.messages import RECALL_TAG
from agentscope_reme.quoting import defuse
from agentscope_reme.schema import content_hash
from agentscope_reme.tools.day_page import BLOCK_END, BLOCK_START
from agentscope_reme.vault.vault import Vault
from agentscope_reme.workspace import is_markdown

_DAILY: Final = re.compile(r"daily/(\d{4}-\d{2}-\d{2})(?:/|\.)")
_RECALLED: Final = re.compile(rf"<{RECALL_TAG}\b[^<>]*>.*?(?:</{RECALL_TAG}>|\Z)", re.DOTALL)
_BLOCK: Final = re.compile(re.escape(BLOCK_START) + r".*?" + re.escape(BLOCK_END), re.DOTALL)
_HEAD_TOKENS: Final = 40  # what the element around one file costs
_MOST_CHARACTERS: Final = 32  # of a token; a line beyond that is not even measured


@dataclass(frozen=True, slots=True)
class DailyFile:
    """A daily file as evidence: its text without recalled memory and generated lists."""

    path: str
    text: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a daily file that is shown to a model; ``end`` is where the next one begins."""

    file: DailyFile
    start: int
    end: int

    @property
    def is_whole(self) -> bool:
        """Whether this is the last part of the file."""
        return self.end >= len(self.file.text)

    def shown(self) -> str:
        """The element that quotes it."""
        more = "" if self.start == 0 and self.is_whole else f' from="{self.start}" to="{self.end}"'
        text = self.file.text[self.start : self.end].strip()
        return f'<card path="{self.file.path}"{more}>\n{defuse(text)}\n</card>'


def day_of(path: str) -> str | None:
    """The day a daily file belongs to; ``None`` for other files."""
    found = _DAILY.match(path)
    return found[1] if found else None


def window(day: str, scan_days: int, last_day: str) -> list[str]:
    """The days a dream looks at, oldest first.

    Args:
        day: the last of them.
        scan_days: how many; more when dreaming paused for longer than that.
        last_day: the day of the latest finished dream; empty for none.
    """
    end = date.fromisoformat(day)
    start = date.fromordinal(max(1, end.toordinal() - scan_days + 1))
    if last_day and last_day < start.isoformat():
        start = date.fromisoformat(last_day)
    return [(start + timedelta(days=n)).isoformat() for n in range((end - start).days + 1)]


def last_dreamt(state: DreamState, day: str) -> str:
    """The day of the latest finished dream, not later than a day; empty for none.

    When dreams were finished later than that, as by a clock that stood ahead, the newest note
    that was read tells it.
    """
    if state.last_day <= day:
        return state.last_day
    known = (noted for path in state.files if (noted := day_of(path)) is not None)
    return max((noted for noted in known if noted <= day), default="")


def read_daily(vault: Vault, path: str) -> DailyFile | None:
    """One daily file as evidence; ``None`` when it is gone or says nothing."""
    try:
        data = vault.read(path)
    except NotFound:
        return None
    text = _RECALLED.sub("", MarkdownDocument.parse(data).text)
    if "/" not in path.removeprefix("daily/"):  # a day's index page: what the person wrote there
        page = MarkdownDocument.parse(_BLOCK.sub("", text)).body
        text = page if page.strip() else ""
    text = text.encode("utf-8", "replace").decode()  # bytes of an unknown encoding, as `?`
    if not text.strip():
        return None
    return DailyFile(path, text, content_hash(text.encode()))


def candidates(vault: Vault, days: Iterable[str], state: DreamState) -> list[str]:
    """Daily Markdown files of these days, and those that wait from earlier runs, sorted."""
    wanted = set(days)
    inside = [path for path in vault.paths("daily") if is_markdown(path) and day_of(path) in wanted]
    owed = [path for path, file in state.files.items() if file.state != "done"]
    return sorted({*inside, *owed})


def unread(files: Iterable[DailyFile], state: DreamState) -> list[DailyFile]:
    """Files whose content was not read to its end, those that failed before last."""

    def order(file: DailyFile) -> tuple[int, str, str]:
        known = state.files.get(file.path)
        return (known.attempts if known else 0, day_of(file.path) or "", file.path)

    changed = []
    for file in files:
        known = state.files.get(file.path)
        if known is None or known.state != "done" or known.content_hash != file.content_hash:
            changed.append(file)
    return sorted(changed, key=order)


def packed(files: Iterable[DailyFile], state: DreamState, budget_tokens: int) -> list[Part]:
    """The files, or the beginning of them, that fit into one prompt, in order.

    Only the last part may end before its file does; what comes behind it waits.
    """
    parts: list[Part] = []
    room = budget_tokens
    for file in files:
        start = _resumed(file, state)
        end = fitting(file.text, start, room - _HEAD_TOKENS)
        whole = end >= len(file.text)
        if end <= start or (parts and not whole):
            break
        parts.append(Part(file, start, end))
        room -= _HEAD_TOKENS + estimate_tokens(file.text[start:end])
        if not whole:
            break
    return parts


def progress(
    parts: Iterable[Part], changed: Iterable[DailyFile], state: DreamState
) -> dict[str, ReadFile]:
    """What to note about files: the parts as read, the other changed ones as waiting."""
    noted = {
        part.file.path: ReadFile(
            part.file.content_hash,
            "done" if part.is_whole else "waiting",
            0 if part.is_whole else part.end,
        )
        for part in parts
    }
    for file in changed:
        known = state.files.get(file.path)
        owed = known and known.state != "done" and known.content_hash == file.content_hash
        if file.path not in noted and not owed:
            noted[file.path] = ReadFile(file.content_hash, "waiting")
    return noted


def failed_progress(parts: Iterable[Part], known: Mapping[str, ReadFile]) -> dict[str, ReadFile]:
    """What to note about files whose reading failed: they are tried again from where they were."""
    noted = {}
    for part in parts:
        attempts = known[part.file.path].attempts if part.file.path in known else 0
        noted[part.file.path] = ReadFile(part.file.content_hash, "failed", part.start, attempts + 1)
    return noted


def _resumed(file: DailyFile, state: DreamState) -> int:
    known = state.files.get(file.path)
    if known is None or known.content_hash != file.content_hash or known.state == "done":
        return 0
    return min(known.offset, len(file.text))


def fitting(text: str, start: int, room: int) -> int:
    """Where the longest run of whole lines from `start` ends that costs at most `room` tokens."""
    if room <= 0:
        return start
    end = start
    for stop in _line_ends(text, start):
        if stop - end > room * _MOST_CHARACTERS:
            break
        cost = estimate_tokens(text[end:stop])
        if cost > room:
            break
        end, room = stop, room - cost
    if end > start:
        return end
    return min(len(text), start + room)  # one endless line: a token is at least a character


def _line_ends(text: str, start: int) -> Iterator[int]:
    position = start
    while position < len(text):
        found = text.find("\n", position)
        position = len(text) if found < 0 else found + 1
        yield position
