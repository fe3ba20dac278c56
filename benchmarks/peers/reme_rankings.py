"""ReMe's BM25 over given texts: reads a task from standard input, writes the rankings.

In: ``{"documents": {id: text}, "queries": [text], "limit": n, "tokenizer": "regex" | "jieba"}``;
out: for each query the ids, best first.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
from typing import Any

os.environ.setdefault("REME_DISABLE_LOGURU", "true")

from reme.components.keyword_index import BM25Index
from reme.components.tokenizer import JiebaTokenizer


async def rank(task: dict[str, Any]) -> list[list[str]]:
    """Index the documents in memory and answer the queries."""
    index = BM25Index()
    if task.get("tokenizer") == "jieba":
        index.tokenizer = JiebaTokenizer()
        await index.tokenizer.start()
    await index.start()
    await index.add_docs(task["documents"])
    return [list(await index.retrieve(query, task["limit"])) for query in task["queries"]]


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    task = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # its components keep their files in the working directory
        found = asyncio.run(rank(task))
        os.chdir("/")
    json.dump(found, sys.stdout)
