"""PDF and Office files as text, with marks for pages, slides and sheets.

The readers are the extra ``documents``: pypdf (BSD), python-docx, python-pptx and python-calamine
(MIT). Each does one format and is small; one converter for all formats would bring a machine
learning runtime along. What a reader cannot give, such as pictures, is named in the text.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from agentscope_reme.errors import BadDocument, BadInput, ReMeError
from agentscope_reme.steps.resources.packages import refuse_bomb
from agentscope_reme.steps.resources.places import suffix_of

EXTRA: Final = "Install the extra `documents`: pip install 'agentscope-reme[documents]'."
_SAVE_AGAIN: Final = "Open it and save it again, or as a PDF or text file."
_WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_WORD_NOTES: Final = ("word/footnotes.xml", "word/endnotes.xml", "word/comments.xml")


def document_text(path: str, data: bytes) -> str:
    """The text of a PDF, Word, PowerPoint or Excel file.

    Args:
        path: its workspace path; the ending says what it is.
        data: its bytes.

    Raises:
        BadInput: the extra is not installed.
        BadDocument: it is damaged, encrypted, a decompression bomb, or holds no text.
    """
    reader = _READERS[suffix_of(path)]
    with _foreign(path):
        text = reader(path, data).strip()
    if not text:
        raise BadDocument(
            path, "no text was found in it", "If it is a scan, save its pages as pictures."
        )
    return text


@contextmanager
def _foreign(path: str) -> Iterator[None]:
    """Whatever a foreign parser raises on foreign bytes means that the file cannot be read."""
    try:
        yield
    except ReMeError:
        raise
    except ImportError as error:
        raise BadInput(path, f"files of this kind need `{error.name}`", EXTRA) from error
    except Exception as error:  # the parsers promise no exception types
        reason = f"it cannot be read: {type(error).__name__}: {error}"
        raise BadDocument(path, reason, _SAVE_AGAIN) from error


def _pdf(path: str, data: bytes) -> str:
    import pypdf

    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise BadDocument(path, "it is protected by a password", "Save it without one.")
    told = [(number, _pdf_page(page)) for number, page in enumerate(reader.pages, 1)]
    if not any(words for _, (words, _) in told):
        return ""
    return "\n\n".join(
        "\n".join(filter(None, (f"[page {number}]", words, _not_shown(pictures))))
        for number, (words, pictures) in told
    )


def _pdf_page(page: Any) -> tuple[str, int]:
    """The text of a page, and how many pictures it draws."""
    resources = page.get("/Resources")
    objects = resources.get_object().get("/XObject") if resources is not None else None
    drawn = objects.get_object().values() if objects is not None else ()
    pictures = sum(one.get_object().get("/Subtype") == "/Image" for one in drawn)
    return page.extract_text().strip(), pictures


def _docx(path: str, data: bytes) -> str:
    import docx
    from docx.table import Table, _Cell

    refuse_bomb(path, data, ".docx")
    document = docx.Document(io.BytesIO(data))
    lines: list[str] = []
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            # not `row.cells`: it repeats a cell as often as the file says it spans columns
            rows = ([_Cell(tc, block) for tc in row._tr.tc_lst] for row in block.rows)
            lines.append(_table(rows))
        else:
            lines.append(_paragraph(block))
    lines += _margins(document)
    lines += [f"[text box] {words}" for words in _text_boxes(document)]
    lines += _word_notes(data)
    lines.append(_not_shown(len(document.inline_shapes)))
    return "\n\n".join(filter(None, lines))


def _paragraph(paragraph: Any) -> str:
    words = str(paragraph.text).strip()
    if not words:
        return ""
    style = str(getattr(paragraph.style, "name", "") or "")
    if style.startswith("Heading ") and style[8:].isdecimal():
        return f"{'#' * min(int(style[8:]), 6)} {words}"
    if style.startswith("List"):
        return f"- {words}"
    return words


def _table(rows: Iterable[Iterable[Any]]) -> str:
    """A table as one piece of text; a merged cell is told once."""
    return "\n".join(" | ".join(_plain(cell.text) for cell in cells) for cells in rows)


def _margins(document: Any) -> list[str]:
    said: dict[str, None] = {}
    for section in document.sections:
        for place, name in ((section.header, "header"), (section.footer, "footer")):
            words = "" if place.is_linked_to_previous else _plain_all(place.paragraphs)
            said |= {f"[{name}] {words}": None} if words else {}
    return list(said)


def _text_boxes(document: Any) -> list[str]:
    """Words in text boxes, each once: Word keeps a second copy of them for old readers."""
    boxes = document.element.body.iter(f"{_WORD}txbxContent")
    return list(filter(None, dict.fromkeys(_words_in(box) for box in boxes)))


def _word_notes(data: bytes) -> list[str]:
    from docx.oxml import parse_xml  # resolves no entities

    lines = []
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        for name in sorted({*_WORD_NOTES} & {*package.namelist()}):
            kind = name.removeprefix("word/").removesuffix("s.xml")
            notes = (_words_in(note) for note in parse_xml(package.read(name)))
            lines += [f"[{kind}] {words}" for words in notes if words]
    return lines


def _words_in(element: Any) -> str:
    paragraphs = element.iter(f"{_WORD}p")
    said = ("".join(t.text or "" for t in p.iter(f"{_WORD}t")) for p in paragraphs)
    return " ".join(filter(None, map(_plain, said)))


def _pptx(path: str, data: bytes) -> str:
    import pptx

    refuse_bomb(path, data, ".pptx")
    slides = pptx.Presentation(io.BytesIO(data)).slides
    told = []
    for number, slide in enumerate(slides, 1):
        lines = [line for shape in slide.shapes for line in _shape(shape)]
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            words = slide.notes_slide.notes_text_frame.text.strip()
            lines += [f"[notes] {words}"] if words else []
        told.append("\n".join((f"[slide {number}]", *lines)))
    return "\n\n".join(told)


def _shape(shape: Any) -> list[str]:
    if hasattr(shape, "shapes"):  # a group
        return [line for inner in shape.shapes for line in _shape(inner)]
    if getattr(shape, "has_table", False):
        return [_table(row.cells for row in shape.table.rows)]
    if getattr(shape, "has_chart", False):
        return ["[a chart that is not shown]"]
    if hasattr(shape, "image"):
        return [_not_shown(1)]
    words = shape.text_frame.text.strip() if shape.has_text_frame else ""
    return [words] if words else []


def _xlsx(path: str, data: bytes) -> str:
    import python_calamine

    refuse_bomb(path, data, ".xlsx")
    book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    told = []
    for name in book.sheet_names:
        rows = (_sheet_row(row) for row in book.get_sheet_by_name(name).to_python())
        lines = [row for row in rows if row.strip(" |")]
        told += ["\n".join((f"[sheet {name}]", *lines))] if lines else []
    return "\n\n".join(told)


def _sheet_row(row: Sequence[Any]) -> str:
    return " | ".join(_cell(value) for value in row).rstrip(" |")


def _cell(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # a sheet knows no other numbers than floating ones
    return _plain(str(value))


def _plain(text: str) -> str:
    return " ".join(text.split())


def _plain_all(paragraphs: Any) -> str:
    return " ".join(filter(None, (_plain(paragraph.text) for paragraph in paragraphs)))


def _not_shown(pictures: int) -> str:
    if not pictures:
        return ""
    return "[a picture that is not shown]" if pictures == 1 else f"[{pictures} pictures not shown]"


_READERS: Final[dict[str, Callable[[str, bytes], str]]] = {
    ".pdf": _pdf,
    ".docx": _docx,
    ".pptx": _pptx,
    ".xlsx": _xlsx,
}
