"""The example of typed memories runs on both lines, and stays short."""

from __future__ import annotations

from pathlib import Path

import pytest
import typed_memory

from tests.loopback.server import LoopbackProvider


async def test_what_was_said_is_learnt_asked_for_and_exported(
    tmp_path: Path,
    provider: LoopbackProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for kind in ("LLM", "EMBEDDING"):
        monkeypatch.setenv(f"REME_{kind}_API_KEY", "k")
        monkeypatch.setenv(f"REME_{kind}_BASE_URL", provider.openai_url)
    fact = {"content": "Alice drinks green tea.", "turn": 1, "score": 0.8}
    provider.reply(structured={"memories": [fact], "profile": []})
    provider.reply(structured={"queries": ["migration"]})
    provider.reply(structured={"answer": "", "sources": [], "read": []})
    provider.reply(structured={"queries": ["tea or coffee"]})
    provider.reply(structured={"answer": "Green tea, since February.", "sources": [1]})
    answer = await typed_memory.remember(str(tmp_path))
    assert "Green tea, since February." in answer
    assert "2026-02-28 10:00:00 Alice drinks green tea." in answer
    shown = capsys.readouterr().out
    assert "learnt: Alice drinks green tea. (said 2026-02-28 10:00:00)" in shown
    assert "migrations fail: Back up, then run `migrate --safe`." in shown
    assert "digest/personal/alice-alice-drinks-green-tea" in shown


async def test_without_a_key_it_says_at_once_that_the_conversation_is_kept(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    for kind in ("LLM", "EMBEDDING"):
        for name in ("API_KEY", "BASE_URL", "BACKEND"):
            monkeypatch.delenv(f"REME_{kind}_{name}", raising=False)
    await typed_memory.remember(str(tmp_path))
    shown = capsys.readouterr().out
    assert "1 conversation kept, but not read to the end yet" in shown
    assert "migrations fail: Back up, then run `migrate --safe`." in shown
    assert "REME_LLM_API_KEY" in caplog.text


def test_it_is_under_60_lines() -> None:
    assert len(Path(typed_memory.__file__).read_text(encoding="utf-8").splitlines()) < 60
