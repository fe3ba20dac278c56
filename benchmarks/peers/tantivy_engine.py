"""tantivy, with texts cut into words beforehand: its own tokenizers do not cut Chinese."""

from __future__ import annotations

import tantivy

from benchmarks.peers.driving import TOP, Engine, File, main
from benchmarks.peers.words import words

_HEAP_BYTES = 128_000_000


class TantivyEngine(Engine):
    """A commit is durable and visible after a reload; the texts are stored in the index."""

    def open(self) -> None:
        schema = (
            tantivy.SchemaBuilder()
            .add_text_field("path", stored=False, tokenizer_name="raw")
            .add_text_field("words", stored=False, tokenizer_name="whitespace")
            .add_bytes_field("text", stored=True, indexed=False)
            .build()
        )
        self._index = tantivy.Index(schema, path=str(self.home), reuse=True)
        self._searcher = self._index.searcher()
        self._writer = None

    def add(self, files: list[File]) -> None:
        writer = self._writing()
        for file in files:
            for text in file.chunks:
                document = tantivy.Document()
                document.add_text("path", file.path)
                document.add_text("words", " ".join(words(text)))
                document.add_bytes("text", text.encode())
                writer.add_document(document)

    def finish(self) -> None:
        self._writing().commit()
        self._index.reload()
        self._searcher = self._index.searcher()

    def search(self, query: str) -> list[str]:
        terms = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._index.schema, "words", word))
            for word in words(query)
        ]
        hits = self._searcher.search(tantivy.Query.boolean_query(terms), TOP, count=False).hits
        return [
            bytes(self._searcher.doc(address).get_first("text")).decode() for _, address in hits
        ]

    def replace(self, file: File) -> None:
        self._writing().delete_documents_by_term("path", file.path)
        self.add([file])
        self.finish()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.wait_merging_threads()

    def _writing(self) -> tantivy.IndexWriter:
        if self._writer is None:
            self._writer = self._index.writer(heap_size=_HEAP_BYTES, num_threads=1)
        return self._writer


if __name__ == "__main__":
    main(TantivyEngine)
