"""The store contract in the plainest way: dictionaries, and formulas written out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from agentscope_reme.errors import BadInput
from agentscope_reme.schema import FileChunk, FileLink, FileNode, SearchHit, text_hash
from agentscope_reme.store.base import BaseFileStore
from agentscope_reme.store.file_entry import front_matter_of
from agentscope_reme.store.filters import check_filter, content_matches, day_of, path_matches
from agentscope_reme.store.index_state import CONTEXT, K1, B
from agentscope_reme.store.indexed_text import ChunkWords, IndexedText
from agentscope_reme.store.keyword_query import KeywordQuery
from agentscope_reme.store.records import FileStamp, IndexedFile, SearchFilter, StoreStats
from agentscope_reme.store.tokenizers import MemoryTokenizer

Scored = tuple[float, str, int, FileChunk]


class ReferenceStore(BaseFileStore):
    def __init__(self) -> None:
        self._tokenizer = MemoryTokenizer()
        self._text = IndexedText(self._tokenizer)
        self._files: dict[str, IndexedFile] = {}
        self._words: dict[str, list[ChunkWords | None]] = {}
        self._spaces: dict[str, dict[str, list[float]]] = {}
        self._revision = 0

    def open(self) -> None: ...

    def close(self) -> None: ...

    def refresh(self) -> None: ...

    def optimize(self) -> None: ...

    def apply(self, upserts: Sequence[IndexedFile], deletes: Sequence[str] = ()) -> None:
        for path in deletes:
            self._files.pop(path, None)
            self._words.pop(path, None)
        for file in upserts:
            self._files[file.node.path] = file
            self._words[file.node.path] = self._text.words(file.node, file.chunks)
        self._revision += 1

    def clear(self) -> None:
        self._files.clear()
        self._words.clear()

    def node(self, path: str) -> FileNode | None:
        file = self._files.get(path)
        return file.node if file else None

    def nodes(self, prefix: str = "") -> list[FileNode]:
        return [self._files[p].node for p in sorted(self._files) if p.startswith(prefix)]

    def chunks(self, path: str) -> list[FileChunk]:
        return list(self._files[path].chunks) if path in self._files else []

    def stamps(self) -> dict[str, FileStamp]:
        nodes = self.nodes()
        return {n.path: FileStamp(n.st_mtime_ns, n.size, n.content_hash) for n in nodes}

    def keyword_search(
        self, query: str, *, limit: int, where: SearchFilter | None = None
    ) -> list[SearchHit]:
        wanted = KeywordQuery.of(self._tokenizer, query)
        worth = dict(zip(wanted.keys, wanted.weights, strict=True))
        documents = [words for per in self._words.values() for words in per if words]
        counts = {
            id(words): dict(
                zip(words.counts.keys.tolist(), words.counts.counts.tolist(), strict=True)
            )
            for words in documents
        }
        average = sum(w.length for w in documents) / len(documents) if documents else 1
        weights = {
            key: value * _idf(sum(key in of for of in counts.values()), len(documents))
            for key, value in worth.items()
        }
        plain: dict[str, list[float]] = {}
        found: list[tuple[str, int, int, FileChunk]] = []
        for path, position, chunk, words in self._searchable(where):
            norm = K1 * (1 - B + B * words.length / average)
            of_words = counts[id(words)]
            gains = [weights[k] * _gain(min(of_words.get(k, 0), 255), norm) for k in worth]
            of_file = plain.setdefault(path, [])
            found.append((path, len(of_file), position, chunk))
            of_file.append(sum(gains))
        scored = [
            (-_with_context(plain[path], number), path, position, chunk)
            for path, number, position, chunk in found
            if plain[path][number] > 0
        ]
        return self._hits(scored, limit, "keyword")

    def vector_search(
        self,
        vector: Sequence[float],
        *,
        limit: int,
        where: SearchFilter | None = None,
        space_id: str | None = None,
    ) -> list[SearchHit]:
        if space_id is not None and space_id not in self._spaces:
            return []
        known = self._newest if space_id is None else self._spaces[space_id]
        width = len(next(iter(known.values()), vector))
        if len(vector) != width:
            raise BadInput(len(vector), "other width", "Use one model.")
        scored = [
            (-_cosine(vector, known[key]), path, position, chunk)
            for path, position, chunk, _words in self._searchable(where)
            if (key := text_hash(chunk.text)) in known
        ]
        return self._hits(scored, limit, "vector")

    def outlinks(self, path: str) -> list[FileLink]:
        return list(self._files[path].node.links) if path in self._files else []

    def inlinks(self, path: str) -> list[FileLink]:
        links = [link for node in self.nodes() for link in node.links]
        return [k for k in links if k.target_path == path and k.source_path != path]

    def tags(self) -> dict[str, int]:
        return dict(sorted(Counter(tag for node in self.nodes() for tag in node.tags).items()))

    def missing_vectors(self, space_id: str, limit: int) -> list[tuple[str, str]]:
        known = self._spaces.get(space_id, {})
        texts = {text_hash(c.text): c.text for _p, _i, c, _w in self._searchable(None)}
        return [(key, text) for key, text in texts.items() if key not in known][:limit]

    def put_vectors(self, space_id: str, vectors: Mapping[str, Sequence[float]]) -> None:
        known = self._spaces.get(space_id, {})
        merged = {**known, **{key: list(vector) for key, vector in vectors.items()}}
        if len({len(vector) for vector in merged.values()}) > 1:
            raise BadInput(space_id, "vectors of several widths", "Use one model.")
        others = [(name, kept) for name, kept in self._spaces.items() if name != space_id]
        self._spaces = dict([*others[-1:], (space_id, merged)])

    @property
    def _newest(self) -> dict[str, list[float]]:
        return next(reversed(self._spaces.values()), {})

    def stats(self) -> StoreStats:
        texts = {text_hash(c.text) for _p, _i, c, _w in self._searchable(None)}
        done = len(texts & self._newest.keys())
        return StoreStats(
            files=len(self._files),
            chunks=sum(len(f.chunks) for f in self._files.values()),
            links=sum(len(n.links) for n in self.nodes()),
            tags=len(self.tags()),
            vectors=done,
            vectors_pending=len(texts) - done if self._spaces else 0,
            revision=self._revision,
        )

    def _searchable(
        self, where: SearchFilter | None
    ) -> list[tuple[str, int, FileChunk, ChunkWords]]:
        if where is not None:
            check_filter(where)
        return [
            (path, position, chunk, words)
            for path, file in self._files.items()
            if where is None
            or (
                path_matches(where, path)
                and content_matches(where, path, file.node.tags, front_matter_of(file.node))
            )
            for position, (chunk, words) in enumerate(
                zip(file.chunks, self._words[path], strict=True)
            )
            if words is not None
        ]

    def _hits(self, scored: list[Scored], limit: int, branch: str) -> list[SearchHit]:
        best = sorted(scored, key=lambda s: (round(s[0], 5), s[1], s[2]))[: max(limit, 0)]
        return [
            SearchHit(
                chunk_id=chunk.id,
                path=path,
                start_line=chunk.start_line,
                end_line=chunk.end_line,
                text=chunk.text,
                headings=chunk.headings,
                score=-score,
                scores={branch: -score},
                ranks={branch: rank},
                date=day_of(path, front_matter_of(self._files[path].node)),
                name=self._files[path].node.front_matter.name,
                description=self._files[path].node.front_matter.description,
            )
            for rank, (score, path, _position, chunk) in enumerate(best, 1)
        ]


def _idf(frequency: int, documents: int) -> float:
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def _gain(count: int, norm: float) -> float:
    return count * (K1 + 1) / (count + norm) if count else 0.0


def _with_context(scores: list[float], number: int) -> float:
    """The score of a file's passage with its share of the others' scores."""
    around = sum(scores[max(number - 1, 0) : number]) + sum(scores[number + 1 : number + 2])
    return scores[number] + CONTEXT.neighbours * around + CONTEXT.file * max(scores)


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / (math.hypot(*a) * math.hypot(*b))
