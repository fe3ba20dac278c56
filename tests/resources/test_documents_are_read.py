"""PDF, Office files, pages and odd encodings as the text a model is given."""

from __future__ import annotations

import io
import re
import sys
import zipfile
from collections.abc import Callable

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import BadDocument
from agentscope_reme.steps.resources.documents import document_text
from agentscope_reme.steps.resources.html_text import html_text
from agentscope_reme.steps.resources.material import material_of
from agentscope_reme.testing import ScriptedChatModel
from tests.resources.conftest import Put
from tests.resources.parts import DAY, KEEPS, quoted
from tests.resources.samples import book_of, locked_pdf, pdf, sheet, slides, word


def test_a_pdf_page_by_page() -> None:
    text = document_text("a.pdf", pdf("Solar gave 12 percent.", "Wind gave 30."))
    assert text == "[page 1]\nSolar gave 12 percent.\n\n[page 2]\nWind gave 30."


def test_a_word_file_with_all_that_is_written_in_it() -> None:
    text = document_text("a.docx", word())
    assert text.split("\n\n") == [
        "# Plan",
        "We launch on 9 July.",
        "- Ask Ann",
        "City | Units\nBerlin | 12",
        "[header] Confidential",
        "[comment] Too early?",
        "[a picture that is not shown]",
    ]


def test_slides_with_tables_and_notes() -> None:
    assert document_text("a.pptx", slides()).split("\n\n") == [
        "[slide 1]\nGoals\nShip in July\n[notes] Mention the audit.",
        "[slide 2]\nBudget | 12,400\n[a picture that is not shown]",
    ]


def test_sheets_row_by_row() -> None:
    assert document_text("a.xlsx", sheet()).split("\n\n") == [
        "[sheet Costs]\nitem | euros\npanels | 12400\ncable | 0.5",
        "[sheet Notes]\nPaid.",
    ]


@pytest.mark.parametrize("ending", [".pdf", ".docx", ".pptx", ".xlsx"])
def test_damaged_files_are_refused_in_words(ending: str) -> None:
    whole = {".pdf": pdf("x"), ".docx": word(), ".pptx": slides(), ".xlsx": sheet()}[ending]
    for data in (whole[: len(whole) // 3], b"", b"nonsense" * 99):
        with pytest.raises(BadDocument, match=r"cannot be read|no text"):
            document_text(f"a{ending}", data)


def test_a_locked_or_empty_pdf_says_what_to_do() -> None:
    with pytest.raises(BadDocument, match="protected by a password"):
        document_text("a.pdf", locked_pdf("x"))
    with pytest.raises(BadDocument, match="save its pages as pictures"):
        document_text("a.pdf", pdf("", ""))


def test_a_decompression_bomb_is_not_unpacked() -> None:
    out, nothing = io.BytesIO(), b"\0" * (64 * 1024 * 1024)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as package:
        for number in range(9):
            package.writestr(f"{number}.xml", nothing)
    for ending in (".docx", ".pptx", ".xlsx"):
        with pytest.raises(BadDocument, match="unpacks to"):
            document_text(f"a{ending}", out.getvalue())


def rewritten(package: bytes, **parts: Callable[[str], str]) -> bytes:
    """The package with some of its parts changed, by the stem of their names."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(package)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            change = parts.get(name.rpartition("/")[2].partition(".")[0])
            data = old.read(name)
            new.writestr(name, change(data.decode()) if change else data)
    return out.getvalue()


def without_references(text: str) -> str:
    return re.sub(r'(<c) r="[A-Z]+\d+"', r"\1", text)


@pytest.mark.parametrize("change", [str, without_references], ids=["named", "counted"])
def test_a_sheet_that_would_unfold_to_more_than_fits_is_refused(
    change: Callable[[str], str],
) -> None:
    """The reader would make a value of every cell in between, and end the process."""
    far = book_of({(0, 0): "near", **{(1_048_575, column): 1.0 for column in range(64)}})
    with pytest.raises(BadDocument, match="spans 67108864 cells"):
        document_text("a.xlsx", rewritten(far, sheet1=change))


def test_a_table_far_from_the_corner_is_no_vast_sheet() -> None:
    far = book_of({(1_048_575, 16_383): "here"})
    assert document_text("a.xlsx", far) == "[sheet Sheet1]\nhere"


def test_one_long_text_that_many_cells_name_is_refused() -> None:
    long = book_of({(row, 0): "long" * 8000 for row in range(2500)})
    with pytest.raises(BadDocument, match="hold 80000000 characters"):
        document_text("a.xlsx", long)


def test_a_workbook_of_another_format_is_refused() -> None:
    out = io.BytesIO(sheet())
    with zipfile.ZipFile(out, "a") as package:
        package.writestr("xl/workbook.bin", b"")
    with pytest.raises(BadDocument, match="no Excel workbook"):
        document_text("a.xlsx", out.getvalue())


def test_a_cell_that_says_it_spans_a_billion_columns_is_told_once() -> None:
    def spread(text: str) -> str:
        return text.replace("<w:tcPr>", '<w:tcPr><w:gridSpan w:val="2000000000"/>')

    told = document_text("a.docx", rewritten(word(), document=spread))
    assert "City | Units\nBerlin | 12" in told


def test_a_page_as_its_reader_sees_it() -> None:
    page = """<html><head><title>Sun &amp; wind</title><style>p {}</style>
    <script>track()</script></head><body><h2>Yields</h2><p>Solar <b>12&nbsp;%</b>,
    see <a href="https://example.org/a">the table</a>.</p><ul><li>one<li>two</ul>
    <table><tr><th>City</th><th>kWh</th></tr><tr><td>Berlin</td><td>7</td></tr></table>
    <img src="x.png" alt="a panel"><pre>a = 1
  b = 2</pre><svg><text>kept</text>"""
    assert html_text(page).replace("\u00a0", " ") == (
        "# Sun & wind\n\n## Yields\n\nSolar 12 %, see the table (https://example.org/a).\n\n"
        "- one\n- two\n\n | City | kWh\n\n | Berlin | 7\n\n[picture: a panel]\na = 1\n  b = 2"
        "\n\nkept"
    )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("太阳能".encode("gb18030"), "太阳能"),
        ("Sonne".encode("utf-16"), "Sonne"),
        (b"\xef\xbb\xbfSun", "Sun"),
    ],
)
def test_text_in_other_encodings(data: bytes, expected: str) -> None:
    assert material_of("a.txt", "text", data).text == expected


def test_a_page_in_the_encoding_it_declares() -> None:
    page = '<meta charset="iso-8859-1"><p>Solarstr\u00f6me'.encode("latin-1")
    assert material_of("a.html", "html", page).text == "Solarstr\u00f6me"
    lying = "<meta charset=utf-7x><p>Str\u00f6me".encode()
    assert material_of("a.html", "html", lying).text == "Str\u00f6me"


@pytest.mark.parametrize("opened", ["<!-- ", "<a ", "<a href='", "<![CDATA[", "</"])
def test_a_page_full_of_markup_that_never_ends_is_read_in_a_moment(opened: str) -> None:
    """Looking for the end of each anew would take days."""
    text = html_text(f"<p>before</p>{opened * 300_000} <b>after</b>")
    assert text.startswith("before\n")
    assert text.endswith("after")


def test_what_stands_behind_broken_markup_is_read() -> None:
    page = (
        "<p>one</p><!-- open <p>two &amp; three</p><script>track()</script><h2>four</h2> <a href='x"
    )
    assert html_text(page) == "one\n<!-- open\ntwo & three\n\n## four\n<a href='x"


async def test_a_document_reaches_the_model_as_text(
    open_memory: Callable[..., ReMe], put: Put
) -> None:
    model = ScriptedChatModel(KEEPS)
    async with open_memory(model) as reme:
        path = put(f"{DAY}/plan.pdf", pdf("We launch on 9 July."))
        result = await reme.auto_resource()
        again = await reme.auto_resource()
    assert quoted(model.requests[0]) == "[page 1]\nWe launch on 9 July."
    assert [card.resource for card in result.cards] == [path]
    assert again.unchanged == 1


@pytest.mark.parametrize(
    ("ending", "module"),
    [("pdf", "pypdf"), ("docx", "docx"), ("pptx", "pptx"), ("xlsx", "python_calamine")],
)
async def test_without_the_extra_the_file_waits_and_the_error_names_it(
    open_memory: Callable[..., ReMe],
    put: Put,
    monkeypatch: pytest.MonkeyPatch,
    ending: str,
    module: str,
) -> None:
    samples = {"pdf": pdf("x"), "docx": word(), "pptx": slides(), "xlsx": sheet()}
    with monkeypatch.context() as absent:
        absent.setitem(sys.modules, module, None)
        async with open_memory(ScriptedChatModel(KEEPS)) as reme:
            put(f"{DAY}/a.{ending}", samples[ending])
            failed = await reme.auto_resource()
    assert "agentscope-reme[documents]" in failed.failed[0].reason
    async with open_memory(ScriptedChatModel(KEEPS)) as reme:
        assert (await reme.auto_resource()).cards
