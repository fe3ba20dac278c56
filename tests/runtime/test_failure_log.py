"""Background failures: logged once per kind, counted always, shown by their newest message."""

from __future__ import annotations

import logging
import threading

import pytest

from agentscope_reme.runtime import FailureLog


def test_a_repeated_failure_makes_one_log_line_and_a_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures = FailureLog()
    with caplog.at_level(logging.WARNING, "agentscope_reme"):
        for attempt in range(50):
            failures.report("embedding", ConnectionError(f"attempt {attempt}"))

    assert [record.getMessage() for record in caplog.records] == [
        "embedding: ConnectionError: attempt 0 (further ones are only counted)"
    ]
    assert failures.counts == {"embedding": 50}
    assert failures.last == {"embedding": "ConnectionError: attempt 49"}


def test_another_place_or_another_type_is_another_kind(caplog: pytest.LogCaptureFixture) -> None:
    failures = FailureLog()
    with caplog.at_level(logging.WARNING, "agentscope_reme"):
        failures.report("embedding", ConnectionError("down"))
        failures.report("embedding", TimeoutError("slow"))
        failures.report("auto_memory", ConnectionError("down"))

    assert len(caplog.records) == 3
    assert failures.counts == {"embedding": 2, "auto_memory": 1}


def test_a_long_message_is_cut_and_notes_are_shown() -> None:
    failures = FailureLog()
    error = ValueError("x" * 10_000)
    failures.report("dream", error)
    noted = ValueError("bad\nunit")
    noted.add_note("(job 'a')")
    failures.report("watcher", noted)

    assert len(failures.last["dream"]) < 600
    assert failures.last["watcher"] == "ValueError: bad unit (job 'a')"


def test_counts_are_exact_when_threads_report_at_once() -> None:
    failures = FailureLog()

    def report() -> None:
        for _ in range(500):
            failures.report("vault", OSError("full"))

    threads = [threading.Thread(target=report) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures.counts == {"vault": 4000}


def test_what_was_handed_out_does_not_change_later() -> None:
    failures = FailureLog()
    failures.report("vault", OSError("full"))
    counts = failures.counts
    failures.report("vault", OSError("full"))
    assert counts == {"vault": 1}
