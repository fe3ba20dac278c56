"""A store by name: what is mistyped is told with the choices, and nothing heavy is loaded early."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.typed.stores import BACKENDS, make_store
from agentscope_reme.typed.stores.local import LocalVectorStore
from tests.typed_stores.builders import EVERYTHING, node


def test_an_unknown_store_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="local, chroma, qdrant, elasticsearch, es"):
        make_store("pgvector", tmp_path)


def test_an_unknown_option_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"prefer_grpc.*collection"):
        make_store("qdrant", tmp_path, hostname="h")
    with pytest.raises(BadInput, match="has no such option"):
        make_store("local", tmp_path, host="h")
    with pytest.raises(BadInput, match="Pass `hosts` or `cloud_id`"):
        make_store("es", tmp_path)
    with pytest.raises(BadInput, match="lower case"):
        make_store("qdrant", tmp_path, collection="Not This/One")


def test_a_missing_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chromadb", None)
    monkeypatch.delitem(sys.modules, "agentscope_reme.typed.stores.chroma", raising=False)
    with pytest.raises(BadInput, match=r"agentscope-reme\[chroma\]"):
        make_store("chroma", tmp_path)


def test_the_local_store_keeps_a_folder_of_its_own(tmp_path: Path) -> None:
    store = make_store("local", tmp_path)
    assert isinstance(store, LocalVectorStore)
    store.open()
    store.put([node("a")])
    store.close()
    assert [place.name for place in tmp_path.iterdir()] == ["typed"]
    again = make_store("local", str(tmp_path))
    again.open()
    assert again.count(EVERYTHING) == 1
    again.close()


def test_no_engine_is_loaded_before_it_is_chosen() -> None:
    code = (
        "import sys, agentscope_reme.typed.nodes, agentscope_reme.typed.stores\n"
        "from agentscope_reme.typed.stores.factory import make_store\n"
        "loaded = {'chromadb', 'qdrant_client', 'elasticsearch', 'grpc'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "import sys, agentscope_reme.typed.stores; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_names_are_the_documented_ones() -> None:
    assert BACKENDS == ("local", "chroma", "qdrant", "elasticsearch")
