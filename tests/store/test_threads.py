"""One store, many threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from agentscope_reme.store.local_store import LocalFileStore
from tests.store.builders import indexed, rare


def test_writers_and_readers_do_not_disturb_each_other(local_store: LocalFileStore) -> None:
    def write(number: int) -> None:
        text = f"apple {rare(number)} 数据库"
        local_store.apply([indexed(f"digest/wiki/{number}.md", text)])
        assert len(local_store.keyword_search(rare(number), limit=3)) == 1

    def read(_number: int) -> None:
        hits = local_store.keyword_search("apple 数据库", limit=50)
        assert len({hit.path for hit in hits}) == len(hits)
        local_store.stats()

    with ThreadPoolExecutor(6) as threads:
        jobs = [threads.submit(job, number) for number in range(30) for job in (write, read)]
        for job in jobs:
            job.result()
    assert local_store.stats().files == 30
    assert len(local_store.keyword_search("apple", limit=50)) == 30
