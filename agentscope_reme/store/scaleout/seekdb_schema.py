"""The tables of a shared index in seekdb or OceanBase.

Every row names its workspace, and every key begins with it: a workspace is a range of each table.
Tables keep the default, clustered organisation: what was committed is then found at once, also by
vector (in heap tables an approximate query misses rows for a second).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from agentscope_reme.errors import StorageFailed

if TYPE_CHECKING:
    from pymysql.cursors import Cursor

_LAYOUT: Final = "1"
LONGEST_NAME: Final = 128
LONGEST_PATH: Final = 1024

_META: Final = (
    "CREATE TABLE IF NOT EXISTS meta (name VARCHAR(64) PRIMARY KEY, value VARCHAR(64) NOT NULL)"
)
_OF_SHARD: Final = (
    """
    heads_{shard} (
        workspace VARBINARY(128) NOT NULL,
        owner VARCHAR(64) NOT NULL DEFAULT '',
        revision BIGINT NOT NULL DEFAULT 0,
        settled BOOLEAN NOT NULL DEFAULT FALSE,
        answers BIGINT NOT NULL DEFAULT 0,
        length BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (workspace)
    )
    """,
    """
    files_{shard} (
        workspace VARBINARY(128) NOT NULL,
        path VARBINARY(1024) NOT NULL,
        mtime_ns BIGINT NOT NULL,
        size BIGINT NOT NULL,
        content_hash VARCHAR(64) NOT NULL,
        rules VARCHAR(255) NOT NULL,
        record LONGBLOB NOT NULL,
        links INT NOT NULL,
        edges INT NOT NULL,
        answers INT NOT NULL,
        length BIGINT NOT NULL,
        PRIMARY KEY (workspace, path)
    )
    """,
    """
    links_{shard} (
        workspace VARBINARY(128) NOT NULL,
        target VARBINARY(16) NOT NULL,
        path VARBINARY(1024) NOT NULL,
        PRIMARY KEY (workspace, target, path),
        KEY of_file (workspace, path)
    )
    """,
    """
    tags_{shard} (
        workspace VARBINARY(128) NOT NULL,
        tag VARBINARY(512) NOT NULL,
        path VARBINARY(1024) NOT NULL,
        PRIMARY KEY (workspace, tag, path),
        KEY of_file (workspace, path)
    )
    """,
    """
    chunks_{shard} (
        workspace VARBINARY(128) NOT NULL,
        chunk_id VARBINARY(16) NOT NULL,
        path VARBINARY(1024) NOT NULL,
        layer VARBINARY(1024) NOT NULL,
        position INT NOT NULL,
        answer INT NOT NULL,
        start_line INT NOT NULL,
        end_line INT NOT NULL,
        length INT NOT NULL,
        text_hash VARBINARY(16) NOT NULL,
        state VARBINARY(8) NOT NULL,
        text LONGBLOB,
        details LONGBLOB,
        terms LONGTEXT COLLATE utf8mb4_bin,
        PRIMARY KEY (workspace, chunk_id),
        KEY of_file (workspace, path, position),
        KEY of_text (workspace, text_hash),
        FULLTEXT INDEX words (terms) WITH PARSER space
    )
    """,
    """
    spaces_{shard} (
        workspace VARBINARY(128) NOT NULL,
        name VARBINARY(512) NOT NULL,
        table_number INT NOT NULL,
        width INT NOT NULL,
        written BIGINT NOT NULL,
        PRIMARY KEY (workspace, name)
    )
    """,
    """
    space_tables_{shard} (
        table_number INT NOT NULL AUTO_INCREMENT,
        name VARBINARY(512) NOT NULL,
        width INT NOT NULL,
        PRIMARY KEY (table_number),
        UNIQUE KEY named (name, width)
    )
    """,
)
_OF_SPACE: Final = """
    CREATE TABLE IF NOT EXISTS vectors_{shard}_{number} (
        workspace VARBINARY(128) NOT NULL,
        text_hash VARBINARY(16) NOT NULL,
        vector VECTOR({width}) NOT NULL,
        PRIMARY KEY (workspace, text_hash),
        VECTOR INDEX nearest (vector) WITH (distance=cosine, type=hnsw, lib=vsag)
    )
"""


class Tables:
    """The names of the tables a workspace is in.

    Args:
        workspace: its name.
        shards: how many sets of tables there are; each worker gets the same one.
    """

    def __init__(self, workspace: bytes, shards: int) -> None:
        digest = hashlib.blake2b(workspace, digest_size=8).digest()
        self.shard: Final = f"{int.from_bytes(digest, 'big') % shards:03}"
        self.heads: Final = f"heads_{self.shard}"
        self.files: Final = f"files_{self.shard}"
        self.links: Final = f"links_{self.shard}"
        self.tags: Final = f"tags_{self.shard}"
        self.chunks: Final = f"chunks_{self.shard}"
        self.spaces: Final = f"spaces_{self.shard}"
        self.space_tables: Final = f"space_tables_{self.shard}"

    def vectors(self, number: int) -> str:
        """The table of an embedding space."""
        return f"vectors_{self.shard}_{number}"


def create_tables(cursor: Cursor, shards: int) -> None:
    """Make what tables are missing.

    Raises:
        StorageFailed: they were made for another number of shards or another version.
    """
    cursor.execute(_META)
    for name, value in (("layout", _LAYOUT), ("shards", str(shards))):
        cursor.execute("INSERT IGNORE INTO meta VALUES (%s, %s)", (name, value))
        cursor.execute("SELECT value FROM meta WHERE name = %s", (name,))
        row = cursor.fetchone()
        if row is None or row[0] != value:
            raise StorageFailed(
                f"{name}={value}",
                f"the tables of this database were made with {name}={row and row[0]}",
                "Use the same value in every worker, or another `database`.",
            )
    for shard in range(shards):
        for table in _OF_SHARD:
            cursor.execute(f"CREATE TABLE IF NOT EXISTS {table.format(shard=f'{shard:03}')}")


def create_space(cursor: Cursor, tables: Tables, number: int, width: int) -> None:
    """Make the table of an embedding space, if it is missing."""
    cursor.execute(_OF_SPACE.format(shard=tables.shard, number=number, width=width))
