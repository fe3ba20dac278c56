"""What keys there are, which of them is meant, and how their values are read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel, ValidationError

from agentscope_reme.configuration.given import Given, Path, Plain, dotted
from agentscope_reme.configuration.sections import Configuration
from agentscope_reme.errors import BadInput
from agentscope_reme.settings import DOTTED_KEYS

_LONG_NAMES: Final = {key: ("settings", name) for key, name in DOTTED_KEYS.items()}
_SECTIONS: Final = {
    name: field.annotation
    for name, field in Configuration.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
}


def all_keys() -> Iterator[str]:
    """Every key that can be configured, dotted."""
    for name in Configuration.model_fields:
        if name in _SECTIONS:
            yield from (f"{name}.{key}" for key in _SECTIONS[name].model_fields)
        else:
            yield name


def kind_of(key: str) -> Any:
    """The type of a dotted key."""
    section, _, name = key.partition(".")
    fields = _SECTIONS[section].model_fields if name else Configuration.model_fields
    return fields[name or section].annotation


def is_key(key: str) -> bool:
    """Whether a dotted key belongs to the configuration, be it misspelt within a section."""
    return (
        key in Configuration.model_fields
        or key.partition(".")[0] in _SECTIONS
        or (key in _LONG_NAMES)
    )


def takes_json(key: str) -> bool:
    """Whether a dotted key, misspelt or not, takes a list or a mapping."""
    if key not in all_keys():
        return True
    kind = kind_of(key)
    return any(get_origin(one) in (dict, list) for one in (kind, *get_args(kind)))


def is_heading(path: Path, given: Given) -> bool:
    """Whether it is the name of a section without anything below it."""
    return len(path) == 1 and path[0] in _SECTIONS and given.value in ({}, None)


def known(path: Path, given: Given) -> Path:
    """The way to a value, checked and in its short form.

    Raises:
        BadInput: there is no such key.
    """
    long = dotted(path).removeprefix("settings.")
    if long in _LONG_NAMES:
        return _LONG_NAMES[long]
    name, *rest = path
    if name not in Configuration.model_fields:
        raise _unknown(path, given)
    model = _SECTIONS.get(name)
    if model is None:
        if rest:
            raise _unknown(path, given)
        return path
    if not rest:
        raise BadInput(name, f"a section, not a value ({given.origin})", "Put keys below it.")
    field = model.model_fields.get(rest[0])
    if field is None:
        raise _unknown(path[:2], given)
    if rest[1:] and not _is_mapping(field.annotation):  # what is below it may be a key in braces
        raise BadInput(
            dotted(path[:2]), f"there is no such key below it ({given.origin})", "Quote its text."
        )
    return path


def nested(values: Mapping[Path, Given]) -> dict[str, Any]:
    """The values as a tree, for validation."""
    tree: dict[str, Any] = {}
    for path, given in values.items():
        branch = tree
        for step in path[:-1]:
            branch = branch.setdefault(step, {})
        branch[path[-1]] = _value(given.value, free=_is_free(path))
    return tree


def refusal(error: ValidationError, origins: Mapping[str, str]) -> BadInput:
    """The first fault, with its key and origin and without its value, which may be a secret."""
    fault = error.errors(include_url=False, include_input=False)[0]
    key = dotted(tuple(map(str, fault["loc"])))
    origin = next(
        (origins[one] for one in origins if one == key or key.startswith(f"{one}.")),
        "several values together" if key in _SECTIONS else "default",
    )
    return BadInput(key, f"it does not fit: {fault['msg']} ({origin})", f"Correct `{key}`.")


def _value(value: Any, *, free: bool) -> Any:
    match value:
        case Plain(text):
            return _typed(text) if free else text
        case list():
            return [_value(item, free=free) for item in value]
        case dict():
            return {key: _value(item, free=free) for key, item in value.items()}
        case _:
            return value


def _typed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _is_free(path: Path) -> bool:
    model = _SECTIONS.get(path[0])
    field = model.model_fields[path[1]] if model and len(path) > 1 else None
    return field is not None and get_args(field.annotation)[1:] == (Any,)


def _is_mapping(kind: Any) -> bool:
    return get_origin(kind) is dict


def _unknown(path: Path, given: Given) -> BadInput:
    near = get_close_matches(dotted(path), list(all_keys()), 1)
    if not near:
        near = [key for key in all_keys() if key.rpartition(".")[2] == path[-1]][:1]
    names = ", ".join(Configuration.model_fields)
    advice = f"Did you mean `{near[0]}`?" if near else f"The keys at the top are {names}."
    return BadInput(dotted(path), f"there is no such key ({given.origin})", advice)
