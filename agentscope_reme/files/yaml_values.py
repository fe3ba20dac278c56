"""What a YAML block says.

YAML from a file is untrusted: only plain values are built, nesting and alias expansion are
bounded, and whatever cannot be read becomes an error text beside an untouched document.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

MAX_NODES: Final = 10_000
"""Values one block may expand to, aliases followed; more is taken for an attack."""

MAX_DEPTH: Final = 100
"""How deep lists and mappings of one block may nest."""

MAX_BLOCK_CHARACTERS: Final = 1024 * 1024
"""A longer block is not read as YAML."""

# A comma would make it a list of several values, a quote an explicit one.
_UNQUOTED_LINK: Final = re.compile(
    r"\[\[(?![ \t]*[\"'])[^\[\]|#,\n]+(?:#[^\[\]|\n]+)?(?:\|[^\[\]\n]+)?\]\]"
)
SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader of libyaml where it is there, of Python else."""

# What PyYAML and the constructors below raise on bad input; nothing else is expected of them.
_YAML_FAULTS: Final = (yaml.YAMLError, ValueError, TypeError, RecursionError)


class _ValueLoader(SafeLoader):  # type: ignore[misc]  # chosen at import: libyaml or Python
    """Builds plain values only; keys are kept as they are written (``yes``, ``1``)."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self._source = source

    yaml_constructors: dict[str | None, Any] = {}  # noqa: RUF012 - PyYAML's own protocol

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:
        self.flatten_mapping(node)
        found: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key must be a single value", key.start_mark
                )
            found[key.value] = self.construct_object(value, deep=deep)
        return found


def _construct_list(loader: Any, node: yaml.SequenceNode) -> Any:
    """A list, or the text of an unquoted ``[[path]]``, which YAML takes for a list in a list."""
    if node.flow_style and len(node.value) == 1 and isinstance(node.value[0], yaml.SequenceNode):
        written = loader._source[node.start_mark.index : node.end_mark.index]
        if _UNQUOTED_LINK.fullmatch(written):
            return written
    return yaml.constructor.SafeConstructor.construct_yaml_seq(loader, node)


def _scalar(build: Any) -> Any:
    """A constructor that falls back to the written text: ``2026-13-45`` is no date, nor a fault."""

    def construct(loader: Any, node: yaml.Node) -> Any:
        try:
            return build(loader, node)
        except (ValueError, KeyError, AttributeError, OverflowError):
            return loader.construct_scalar(node)

    return construct


def _register() -> None:
    known = yaml.constructor.SafeConstructor
    prefix = "tag:yaml.org,2002:"
    for name in ("null", "bool", "int", "float", "timestamp", "str"):
        _ValueLoader.yaml_constructors[prefix + name] = _scalar(
            getattr(known, f"construct_yaml_{name}")
        )
    _ValueLoader.yaml_constructors[prefix + "seq"] = _construct_list
    _ValueLoader.yaml_constructors[prefix + "map"] = known.construct_yaml_map
    _ValueLoader.yaml_constructors[None] = known.construct_undefined


_register()


def read_values(source: str) -> tuple[dict[str, Any], str | None]:
    """The values of a YAML block by key, and why they could not be read.

    Keys are text exactly as written. An unquoted ``[[path]]``, which YAML reads as a list in a
    list, becomes the text ``"[[path]]"``.
    """
    if len(source) > MAX_BLOCK_CHARACTERS:
        return {}, f"front matter is longer than {MAX_BLOCK_CHARACTERS} characters"
    try:
        loader = _ValueLoader(source)
        try:
            node = loader.get_single_node()
            if node is None:
                return {}, None
            if not isinstance(node, yaml.MappingNode):
                return {}, "front matter is not a mapping of keys to values"
            _expanded_size(node)
            values = loader.construct_document(node)
        finally:
            loader.dispose()
    except _YAML_FAULTS as error:
        return {}, _explain(error)
    return values, None


def _explain(error: BaseException) -> str:
    problem = getattr(error, "problem", None) or str(error)
    mark = getattr(error, "problem_mark", None)
    # The block starts on the second line of the file, and marks count from 0.
    where = f" (line {mark.line + 2})" if mark is not None else ""
    return f"front matter is not readable YAML: {' '.join(str(problem).split())[:200]}{where}"


def _expanded_size(root: yaml.Node) -> int:
    """Nodes below `root` with every alias followed, counted without expanding anything.

    Raises:
        yaml.YAMLError: too many, too deep, or a node contains itself.
    """
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def measure(node: yaml.Node, depth: int) -> int:
        if isinstance(node, yaml.ScalarNode):
            return 1
        identity = id(node)
        if identity in sizes:
            return sizes[identity]
        if identity in open_nodes:
            raise yaml.YAMLError("an alias contains itself")
        if depth > MAX_DEPTH:
            raise yaml.YAMLError(f"values nest deeper than {MAX_DEPTH}")
        open_nodes.add(identity)
        total = 1
        for child in node.value:
            pair = child if isinstance(child, tuple) else (child,)
            total += sum(measure(part, depth + 1) for part in pair)
        if total > MAX_NODES:
            raise yaml.YAMLError(f"values expand to more than {MAX_NODES} nodes")
        open_nodes.discard(identity)
        sizes[identity] = total
        return total

    return measure(root, 0)
