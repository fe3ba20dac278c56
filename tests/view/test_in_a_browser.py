"""A person looks at a memory in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Position, sync_playwright

from tests.view.conftest import BROWSER
from tests.view.pages import large_page, odd_page, small_page

pytestmark = pytest.mark.browser
QUIETLY = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=BROWSER, args=QUIETLY)
        yield found
        found.close()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_page(tmp_path_factory.mktemp("small"))


@pytest.fixture
def page(browser: Browser, small: Path) -> Iterator[Page]:
    yield from opened(browser, small)


def opened(browser: Browser, place: Path) -> Iterator[Page]:
    """The page, with whatever it complains about as a failure."""
    complaints: list[str] = []
    shown = browser.new_page()
    shown.on("pageerror", lambda error: complaints.append(str(error)))
    shown.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    shown.on("request", lambda made: complaints.append(made.url) if "http" in made.url else None)
    shown.goto(place.as_uri())
    shown.wait_for_selector("body[data-ready=yes]")
    yield shown
    shown.close()
    assert complaints == []


def test_from_a_statement_back_to_the_words(page: Page) -> None:
    page.click(".row[data-path='digest/personal/zebra.md']")
    page.click("#document .line:has-text('sleeps at nine')")
    places = page.locator("#trail [data-place]").all_inner_texts()
    card, words = places[0], places[1]
    assert card.startswith("daily/2026-06-19/talk.md:")
    assert words == "session/dialog/talk.jsonl:3"
    page.click(f"#trail [data-place='{words}']")
    assert "斑马 sleeps in the vault at nine." in page.inner_text(".line.aimed")


def test_a_statement_nobody_made_has_no_source(page: Page) -> None:
    page.click(".row[data-path='digest/personal/zebra.md']")
    page.click("#document .line:has-text('quux')")
    assert page.locator("#trail [data-place]").count() == 0
    assert "No line of its sources" in page.inner_text("#trail")


def test_what_a_memory_says_is_never_run(page: Page) -> None:
    for path in ("digest/personal/zebra.md", "session/dialog/talk.jsonl"):
        page.click(f".row[data-path='{path}']")
        assert "onerror" in page.inner_text("#document")
        assert page.title() == "memory"
        assert page.locator("#document img").count() == 0


@pytest.mark.parametrize(("query", "path"), [("斑马", "talk.md"), ("GREEN", "talk.md"), ("#", "")])
def test_search_finds_words_of_any_script(page: Page, query: str, path: str) -> None:
    page.fill("#query", query)
    if path:
        page.wait_for_selector(f".row[data-path$='{path}']")
        page.click(f".row[data-path$='{path}']")
        assert page.locator("#document mark").count() >= 1
    page.fill("#query", "no such word anywhere")
    page.wait_for_selector("#rows :text('Nothing found.')")


def test_only_a_link_that_leads_nowhere_is_struck_out(page: Page) -> None:
    """Links in code are examples, and a picture is where it is shown."""
    page.click(".row[data-path='daily/2026-06-19/talk.md']")
    assert page.locator("#document a.missing").all_inner_texts() == ["[[gone.md]]"]
    assert page.locator("#document img").count() == 1


def test_layers_and_links(page: Page) -> None:
    page.click("[data-layer=digest]")
    assert page.locator(".row").evaluate_all("rows => rows.map(row => row.dataset.path)") == [
        "digest/personal/zebra.md"
    ]
    page.click("#document a:has-text('daily/2026-06-19/talk.md')")
    assert page.inner_text("#document h2") == "Zebra talk"
    assert page.locator("#document .facts a").inner_text() == "digest/personal/zebra.md"
    page.click("#graph-button")
    page.wait_for_selector("#graph[data-left='0']")
    page.click("#canvas", position=place_of(page, "digest/personal/zebra.md"))
    assert page.inner_text("#document h2") == "Zebra"


def place_of(page: Page, path: str) -> Position:
    """Where a node of the graph stands on the screen."""
    x, y = page.evaluate(
        "(path) => { const i = graph.files.findIndex(file => file.path === path);"
        "return [screenX(i) / devicePixelRatio, screenY(i) / devicePixelRatio]; }",
        path,
    )
    return {"x": x, "y": y}


NEAR_THEIR_CARD = """
(() => { seed(graph.files.length);
         const index = new Map(graph.files.map((file, i) => [file.path, i]));
         const far = graph.files.flatMap((file, i) =>
           file.links.map((path) => index.get(path))
             .filter((k) => k !== undefined && graph.files[k].layer === "daily")
             .map((k) => Math.hypot(graph.x[i] - graph.x[k], graph.y[i] - graph.y[k])));
         return far.filter((one) => one < 60).length / far.length; })()
"""
"""Which share of the nodes stands beside the card it rests on, at first."""


def until(page: Page, what: str) -> None:
    """Wait, frame by frame, for something; the page itself may not evaluate texts."""
    while not page.evaluate(f"new Promise(done => requestAnimationFrame(() => done({what})))"):
        pass


PAINTED = """
(() => { const { width, height } = $("canvas");
         const { data } = $("canvas").getContext("2d").getImageData(0, 0, width, height);
         let painted = 0;
         for (let i = 3; i < data.length; i += 4) painted += data[i] > 0;
         return painted / (width * height); })()
"""
"""Which share of the picture is not empty."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large_page(tmp_path_factory.mktemp("large"), 10_000)


def test_ten_thousand_nodes_are_drawn_at_once(browser: Browser, large: Path) -> None:
    """Before the first step of the layout; each node beside what it is linked to most."""
    for page in opened(browser, large):
        page.evaluate("document.getElementById('graph-button').click()")
        assert page.evaluate("graph.left") > 0
        near = page.evaluate(NEAR_THEIR_CARD)
        assert near > 0.9
        assert page.evaluate(PAINTED) > 0.1


def test_the_graph_is_usable_while_it_is_laid_out(browser: Browser, large: Path) -> None:
    """It is searched, moved and clicked; what is in hand stays where it was put."""
    for page in opened(browser, large):
        page.evaluate("void (step = () => push())")  # it never ends
        page.click("#graph-button")
        page.wait_for_selector("#graph[data-left]")
        before = page.evaluate(PAINTED)
        page.fill("#query", "word7777")
        page.wait_for_selector(".row[data-path='digest/wiki/node-7777.md']")
        page.mouse.move(800, 400)
        page.mouse.wheel(0, -2000)
        until(page, "graph.isMoved && graph.scale > 5")
        page.mouse.down()
        page.mouse.move(900, 450)
        page.mouse.up()
        scale = page.evaluate("graph.scale")
        at = page.evaluate("graph.drawnAt")
        until(page, f"graph.drawnAt > {at}")
        assert page.evaluate("graph.scale") == scale
        assert page.evaluate(PAINTED) != before
        page.click(".row[data-path='digest/wiki/node-7777.md']")
        assert page.inner_text("#document h2") == "Node 7777"
        assert not page.is_visible("#graph")


def test_found_nodes_are_named_in_the_graph(page: Page) -> None:
    page.evaluate(
        "const named = []; const pen = $('canvas').getContext('2d'); const fill = pen.fillText;"
        "pen.fillText = (text, ...at) => { named.push(text); fill.call(pen, text, ...at); };"
        "window.named = named"
    )
    page.click("#graph-button")
    page.wait_for_selector("#graph[data-left='0']")
    assert set(page.evaluate("named")) == {"Zebra", "Zebra talk", "talk.jsonl"}
    page.evaluate("named.length = 0")
    page.fill("#query", "quux")
    until(page, "named.length > 0")
    assert set(page.evaluate("named")) == {"Zebra"}


def test_ten_thousand_nodes_are_usable(browser: Browser, large: Path) -> None:
    for page in opened(browser, large):
        assert page.locator(".row").count() < 60  # only what is in sight exists
        page.fill("#query", "word7777")
        page.wait_for_selector(".row[data-path='digest/wiki/node-7777.md']")
        page.click(".row[data-path='digest/wiki/node-7777.md']")
        page.click("#document .line:has-text('word7777')")
        assert page.locator("#trail [data-place]").first.inner_text().startswith("daily/")
        page.fill("#query", "")
        page.wait_for_selector(".row:nth-child(9)", state="attached")
        far = page.evaluate("state.rows[9000].path")
        page.evaluate("document.getElementById('timeline').scrollTop = 56 * 9000")
        page.wait_for_selector(f".row[data-path='{far}']", state="attached")
        page.click("#graph-button")
        assert page.evaluate("graph.files.length") >= 10_000
        page.wait_for_selector("#graph[data-left='0']", state="attached")
        label = "digest/wiki/node-7777.md"
        page.click("#canvas", position=place_of(page, label))
        assert page.inner_text("#document h2").startswith(("Node", "card"))


@pytest.fixture
def odd(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    yield from opened(browser, odd_page(tmp_path))


def test_names_that_mean_something_to_scripts(odd: Page) -> None:
    odd.click(".row[data-path='digest/wiki/__proto__.md']")
    said = odd.inner_text("#document .line:has-text('constructor')")
    assert "![[__proto__]] ![[constructor]]" in said
    assert odd.locator("#document img").count() == 0
    odd.click(".row[data-path='digest/wiki/dollars.md']")
    assert "(a picture: resource/$&{}.png)" in odd.evaluate("picture('resource/$&{}.png')")


def test_a_hundred_thousand_lines_and_marks(odd: Page) -> None:
    odd.click(".row[data-path='digest/wiki/lines.md']")
    odd.locator("#document .line").nth(99_999).wait_for(state="attached")
    odd.click(".row[data-path='digest/wiki/dollars.md']")
    assert odd.locator("#document .line").count() == 1
    odd.fill("#query", "y")
    odd.click(".row[data-path='digest/wiki/marks.md']")
    assert odd.locator("#document mark").count() == 200_000


def test_a_narrow_window(browser: Browser, small: Path) -> None:
    for page in opened(browser, small):
        page.set_viewport_size({"width": 360, "height": 640})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
