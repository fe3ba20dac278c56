"""Which ``[[...]]`` are edges of the file graph."""

from __future__ import annotations

import pytest

from agentscope_reme.files import parse_wikilinks
from agentscope_reme.schema import FileLink

Edges = list[tuple[str, str | None]]


def edges(text: str) -> Edges:
    return [(link.target_path, link.target_anchor) for link in parse_wikilinks(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see [[digest/wiki/a.md]]", [("digest/wiki/a.md", None)]),
        (
            "[[digest/wiki/a.md|Alias, with comma]] and [[digest/wiki/a.md#L9-L10,L15-L20]]",
            [("digest/wiki/a.md", None), ("digest/wiki/a.md", "L9-L10,L15-L20")],
        ),
        (
            "![[session/images/s/msg-61-image-0.png]]",
            [("session/images/s/msg-61-image-0.png", None)],
        ),
        (
            "related:: [[a.md]] and [related:: [[b.md]]] and - x:: [[c.md]]",
            [("a.md", None), ("b.md", None), ("c.md", None)],
        ),
        ("`[[code.md]]` is an example", []),
        ("```\n[[fenced.md]]\n```\n[[real.md]]", [("real.md", None)]),
        ("~~~python\n[[fenced.md]]\n~~~~\n[[real.md]]", [("real.md", None)]),
        ("<!-- [[hidden.md]] --> [[real.md]]", [("real.md", None)]),
        (r"\[[escaped.md]] [[real.md]]", [("real.md", None)]),
        ("[label](../wiki/example.md) [[]] [[#only]] [[  spaced.md  ]]", [("spaced.md", None)]),
        (r"| [[t.md\|in a table]] | x |", [("t.md", None)]),
        ("[[目录/文件.md#标题|别名]]", [("目录/文件.md", "标题")]),
        (
            "[[a.md#L0]] [[a.md#L10-L9]] [[a.md#L9,]]",
            [("a.md", "L0"), ("a.md", "L10-L9"), ("a.md", "L9,")],
        ),
        ("[[[triple.md]]]", [("triple.md", None)]),
        ("[[broken\nover lines.md]] [[ok.md]]", [("ok.md", None)]),
    ],
)
def test_the_rules_of_the_format(text: str, expected: Edges) -> None:
    assert edges(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[[a.md]] [[a.md]] [[a.md|b]]", ["a.md"], id="folded"),
        pytest.param(r"\\[[a.md]]", ["a.md"], id="an escaped backslash escapes nothing"),
        pytest.param(r"\`[[a.md]]`", ["a.md"], id="an escaped backtick opens nothing"),
        pytest.param("`` ` [[a.md]] ``", [], id="two backticks"),
        pytest.param("`` [[a.md]] `", ["a.md"], id="backticks that do not pair"),
        pytest.param("`a\n[[b.md]]` [[c.md]]", ["c.md"], id="inline code over lines"),
        pytest.param("`a\n\n[[b.md]]` [[c.md]]", ["b.md", "c.md"], id="but not over paragraphs"),
        pytest.param("- `a\n- [[b.md]]`", ["b.md"], id="nor over items"),
        pytest.param("| `a |\n|---|\n| [[b.md]]` |", ["b.md"], id="nor over rows"),
        pytest.param("text\n\n    [[a.md]]\n\n[[b.md]]", ["b.md"], id="indented code"),
        pytest.param("text\n    [[a.md]]", ["a.md"], id="a paragraph that goes on"),
        pytest.param("- x\n\n    [[a.md]]", ["a.md"], id="a paragraph of an item"),
        pytest.param("- x\n\n      [[a.md]]", [], id="indented code in an item"),
        pytest.param("\t[[a.md]]", [], id="indented by a tab"),
        pytest.param("- ```\n  [[a.md]]\n  ```\n- [[b.md]]", ["b.md"], id="a fence in an item"),
        pytest.param("- ```\n  [[a.md]]\n\n[[b.md]]", ["b.md"], id="which ends with the item"),
        pytest.param("> ```\n> [[a.md]]\n\n[[b.md]]", ["b.md"], id="a fence in a quote"),
        pytest.param("> [[a.md]]", ["a.md"], id="a quote"),
        pytest.param("```\n[[a.md]]", [], id="a fence never closed"),
        pytest.param("````\n```\n[[a.md]]\n````\n[[b.md]]", ["b.md"], id="a longer fence"),
        pytest.param("``` a`b\n[[a.md]]", ["a.md"], id="no fence"),
        pytest.param("<!--\n[[a.md]]\n\n-->\n[[b.md]]", ["b.md"], id="a comment over paragraphs"),
        pytest.param("x <!-- [[a.md]]\n--> [[b.md]]", ["b.md"], id="a comment in a paragraph"),
        pytest.param("<!-- [[a.md]]", [], id="a comment never closed"),
        pytest.param("`<!--` [[a.md]] `-->`", ["a.md"], id="comment marks in code"),
        pytest.param("<!-- ` --> [[a.md]] `", ["a.md"], id="a backtick in a comment"),
        pytest.param("[[a`b.md]] `", [], id="code that starts in the link"),
        pytest.param("[[a.md|]] [[b.md#]]", [], id="an empty alias or anchor"),
        pytest.param("# [[a.md]]\n[[b.md]]\n===", ["a.md", "b.md"], id="headings"),
        pytest.param("\ufeff[[a.md]]", ["a.md"], id="byte order mark"),
        pytest.param("[[a.md]]\r\n```\r\n[[b.md]]\r\n```\r\n", ["a.md"], id="windows line ends"),
        pytest.param("[[a\u2028b.md]]", ["a\u2028b.md"], id="a separator is no line end"),
    ],
)
def test_examples_are_not_edges(text: str, expected: list[str]) -> None:
    assert [target for target, _ in edges(text)] == expected


@pytest.mark.parametrize(
    ("front_matter", "expected"),
    [
        ("source_conversation: [[session/dialog/abc.jsonl]]", ["session/dialog/abc.jsonl"]),
        (
            'source_images:\n  - "[[session/images/s/msg-61-image-0.png]]"',
            ["session/images/s/msg-61-image-0.png"],
        ),
        ("a: '[[it''s.md]]'", ["it's.md"]),
        (r'a: "[[\u4e2d.md]]"', ["中.md"]),
        ("# [[comment.md]]\na: [[b.md]] # [[c.md]]", ["b.md"]),
        ("a: '# [[b.md]]'", ["b.md"]),
        ("a: |\n  # [[b.md]]", ["b.md"]),
        ("a: [[1, 2]]", []),
        ("a: [['b.md']]", []),
        ("a: '[[x, y.md]]'", ["x, y.md"]),
        ("a: [[b.md|with, comma]]", ["b.md"]),
        ("a: [unclosed\n# [[c.md]]\nb: [[d.md]]", ["d.md"]),
    ],
)
def test_front_matter_links_are_sources(front_matter: str, expected: list[str]) -> None:
    links = parse_wikilinks(f"---\n{front_matter}\n---\nx", "card.md")
    assert [link.target_path for link in links] == expected
    assert all(link.kind == "source" and link.source_path == "card.md" for link in links)


def test_a_link_names_the_file_it_stands_in() -> None:
    assert parse_wikilinks("[[b.md#L3]]", "a.md") == [
        FileLink(source_path="a.md", target_path="b.md", target_anchor="L3", kind="body")
    ]
