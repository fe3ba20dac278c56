"""The cards of a day: nobody's card is overwritten, and the day's page lists them all."""

from __future__ import annotations

import threading

import pytest

from agentscope_reme.errors import BadInput, BadPath
from agentscope_reme.tools import AGENT, card_scope
from tests.tools.conftest import Desk

DAY = "2026-06-20"
PAGE = f"daily/{DAY}.md"
CARD = card_scope(actor="auto_memory", day=DAY, session_id="a")


def test_a_card_carries_its_provenance(desk: Desk) -> None:
    result = desk.operations().daily_write(
        "login", "About login", "Body", "team/a", metadata={"tags": ["x"], "session_id": "forged"}
    )
    assert (result.path, result.created) == (f"daily/{DAY}/login.md", True)
    assert desk.operations().frontmatter_read(result.path).frontmatter == {
        "name": "login",
        "description": "About login",
        "session_id": "team/a",
        "source_conversation": "[[session/dialog/team%2Fa.jsonl]]",
        "tags": ["x"],
    }


def test_another_sessions_card_is_never_overwritten(desk: Desk) -> None:
    files = desk.operations()
    paths = [files.daily_write("login", "", f"from {s}", s).path for s in ("a", "b", "c")]
    assert paths == [f"daily/{DAY}/login{suffix}.md" for suffix in ("", "-2", "-3")]
    assert "from a" in desk.text(paths[0])
    again = files.daily_write("login", "", "from b again", "b")
    assert (again.path, again.created) == (paths[1], False)
    assert again.answer.startswith(f"Replaced daily/{DAY}/login-2.md (")
    assert "belongs to another card" in again.answer
    assert "from a" in desk.text(paths[0])


def test_cards_without_a_session_do_not_overwrite_each_other(desk: Desk) -> None:
    files = desk.operations()
    files.daily_write("login", "", "one")
    assert files.daily_write("login", "", "two").path == f"daily/{DAY}/login-2.md"


def test_names_that_differ_by_case_are_one_name(desk: Desk) -> None:
    files = desk.operations()
    files.daily_write("Login", "", "one", "a")
    assert files.daily_write("login", "", "two", "b").path == f"daily/{DAY}/login-2.md"


def test_sessions_that_write_at_once_get_a_card_each(shared_desk: Desk) -> None:
    desk, files = shared_desk, shared_desk.operations()
    threads = [
        threading.Thread(target=files.daily_write, args=("login", "", f"from {n}", f"s{n}"))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cards = desk.view.paths(f"daily/{DAY}")
    assert len(cards) == 4
    assert len({files.frontmatter_read(path).frontmatter["session_id"] for path in cards}) == 4
    assert desk.text(PAGE).count("[[") == 4


@pytest.mark.parametrize(
    "name",
    ["", "  ", ".md", "a/b", "a\\b", "../x", "..", "CON", "nul.md", "x" * 121, "a[b", "a#b", "a|b"],
)
def test_a_name_that_is_no_plain_file_name_is_refused(desk: Desk, name: str) -> None:
    with pytest.raises(BadInput):
        desk.operations().daily_write(name, "", "text")
    assert desk.view.paths() == []


def test_a_name_may_come_with_its_suffix_and_in_any_script(desk: Desk) -> None:
    files = desk.operations()
    assert files.daily_write("login.md", "", "x").path == f"daily/{DAY}/login.md"
    assert files.daily_write("登录 决定", "", "x").path == f"daily/{DAY}/登录 决定.md"


@pytest.mark.parametrize("date", ["20.6.2026", "2026-6-20", "2026-02-30", "today", "2026-06-20/x"])
def test_a_date_is_strict(desk: Desk, date: str) -> None:
    files = desk.operations()
    for call in (
        lambda: files.daily_write("x", "", "x", date=date),
        lambda: files.daily_list(date),
        lambda: files.daily_reindex(date),
    ):
        with pytest.raises(BadInput, match="Use YYYY-MM-DD"):
            call()


def test_the_page_lists_the_cards_and_keeps_what_people_wrote(desk: Desk) -> None:
    files = desk.operations()
    files.daily_write("b-card", "Second", "x", "b")
    desk.put(PAGE, "My day\n\n" + desk.text(PAGE) + "\nAfter\n")
    files.daily_write("a-card", "First", "x", "a")
    text = desk.text(PAGE)
    assert text.startswith("My day\n\n---\n")
    assert text.endswith("\nAfter\n")
    assert (
        "<!-- notes:auto -->\n"
        f"- [[daily/{DAY}/a-card.md]] a-card — First\n"
        f"- [[daily/{DAY}/b-card.md]] b-card — Second\n"
        "<!-- /notes:auto -->\n"
    ) in text


def test_a_new_page_has_a_name(desk: Desk) -> None:
    desk.operations().daily_write("a", "First", "x", "a")
    front = desk.operations().frontmatter_read(PAGE).frontmatter
    assert front == {"name": DAY, "description": f"Cards of {DAY}"}


def test_an_unchanged_page_is_not_written_and_an_empty_day_gets_none(desk: Desk) -> None:
    files = desk.operations()
    assert files.daily_reindex().replaced == 0
    assert not desk.view.exists(PAGE)
    files.daily_write("a", "First", "x", "a")
    result = files.daily_reindex()
    assert (result.replaced, result.answer) == (0, f"{PAGE} already lists 1 card.")
    files.delete(f"daily/{DAY}/a.md")
    files.daily_reindex()
    assert "<!-- notes:auto -->\n(none)\n<!-- /notes:auto -->" in desk.text(PAGE)


def test_a_page_without_markers_gets_the_block_at_its_end(desk: Desk) -> None:
    files = desk.operations()
    desk.put(PAGE, "---\nname: mine\n---\r\nWritten by hand")
    files.daily_write("a", "", "x", "a")
    text = desk.text(PAGE)
    assert text.startswith("---\nname: mine\n---\r\nWritten by hand")
    assert text.count("<!-- notes:auto -->") == 1
    files.daily_reindex()
    assert desk.text(PAGE) == text


def test_a_lost_end_marker_does_not_swallow_text(desk: Desk) -> None:
    desk.put(PAGE, "<!-- notes:auto -->\nprecious\n")
    files = desk.operations()
    files.daily_write("a", "", "x", "a")
    text = desk.text(PAGE)
    assert "precious" in text
    files.daily_reindex()
    assert desk.text(PAGE) == text


def test_a_description_cannot_break_out_of_its_line(desk: Desk) -> None:
    files = desk.operations()
    hostile = "one\ntwo <!-- /notes:auto --> [[digest/x.md]] " + "long " * 200
    files.daily_write("a", hostile, "x", "a")
    first = desk.text(PAGE)
    files.daily_reindex()
    assert desk.text(PAGE) == first
    assert first.count("[[") == 1
    assert max(map(len, first.split("\n"))) < 400


def test_only_markdown_directly_in_the_day_is_a_card(desk: Desk) -> None:
    files = desk.operations()
    desk.put(f"daily/{DAY}/interests.yaml", "topics: []\n")
    desk.put(f"daily/{DAY}/sub/deep.md", "x\n")
    files.daily_write("a", "", "x", "a")
    assert [entry.path for entry in files.daily_list().entries] == [f"daily/{DAY}/a.md"]


def test_the_list_shows_what_each_card_says(desk: Desk) -> None:
    files = desk.operations()
    files.daily_write("a", "First", "x", "s", metadata={"tags": ["t"]})
    desk.put(f"daily/{DAY}/broken.md", "---\nnot: [closed\n---\nx\n")
    result = files.daily_list(DAY)
    assert result.answer.split("\n") == [
        f"- path: daily/{DAY}/a.md name: a description: First session_id: s "
        "source_conversation: [[session/dialog/s.jsonl]] tags: ['t']",
        f"- path: daily/{DAY}/broken.md (front matter cannot be read)",
    ]
    assert files.daily_list("2026-06-19").answer == "No cards on 2026-06-19."


def test_a_run_for_one_card_is_told_its_day_and_session_by_code(desk: Desk) -> None:
    files = desk.operations(CARD)
    result = files.daily_write("login", "", "text")
    assert result.path == f"daily/{DAY}/login.md"
    assert files.frontmatter_read(result.path).frontmatter["session_id"] == "a"
    with pytest.raises(BadInput, match="another day"):
        files.daily_write("login", "", "text", date="2026-06-19")
    with pytest.raises(BadInput, match="another session"):
        files.daily_write("login", "", "text", session_id="b")
    with pytest.raises(BadInput, match="already has the card"):
        files.daily_write("better-name", "", "text")
    assert not files.daily_write("login", "", "new text").created


def test_a_run_for_one_card_leaves_the_page_to_the_code_that_started_it(desk: Desk) -> None:
    files = desk.operations(CARD)
    files.daily_write("login", "", "text")
    assert not desk.view.exists(PAGE)
    with pytest.raises(BadPath):
        files.daily_reindex()


def test_the_log_of_a_card_may_have_another_place(desk: Desk) -> None:
    scope = card_scope(
        actor="auto_memory", day=DAY, session_id="A", source_path="session/dialog/A~1.jsonl"
    )
    path = desk.operations(scope).daily_write("x", "", "text").path
    front = desk.operations().frontmatter_read(path).frontmatter
    assert front["source_conversation"] == "[[session/dialog/A~1.jsonl]]"


def test_an_agent_writes_cards_and_the_page_follows(desk: Desk) -> None:
    result = desk.operations(AGENT).daily_write("x", "", "text", "s")
    assert result.touched == [PAGE]
    assert desk.view.exists(PAGE)


def test_a_page_that_cannot_follow_does_not_cost_the_card(desk: Desk) -> None:
    page = "手写的日记\n".encode("gbk")
    desk.put(PAGE, page)
    result = desk.operations().daily_write("登录", "", "text", "s")
    assert desk.view.exists(result.path)
    assert "The page of the day was not refreshed: " in result.answer
    assert desk.view.read(PAGE) == page


def test_links_in_descriptions_stand_on_the_page_as_words(desk: Desk) -> None:
    files = desk.operations()
    said = "See ![[session/images/s/a.png]], [[digest/wiki/tea.md|tea]] and [b](https://b.org/x)."
    files.daily_write("login", said, "Body", "a")
    files.daily_write("cut", "See [[digest/wiki/never", "Body", "b")
    page = desk.text(PAGE)
    assert "See session/images/s/a.png, tea and b." in page
    assert "See [ [digest/wiki/never" in page
