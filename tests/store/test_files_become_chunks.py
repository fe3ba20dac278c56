"""What the indexer makes of a file's bytes."""

from __future__ import annotations

import pytest

from agentscope_reme.schema import content_hash
from agentscope_reme.settings import Settings
from agentscope_reme.store.indexer import FileIndexer

INDEXER = FileIndexer(Settings(chunk_byte_size=200, max_indexed_file_bytes=5000))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("MEMORY.md", True),
        ("daily/2026-06-20.md", True),
        ("daily/2026-06-20/interests.yaml", True),
        ("digest/wiki/Ünïcode name.MD", True),
        ("memory/2026-06-20.md", True),
        ("resource/2026-06-20/table.csv", True),
        ("resource/notes.txt", True),
        ("session/dialog/s.jsonl", True),
        ("session/dialog/s.md", False),
        ("session/agentscope/s.jsonl", True),
        ("session/images/s/x.png", False),
        ("resource/photo.png", False),
        ("notes.txt", False),
        ("tool_result/x.md", False),
        ("daily/.hidden.md", False),
        ("daily/.git/x.md", False),
        ("daily/no-suffix", False),
    ],
)
def test_which_paths_belong_into_the_index(path: str, expected: bool) -> None:
    assert INDEXER.indexable(path) is expected


def test_a_card() -> None:
    data = (
        b"---\nname: Release\ndescription: Notes\nmemory_tags: [Big  Team, x, 7]\ntags: [x, more]\n"
        b'source_conversation: "[[session/dialog/s.jsonl]]"\nday: 2026-06-20\n'
        b"---\n# T\n\n[[a.md]]\n"
    )
    node = INDEXER.index("daily/2026-06-20/r.md", data, mtime_ns=42).node
    assert (node.size, node.st_mtime_ns, node.content_hash) == (len(data), 42, content_hash(data))
    assert (node.front_matter.name, node.front_matter.description) == ("Release", "Notes")
    assert node.front_matter.extra["day"] == "2026-06-20"
    assert node.tags == ("big_team", "x", "7")
    assert [(k.target_path, k.kind) for k in node.links] == [
        ("session/dialog/s.jsonl", "source"),
        ("a.md", "body"),
    ]
    assert node.front_matter_error is None


def test_chunk_ids_do_not_change_with_line_numbers() -> None:
    body = "# T\n\nsome text\n"
    plain = INDEXER.index("a.md", body.encode(), mtime_ns=1)
    tagged = INDEXER.index("a.md", f"---\nmemory_tags: [x]\n---\n{body}".encode(), mtime_ns=2)
    assert plain.node.chunk_ids == tagged.node.chunk_ids
    assert tagged.chunks[0].start_line == plain.chunks[0].start_line + 3


def test_front_matter_without_a_body_gets_a_chunk_of_its_own() -> None:
    data = b"---\nname: Nebula notes\ndescription: astronomy\n---\n\n"
    (chunk,) = INDEXER.index("digest/wiki/n.md", data, mtime_ns=1).chunks
    assert (chunk.text, chunk.start_line, chunk.end_line) == ("Nebula notes\nastronomy", 1, 4)
    assert INDEXER.index("a.md", b"---\nkind: x\n---\n", mtime_ns=1).chunks == ()


def test_broken_front_matter_is_searched_as_text() -> None:
    file = INDEXER.index("a.md", b"---\nname: [oops\n---\nbody\n", mtime_ns=1)
    assert file.node.front_matter_error
    assert "oops" in "".join(chunk.text for chunk in file.chunks)


@pytest.mark.parametrize(
    "front", ["name: 5", "name: null", "name: [a, b]", "name: 2026-06-20", 'name: "\\ud800"']
)
def test_odd_names_do_no_harm(front: str) -> None:
    node = INDEXER.index("a.md", f"---\n{front}\n---\nx\n".encode(), mtime_ns=1).node
    assert isinstance(node.front_matter.name, str)
    node.front_matter.name.encode("utf-8")


@pytest.mark.parametrize(
    ("tags", "found"),
    [("x", ("x",)), ("a b, C", ("a_b", "c")), ("3", ("3",)), ('""', ()), ('"!!"', ())],
)
@pytest.mark.parametrize("key", ["tags", "memory_tags"])
def test_tags_need_not_be_a_list(key: str, tags: str, found: tuple[str, ...]) -> None:
    node = INDEXER.index("a.md", f"---\n{key}: {tags}\n---\nx\n".encode(), mtime_ns=1).node
    assert node.tags == found


@pytest.mark.parametrize("tags", ["{a: b}", "[[x.md]]", "[{a: b}, true, '', '!!']", "null", "true"])
def test_odd_tags_are_left_out(tags: str) -> None:
    node = INDEXER.index("a.md", f"---\nmemory_tags: {tags}\n---\nx\n".encode(), mtime_ns=1).node
    assert node.tags == ()


def test_bytes_that_are_no_text() -> None:
    latin = INDEXER.index("a.md", b"caf\xe9 \xff\xfe broken but searchable\n", mtime_ns=1)
    assert "searchable" in latin.chunks[0].text
    png = b"\x89PNG\r\n\x1a\n" + bytes(300)
    for data in (png, bytes(2000), b"x" * 6000):
        file = INDEXER.index("resource/a.txt", data, mtime_ns=1)
        assert file.chunks == ()
        assert (file.node.size, file.node.content_hash) == (len(data), content_hash(data))
    wide = INDEXER.index("resource/a.txt", "wide text".encode("utf-16"), mtime_ns=1)
    assert "wide text" in wide.chunks[0].text


def test_session_logs_are_read_as_conversations() -> None:
    line = b'{"id":"1","role":"user","name":"Ann","blocks":[{"type":"text","text":"Hello"}]}\n'
    file = INDEXER.index("session/dialog/s.jsonl", line, mtime_ns=1)
    assert "Ann" in file.chunks[0].text
    assert "blocks" not in file.chunks[0].text
    assert file.node.chunk_ids == (file.chunks[0].id,)


def test_an_empty_file_is_a_node_without_chunks() -> None:
    assert INDEXER.index("a.md", b"", mtime_ns=1).chunks == ()


def test_the_fingerprint_follows_what_shapes_chunks() -> None:
    prints = {FileIndexer(Settings(chunk_byte_size=n)).fingerprint for n in (200, 300)}
    assert len(prints) == 2
    assert FileIndexer(Settings(watch=False)).fingerprint == FileIndexer(Settings()).fingerprint
