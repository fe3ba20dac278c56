"""From a resource's bytes to what a model is given of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from agentscope_reme.errors import BadDocument
from agentscope_reme.files.text_encoding import BOM, decode_guessing, without_surrogates
from agentscope_reme.steps.resources.documents import document_text
from agentscope_reme.steps.resources.html_text import declared_encoding, html_text
from agentscope_reme.steps.resources.pictures import Picture, shown_picture
from agentscope_reme.steps.resources.places import Kind

MOST_BINARY_BYTES: Final = 50 * 1024 * 1024
"""Larger pictures and documents are not read."""

_LOOKED_AT: Final = 8192
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MOST_CONTROLS: Final = 0.01
_MOST_LOST: Final = 0.1


@dataclass(frozen=True, slots=True)
class Material:
    """A text, or a picture."""

    text: str = ""
    picture: Picture | None = None

    @property
    def size(self) -> int:
        """How many characters there are to read; 1 for a picture."""
        return 1 if self.picture is not None else len(self.text)


def material_of(path: str, kind: Kind, data: bytes) -> Material:
    """What a model can be given of a file.

    Raises:
        BadDocument: it is empty, damaged, or not what its name says.
        BadInput: an optional dependency is missing; the error names the extra.
    """
    if not data.strip():
        raise BadDocument(path, "the file is empty", "Fill it, or delete it.")
    match kind:
        case "image":
            return Material(picture=shown_picture(path, data))
        case "document":
            return Material(without_surrogates(document_text(path, data)))
        case "html":
            return Material(_filled(path, html_text(_text(path, data, declared_encoding(data)))))
        case "text":
            return Material(_filled(path, _text(path, data)))


def _text(path: str, data: bytes, encoding: str | None = None) -> str:
    text = without_surrogates(_decoded(data, encoding)).removeprefix(BOM)
    head = text[:_LOOKED_AT]
    strange = len(_CONTROLS.findall(head)), head.count("\ufffd")
    if strange[0] > len(head) * _MOST_CONTROLS or strange[1] > len(head) * _MOST_LOST:
        raise BadDocument(path, "the file is binary, not text", "Give it its true ending.")
    return text


def _decoded(data: bytes, encoding: str | None) -> str:
    if encoding is not None:
        try:
            return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):  # what a page declares need not be true
            pass
    return decode_guessing(data)[0]


def _filled(path: str, text: str) -> str:
    if not text.strip():
        raise BadDocument(path, "there is no text in it", "Fill it, or delete it.")
    return text
