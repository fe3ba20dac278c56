"""What YAML makes of a block of front matter, for links that stand in it."""

from __future__ import annotations

from typing import Literal

import yaml

from agentscope_reme.files.yaml_values import SafeLoader

YamlStyle = Literal["flow", "plain", "'", '"', "block"]
"""How YAML quotes a value; ``flow`` is an opening bracket."""
YamlToken = tuple[int, int, YamlStyle]
"""Where YAML sees a value, as offsets into its block, and how it is quoted."""


def unescaped(target: str) -> str:
    """A text out of double quotes, its escapes replaced; as it is when they are none."""
    try:
        return str(yaml.load(f'"{target}"', Loader=SafeLoader))  # noqa: S506 - a safe loader
    except yaml.YAMLError:
        return target


def tokens_of(source: str) -> list[YamlToken]:
    """Where YAML sees values and opening brackets; empty when it cannot read the block."""
    found: list[YamlToken] = []
    try:
        for token in yaml.scan(source, Loader=SafeLoader):
            where = token.start_mark.index, token.end_mark.index
            if isinstance(token, yaml.ScalarToken):
                found.append((*where, _style(token)))
            elif isinstance(token, yaml.FlowSequenceStartToken):
                found.append((*where, "flow"))
    except (yaml.YAMLError, ValueError):
        return []
    return found


def _style(token: yaml.ScalarToken) -> YamlStyle:
    match token.style:
        case "'":
            return "'"
        case '"':
            return '"'
        case "|" | ">":
            return "block"
        case _:
            return "plain"
