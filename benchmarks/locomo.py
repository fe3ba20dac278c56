"""Retrieval quality without a language model: ``python -m benchmarks.locomo [--data FOLDER]``.

LoCoMo conversations are recorded as session logs and asked through `ReMe.search`; what counts is
the share of the turns that answer a question within the first bytes of returned text. Then
Chinese texts are asked for with three kinds of queries. ReMe is measured beside, with its own
BM25 over its own chunks, when its environment is there (``benchmarks/peers/prepare.py``).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentscope_reme import ReMe, Settings
from agentscope_reme.store.bm25 import BM25Index
from benchmarks.chinese_terms import KINDS, TOP, ChineseTask, chinese_task, hit_rates
from benchmarks.evidence import BUDGETS, RECALL_AT, Found, Passage, judge, mean
from benchmarks.locomo_data import (
    CATEGORIES,
    Conversation,
    Question,
    Turn,
    read_conversations,
    told_missing,
)
from benchmarks.peers.prepare import interpreter, is_prepared

ROOT: Final = Path(__file__).resolve().parents[1]
DATA: Final = ROOT.parent / "shared" / "data" / "locomo"
SIZES: Final = (300, 500, 800, 1200)
"""Chunk sizes to choose from, in bytes."""
HITS: Final = 40
"""Enough small chunks to fill the largest budget."""
CHINESE_TEXTS: Final = 10_000
EVIDENCE_BAR: Final = 0.79
CHINESE_BAR: Final = 0.97


@dataclass(frozen=True, slots=True)
class Judged:
    """One question of one setup."""

    question: Question
    found: Found


Setups = dict[str, list[Judged]]


def main(words: Sequence[str] | None = None) -> int:
    """Print the tables; 0 also when a bar is missed, or when there is no data.

    Args:
        words: the command line; that of the process without it.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="a folder of LoCoMo files")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="chunk bytes")
    parser.add_argument("--chinese-texts", type=int, default=CHINESE_TEXTS)
    parser.add_argument("--ours-only", action="store_true", help="leave ReMe out")
    arguments = parser.parse_args(words)
    with_reme = not arguments.ours_only and is_prepared()
    if not arguments.ours_only and not with_reme:
        print("ReMe is not installed: run benchmarks/peers/prepare.py.\n")
    conversations = read_conversations(arguments.data)
    if conversations:
        print(locomo_report(conversations, arguments.sizes, with_reme=with_reme))
    else:
        print(told_missing(arguments.data))
    print()
    print(chinese_report(chinese_task(arguments.chinese_texts), with_reme=with_reme))
    return 0


def locomo_report(
    conversations: Sequence[Conversation], sizes: Sequence[int], *, with_reme: bool
) -> str:
    """The tables of all setups, and of each category at the default chunk size."""
    default = Settings().chunk_byte_size
    setups: Setups = {}
    if with_reme:
        setups["ReMe: one chunk a session, its BM25"] = reme_by_session(conversations)
    for size in sorted({*sizes, default}):
        label = f"ours, chunks of {size} bytes" + (" (default)" if size == default else "")
        setups[label] = asyncio.run(ours(conversations, size))
    count = sum(len(conversation.questions) for conversation in conversations)
    chosen = next(label for label in setups if label.endswith("(default)"))
    return "\n\n".join(
        [
            f"LoCoMo, {len(conversations)} conversations, {count:,} questions with evidence",
            setups_table(setups),
            f"{chosen}, by category",
            categories_table(setups[chosen]),
            _evidence_verdict(mean(row.found for row in setups[chosen])),
        ]
    )


async def ours(conversations: Sequence[Conversation], chunk_byte_size: int) -> list[Judged]:
    """Every conversation recorded into a workspace of its own, then asked."""
    settings = Settings(chunk_byte_size=chunk_byte_size, watch=False, fsync=False)
    judged: list[Judged] = []
    for conversation in conversations:
        with tempfile.TemporaryDirectory(prefix="reme-locomo-") as folder:
            async with ReMe(folder, settings=settings, timezone="UTC") as reme:
                await recorded(reme, conversation)
                judged += await asked(reme, Path(folder), conversation)
    return judged


async def recorded(reme: ReMe, conversation: Conversation) -> None:
    """Record every session."""
    for session_id, turns in conversation.sessions.items():
        messages = [turn.as_message() for turn in turns]
        await reme.record(session_id, messages, distil=False)


async def asked(
    reme: ReMe, folder: Path, conversation: Conversation, **options: Any
) -> list[Judged]:
    """Ask every question.

    Args:
        reme: with the conversation recorded.
        folder: its workspace.
        conversation: whose questions.
        options: further arguments of `ReMe.search`.
    """
    logs: dict[str, dict[int, tuple[str, str]]] = {}
    judged: list[Judged] = []
    for question in conversation.questions:
        answer = await reme.search(question.text, limit=HITS, expand_links=False, **options)
        passages: list[Passage] = []
        for hit in answer.hits:
            if hit.path not in logs:
                logs[hit.path] = logged_turns(folder / hit.path)
            log, lines = logs[hit.path], range(hit.start_line, hit.end_line + 1)
            passages.append(Passage(hit.text, dict(log[line] for line in lines if line in log)))
        judged.append(Judged(question, judge(passages, question.evidence)))
    return judged


def logged_turns(log: Path) -> dict[int, tuple[str, str]]:
    """For each line of a session log, the id of its message and what was said."""
    found: dict[int, tuple[str, str]] = {}
    for number, line in enumerate(log.read_text("utf-8").split("\n"), start=1):
        row: dict[str, Any] = json.loads(line) if line else {}
        if "blocks" in row:
            said = "\n".join(block["text"] for block in row["blocks"] if block["type"] == "text")
            found[number] = (row["id"], said)
    return found


def reme_by_session(conversations: Sequence[Conversation]) -> list[Judged]:
    """ReMe's default for a session of up to 10,000 bytes is one chunk."""
    judged: list[Judged] = []
    for conversation in conversations:
        passages = {
            session_id: Passage(_rendered(turns), {turn.id: turn.text for turn in turns})
            for session_id, turns in conversation.sessions.items()
        }
        rankings = reme_rankings(
            {session_id: passage.text for session_id, passage in passages.items()},
            [question.text for question in conversation.questions],
            HITS,
        )
        judged += [
            Judged(question, judge([passages[key] for key in ranking], question.evidence))
            for question, ranking in zip(conversation.questions, rankings, strict=True)
        ]
    return judged


def reme_rankings(
    documents: Mapping[str, str], queries: Sequence[str], limit: int, tokenizer: str = "regex"
) -> list[list[str]]:
    """What ReMe's BM25 answers, in its own environment."""
    task = {
        "documents": dict(documents),
        "queries": list(queries),
        "limit": limit,
        "tokenizer": tokenizer,
    }
    done = subprocess.run(
        [str(interpreter()), "-m", "benchmarks.peers.reme_rankings"],
        input=json.dumps(task),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: list[list[str]] = json.loads(done.stdout)
    return found


def chinese_report(task: ChineseTask, *, with_reme: bool) -> str:
    """The table of hit rates."""
    rows = {"ours": hit_rates(task, our_answers(task))}
    if with_reme:
        for tokenizer in ("regex", "jieba"):
            label = f"ReMe, {tokenizer}" + (" (its default)" if tokenizer == "regex" else "")
            rows[label] = hit_rates(task, reme_answers(task, tokenizer))
    worst = min(rows["ours"].values())
    hard = chinese_task(len(task.texts), askable_share=1.0)
    rows["ours, commonest words too (not judged)"] = hit_rates(hard, our_answers(hard))
    lines = [
        f"Chinese hit@{TOP} among {len(task.texts):,} texts\n",
        f"| | {' | '.join(KINDS)} |",
        "|---" * (len(KINDS) + 1) + "|",
        *(
            f"| {label} | {' | '.join(f'{rates[kind]:.3f}' for kind in KINDS)} |"
            for label, rates in rows.items()
        ),
        f"\nBar: each >= {CHINESE_BAR}: {_verdict(worst >= CHINESE_BAR)} (lowest {worst:.3f})",
    ]
    return "\n".join(lines)


def our_answers(task: ChineseTask) -> dict[str, list[list[str]]]:
    """The ids `BM25Index` answers with: the tokenizer and the scores of the store."""
    index = BM25Index()
    index.add_docs(task.texts)
    return {
        kind: [[key for key, _ in index.retrieve(query, TOP)] for query, _ in queries]
        for kind, queries in task.queries.items()
    }


def reme_answers(task: ChineseTask, tokenizer: str) -> dict[str, list[list[str]]]:
    """The ids ReMe's BM25 answers with."""
    queries = [query for found in task.queries.values() for query, _ in found]
    rankings = iter(reme_rankings(task.texts, queries, TOP, tokenizer))
    return {kind: [next(rankings) for _ in found] for kind, found in task.queries.items()}


def setups_table(setups: Setups) -> str:
    """One line a setup."""
    return table({label: mean(row.found for row in rows) for label, rows in setups.items()})


def categories_table(rows: Sequence[Judged]) -> str:
    """One line a category of questions."""
    found: dict[str, Found] = {}
    for number, name in CATEGORIES.items():
        chosen = [row.found for row in rows if row.question.category == number]
        if chosen:
            found[f"{number} {name} ({len(chosen)})"] = mean(chosen)
    return table(found)


def table(rows: Mapping[str, Found]) -> str:
    """Recall, and the evidence within each budget."""
    budgets = " | ".join(f"within {budget / 1024:g} KB" for budget in BUDGETS)
    lines = [f"| | R@{RECALL_AT} | {budgets} |", "|---" * (len(BUDGETS) + 2) + "|"]
    for label, found in rows.items():
        cells = " | ".join(f"{value:.3f}" for value in (found.recall, *found.within))
        lines.append(f"| {label} | {cells} |")
    return "\n".join(lines)


def _rendered(turns: Sequence[Turn]) -> str:
    return "\n".join(f"[{turn.speaker} @ {turn.created_at}] {turn.text}" for turn in turns)


def _evidence_verdict(found: Found) -> str:
    value = found.within[1]
    verdict = _verdict(value >= EVIDENCE_BAR)
    return f"Bar: evidence within 3 KB >= {EVIDENCE_BAR}: {verdict} ({value:.3f})"


def _verdict(passed: bool) -> str:
    return "pass" if passed else "**MISS**"


if __name__ == "__main__":
    sys.exit(main())
