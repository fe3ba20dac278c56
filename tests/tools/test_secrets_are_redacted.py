"""Secrets are taken out and named; ordinary numbers and words stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.errors import BadInput
from agentscope_reme.tools.redaction import Redactor

A = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0"
SECRETS = [
    ("provider API key", f"sk-{A}"),
    ("provider API key", f"sk-ant-{A}"),
    ("provider API key", f"sk-proj-{A}"),
    ("payment API key", f"sk_live_{A[:24]}"),
    ("AWS access key", "AKIAIOSFODNN7EXAMPLE"),
    ("GitHub token", f"ghp_{A[:36]}"),
    ("GitHub token", f"github_pat_{A}"),
    ("GitLab token", f"glpat-{A[:20]}"),
    ("Slack token", "xoxb-123456789012-abcdefGHIJ"),
    ("Google API key", f"AIza{A[:35]}"),
    ("JSON web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N"),
    ("bearer token", f"Bearer {A}"),
    ("URL password", "admin:hunter22"),
    ("named secret", "password: Tr0ub4dor&3"),
    ("named secret", "API_KEY=abcd1234efgh"),
    ("named secret", "密码是 abc12345xyz"),
    ("payment card number", "4111 1111 1111 1111"),
    ("payment card number", "5500-0000-0000-0004"),
    ("private key", "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"),
    ("private key", "-----BEGIN PRIVATE KEY-----\nMIIEow cut off"),
]
HARMLESS = [
    "The order number is 1234 5678 9012 3456.",
    "Phone +49 30 901820, ISBN 978-3-16-148410-0",
    "commit 3f2c1e9d8b7a6f5e4d3c2b1a0f9e8d7c6b5a4f3e",
    "sk-learn and task-management are fine, so is sk-1",
    "The token budget is 1500 tokens; the password policy changed.",
    "See https://example.org/a:b@c and user@example.org",
    "密码策略改了，口令长度 12 位。",
    "0000 0000 0000 0000",
    "2026-06-20T09:30:00 1781948400000",
]


@pytest.mark.parametrize(("name", "secret"), SECRETS)
def test_a_secret_is_named_and_gone(name: str, secret: str) -> None:
    text = f"before https://{secret}@db end" if name == "URL password" else f"use {secret} now"
    redacted = Redactor().redact(text)
    assert name in redacted.found
    assert f"(redacted {name})" in redacted.text
    assert secret not in redacted.text


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor().redact(text).text == text


def test_patterns_of_ones_own_are_used_and_checked() -> None:
    redactor = Redactor({"badge": r"BADGE-\d{4}"})
    assert redactor.redact("my BADGE-1234").text == "my (redacted badge)"
    with pytest.raises(BadInput, match="'bad' is no regular expression"):
        Redactor({"bad": "("})


@given(st.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = Redactor().redact(text).text
    assert Redactor().redact(once).text == once


def test_hostile_text_takes_no_more_than_linear_time() -> None:
    redactor = Redactor()
    for unit in ("-----BEGIN PRIVATE KEY-----", "1 ", "sk-", "password: ", "a:b", "eyJa."):
        redactor.redact(unit * 20_000)  # hangs when a pattern backtracks
