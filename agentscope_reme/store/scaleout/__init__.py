"""One index for many workers: `BaseFileStore` over a database, while the files stay files.

Use `seekdb_index` or `milvus_index` as ``ReMe(file_store=...)``; ``docs/scaling.md`` says when.
"""

from __future__ import annotations

from agentscope_reme.store.scaleout.shared_index import SharedIndex, milvus_index, seekdb_index
from agentscope_reme.store.scaleout.shared_store import SharedFileStore

__all__ = ["SharedFileStore", "SharedIndex", "milvus_index", "seekdb_index"]
