"""Real files of the kinds people file, made on the spot."""

from __future__ import annotations

import io
import random
from collections.abc import Mapping
from typing import Any

import docx
import pptx
import xlsxwriter  # type: ignore[import-untyped]
from docx.shared import Inches
from PIL import Image
from pypdf import PdfReader, PdfWriter

_PAGE = (
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents {contents} 0 R "
    "/Resources << /Font << /F1 3 0 R >> >> >>"
)


def pdf(*pages: str) -> bytes:
    """A PDF with one line of text on each page, written object by object."""
    numbers = [4 + 2 * n for n in range(len(pages))]
    kids = " ".join(f"{number} 0 R" for number in numbers)
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, words in zip(numbers, pages, strict=True):
        drawn = f"BT /F1 12 Tf 20 100 Td ({words}) Tj ET"
        bodies += [
            _PAGE.format(contents=number + 1),
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(bodies, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    start = len(out)
    out += f"xref\n0 {len(bodies) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets)
    trailer = f"trailer\n<< /Size {len(bodies) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    return out + trailer.encode()


def locked_pdf(words: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(words))))
    writer.encrypt("secret", algorithm="RC4-128")
    return _written(writer.write)


def word() -> bytes:
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "Confidential"
    document.add_heading("Plan", level=1)
    document.add_paragraph("We launch on 9 July.")
    document.add_paragraph("Ask Ann", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for row, cells in enumerate((("City", "Units"), ("Berlin", "12"))):
        for column, words in enumerate(cells):
            table.cell(row, column).text = words
    document.add_picture(io.BytesIO(picture("PNG", (8, 8))), width=Inches(1))
    document.add_comment(document.paragraphs[1].runs, text="Too early?", author="Bob")
    return _written(document.save)


def slides() -> bytes:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Goals"
    slide.placeholders[1].text = "Ship in July"
    slide.notes_slide.notes_text_frame.text = "Mention the audit."
    second = deck.slides.add_slide(deck.slide_layouts[6])
    frame = second.shapes.add_table(1, 2, 0, 0, 999999, 999999)
    frame.table.cell(0, 0).text, frame.table.cell(0, 1).text = "Budget", "12,400"
    second.shapes.add_picture(io.BytesIO(picture("PNG", (8, 8))), 0, 0)
    return _written(deck.save)


def sheet() -> bytes:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        costs = book.add_worksheet("Costs")
        costs.write_row(0, 0, ["item", "euros"])
        costs.write_row(1, 0, ["panels", 12400])
        costs.write_row(2, 0, ["cable", 0.5])
        book.add_worksheet("Empty")
        book.add_worksheet("Notes").write(1, 1, "Paid.")
    return out.getvalue()


def book_of(cells: Mapping[tuple[int, int], str | float]) -> bytes:
    """A sheet with these values, by row and column from 0."""
    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        only = book.add_worksheet()
        for (row, column), value in cells.items():
            only.write(row, column, value)
    return out.getvalue()


def picture(form: str, size: tuple[int, int], *, mode: str = "RGB", **options: Any) -> bytes:
    image = Image.new(mode, size, (200, 30, 30, 128)[: len(mode)])
    return _written(lambda out: image.save(out, form, **options))


def noise(size: tuple[int, int]) -> bytes:
    """A picture that no compression makes smaller."""
    pixels = random.Random(7).randbytes(size[0] * size[1] * 3)
    return _written(lambda out: Image.frombytes("RGB", size, pixels).save(out, "PNG"))


def _written(write: Any) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()
