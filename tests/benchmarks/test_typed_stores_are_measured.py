"""The benchmark of typed memory runs, and says how it stands to its bars."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import typed


def test_a_small_run_tells_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed, "INSERTS", 5)
    found = typed.measured("local", tmp_path, 250)
    table = typed.table(found, "local", 250)
    assert "top-10 of one person" in table
    assert "exact top-10 of all, times one numpy product | <= 1.50" in table
    assert "here 250" in table
    assert all(value > 0 for value in found.values())
