"""A `LocalFileStore` whose vectors are kept in Chroma."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from agentscope_reme.errors import BadInput, StorageFailed
from agentscope_reme.schema import SearchHit
from agentscope_reme.settings import Settings
from agentscope_reme.store.local_store import LocalFileStore
from agentscope_reme.store.records import SearchFilter
from agentscope_reme.store.shadow import LocalShadow
from agentscope_reme.store.tokenizers import MemoryTokenizer
from agentscope_reme.workspace import Workspace


class ChromaFileStore(LocalFileStore):
    """Everything as in a `LocalFileStore`, and the vectors in ``metadata/chroma/``.

    Chroma runs inside this process and is not made for several of them: use one process for a
    workspace, or the local store. Vectors it lost are computed anew, searches answer from keywords
    meanwhile.

    Args:
        workspace: whose files are indexed.
        settings: chunk size and limits.
        tokenizer: as for `LocalFileStore`.

    Raises:
        BadInput: Chroma is not installed.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        settings: Settings | None = None,
        tokenizer: MemoryTokenizer | None = None,
    ) -> None:
        super().__init__(workspace, settings=settings, tokenizer=tokenizer)
        if find_spec("chromadb") is None:
            raise BadInput(
                "chroma",
                "this store needs Chroma, which is not installed",
                "pip install 'agentscope-reme[chroma]', or use the local store.",
            )
        from agentscope_reme.store.chroma_database import ChromaDatabase
        from agentscope_reme.store.chroma_vectors import ChromaVectors

        self._vectors = ChromaVectors(ChromaDatabase(workspace.metadata / "chroma"))
        self._session.vectors = self._vectors

    def open(self) -> None:
        """Load or create the index; vectors that are gone count as missing.

        Raises:
            StorageFailed: the folder cannot be written, or another process blocks it.
        """
        super().open()
        self._run(lambda: self._vectors.check(self._connection))
        self._recover()

    def close(self) -> None:
        """Release files; the store can be opened again."""
        super().close()
        self._vectors.forget()

    def vector_search(
        self,
        vector: Sequence[float],
        *,
        limit: int,
        where: SearchFilter | None = None,
        space_id: str | None = None,
    ) -> list[SearchHit]:
        """Cosine similarity over the vectors of one space, best first; none when Chroma fails."""
        found = super().vector_search(vector, limit=limit, where=where, space_id=space_id)
        self._recover()
        return found

    def optimize(self) -> None:
        """As in a `LocalFileStore`; vectors of texts that are gone leave Chroma, too."""
        super().optimize()
        self._tidy(traceless=False)

    def erase(self) -> None:
        """As in a `LocalFileStore`; Chroma's files are written anew.

        Raises:
            StorageFailed: another process kept it from that.
        """
        super().erase()
        self._tidy(traceless=True)

    def shadow(self) -> LocalShadow:
        """Begin an index beside this one; both share the vectors, which are known by text."""
        found = super().shadow()
        store = found.store
        if isinstance(store, ChromaFileStore):
            store._session.vectors = self._vectors
        return found

    def _tidy(self, *, traceless: bool) -> None:
        try:
            self._run(lambda: self._vectors.prune(self._connection, traceless=traceless))
        except StorageFailed:
            self._vectors.lost = True
            self._recover()

    def _recover(self) -> None:
        if self._vectors.lost:
            self._run(lambda: self._session.write(lambda: self._vectors.recover(self._connection)))
