"""A shared index that cannot be used says what to do, and never shows a password."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.store.scaleout import (
    milvus_collections,
    milvus_index,
    seekdb_connections,
    seekdb_index,
)
from agentscope_reme.store.scaleout.milvus_collections import MilvusAddress
from agentscope_reme.store.scaleout.seekdb_connections import SeekdbAddress


def nothing(_name: str) -> None:
    return None


@pytest.mark.parametrize(
    ("make", "module", "extra"),
    [(seekdb_index, seekdb_connections, "seekdb"), (milvus_index, milvus_collections, "milvus")],
)
def test_a_missing_client_names_its_extra(
    monkeypatch: pytest.MonkeyPatch, make: Callable[..., object], module: object, extra: str
) -> None:
    monkeypatch.setattr(module, "find_spec", nothing)
    with pytest.raises(BadInput, match=rf"pip install 'agentscope-reme\[{extra}\]'"):
        make(namespace="bot")


def test_there_is_at_least_one_shard() -> None:
    with pytest.raises(BadInput, match="shard"):
        seekdb_index(namespace="bot", shards=0)


def test_addresses_keep_secrets_to_themselves() -> None:
    assert "hidden" not in repr(SeekdbAddress(password="hidden"))
    assert "hidden" not in repr(MilvusAddress(token="hidden"))
