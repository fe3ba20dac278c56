"""Many workspaces in one set of tables, and nothing of one ever shows in another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agentscope_reme.errors import BadInput
from agentscope_reme.schema import text_hash
from agentscope_reme.store.records import FileGrowth, FileStamp, SearchFilter
from agentscope_reme.store.scaleout import SharedFileStore, SharedIndex
from agentscope_reme.store.scaleout.engine import Restriction
from agentscope_reme.store.scaleout.identity import name_in
from agentscope_reme.workspace import Workspace
from tests.scaleout.conftest import Opener
from tests.store.builders import card, indexed

pytestmark = pytest.mark.scaleout
SECRET = "the launch code is zebra 斑马"
ANN = indexed("digest/wiki/ann.md", card("Ann", "private", f"{SECRET} [[shared.md]]", "secret"))


def filled(opened: Opener, folder: Path) -> tuple[SharedFileStore, SharedFileStore]:
    ann, ben = opened(folder, user="ann"), opened(folder, user="ben")
    ann.apply([ANN])
    ann.put_vectors("m", {text_hash(ANN.chunks[0].text): [1.0, 0.0]})
    return ann, ben


def everything_seen(store: SharedFileStore) -> list[object]:
    """What every call of the contract tells of a workspace that has nothing."""
    path, growth = (
        ANN.node.path,
        FileGrowth(
            ANN.node.path,
            FileStamp(1, ANN.node.size, ANN.node.content_hash),
            FileStamp(2, ANN.node.size + 1, "0" * 64),
            1,
            ANN.chunks,
        ),
    )
    where = SearchFilter(tags=("secret",))
    stats = store.stats()
    return [
        store.node(path),
        store.nodes(),
        store.nodes("digest"),
        store.chunks(path),
        store.stamps(),
        store.keyword_search("zebra launch code", limit=9),
        store.keyword_search("斑马", limit=9),
        store.keyword_search("斑", limit=9),
        store.keyword_search("private", limit=9, where=where),
        store.vector_search([1.0, 0.0], limit=9),
        store.vector_search([1.0, 0.0], limit=9, space_id="m"),
        store.vector_search([1.0, 0.0], limit=9, where=SearchFilter(paths=frozenset({path}))),
        store.outlinks(path),
        store.inlinks("shared.md"),
        store.tags(),
        store.missing_vectors("m", 9),
        store.vector_spaces(),
        store.kept_vectors("m", [text_hash(ANN.chunks[0].text)]),
        [n for n in store.vector_counts("m") if n],
        [n for n in (stats.files, stats.chunks, stats.links, stats.tags, stats.vectors) if n],
        store.grow(growth),
    ]


def test_nothing_of_a_workspace_is_told_to_another(opened: Opener, tmp_path: Path) -> None:
    ann, ben = filled(opened, tmp_path)
    assert [told for told in everything_seen(ben) if told] == []
    assert len([told for told in everything_seen(ann) if told]) > 15  # all of it can be told


def test_the_engine_itself_compares_the_workspace(
    index: SharedIndex, opened: Opener, namespace: str, tmp_path: Path
) -> None:
    """Even asked for the words of another workspace, which nobody outside it can make."""
    filled(opened, tmp_path)
    engine, owner = index.engine, name_in(namespace, Workspace(tmp_path, user="ann"))
    terms = engine.sample(owner, 1)[0].split()
    assert [found.path for found in engine.matching(owner, terms, 9)] == [ANN.node.path]
    (space,) = engine.spaces(owner)
    for other in (
        name_in(namespace, Workspace(tmp_path, user="ben")),
        f'{owner}" or "1" == "1',
        "",
    ):
        assert engine.matching(other, terms, 9) == []
        assert engine.matching(other, terms, 9, Restriction(prefix="digest")) == []
        assert engine.containing(other, ["斑"], 9) == []
        assert engine.with_texts(other, [text_hash(ANN.chunks[0].text)]) == []
        assert engine.nearest(other, space, np.array([1, 0], np.float32), 9, exact=True) == []


def test_changes_of_a_workspace_leave_the_others_alone(opened: Opener, tmp_path: Path) -> None:
    ann, ben = filled(opened, tmp_path)
    before = (ann.nodes(), ann.stats(), ann.keyword_search("zebra", limit=3))
    ben.apply([ANN, indexed("digest/wiki/ben.md", "zebra zebra")])
    ben.apply([], [ANN.node.path])
    ben.put_vectors("m", {text_hash("zebra zebra"): [0.0, 1.0]})
    ben.clear()
    ben.optimize()
    ben.erase()
    assert (ann.nodes(), ann.stats(), ann.keyword_search("zebra", limit=3)) == before
    assert len(ann.vector_search([1.0, 0.0], limit=3)) == 1


@pytest.mark.parametrize("user", ["o'neil", 'quote"d', "back\\slash", "%", "王小明", "ann "])
def test_any_name_is_only_a_name(opened: Opener, tmp_path: Path, user: str) -> None:
    store, ann = opened(tmp_path, user=user), opened(tmp_path, user="ann")
    store.apply([indexed('digest/wiki/it\'s "here" 100%.md', card(body="zebra [[a'b\"c]]"))])
    assert [hit.path for hit in store.keyword_search("zebra", limit=3)] == [
        'digest/wiki/it\'s "here" 100%.md'
    ]
    assert len(store.inlinks("a'b\"c")) == 1
    assert [n.path for n in store.nodes("digest/wiki/it's \"")] == [
        'digest/wiki/it\'s "here" 100%.md'
    ]
    assert store.nodes("digest/wiki/it_s") == []
    assert ann.nodes() == []


@pytest.mark.parametrize("namespace", ["", "a/b", "new\nline"])
def test_a_namespace_has_to_be_a_name(namespace: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        name_in(namespace, Workspace(tmp_path))


def test_long_names_stay_apart(tmp_path: Path) -> None:
    names = {name_in("bot", Workspace(tmp_path, user="u" * 110 + str(n))) for n in range(50)}
    assert len(names) == 50
    assert max(map(len, names)) <= 128
