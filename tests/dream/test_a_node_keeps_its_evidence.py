"""What an agent may do to a digest node, rule by rule; the code decides, in words."""

from __future__ import annotations

import dataclasses
import re

import pytest

from agentscope_reme.steps.dream.node_checks import check_node
from agentscope_reme.steps.dream.proposal import Proposal, RefusedError, completed
from agentscope_reme.steps.dream.units import Action

CARD = "daily/2026-06-21/news.md"
OLD_CARD = "daily/2026-06-01/talk.md"
FILES = {CARD, OLD_CARD, "digest/wiki/audit.md", "digest/wiki/launch.md"}
OLD = f"""---
name: Launch
description: When the product is launched, and what holds it up.
kind: project
---
# Launch

- The launch is on 2 July. (observed 2026-06-01)
- The venue was Bern. (observed 2026-05-01, until 2026-06-01)

The date hangs on [[digest/wiki/audit.md|the audit]]. (observed 2026-06-01)

```sh
make launch
```

## Sources

- [[{OLD_CARD}]]
"""
HEAD = "---\nname: a\ndescription: b\n---\n"
SOURCES = "## Sources\n\n"
CITED = f"{SOURCES}- [[{CARD}]]\n"


def propose(after: str, action: Action = "CORROBORATE", before: str | None = OLD) -> Proposal:
    return Proposal(
        action=action,
        target="digest/wiki/launch.md",
        before=None if before is None else before.encode(),
        after=after.encode(),
        paths=(CARD,),
        days=("2026-06-21",),
        evidence="The launch moved to 9 July. Tickets are sold from 2026-07-01 on.",
        exists=FILES.__contains__,
    )


def judged(after: str, action: Action = "CORROBORATE", before: str | None = OLD) -> str:
    """The node as it would be committed.

    Raises:
        RefusedError: it breaks a rule.
    """
    node = propose(after, action, before)
    finished = completed(node)
    check_node(dataclasses.replace(node, after=finished))
    return finished.decode()


def cited(text: str = OLD) -> str:
    return text.replace(SOURCES, CITED)


MOVED = cited(
    OLD.replace(
        "- The launch is on 2 July. (observed 2026-06-01)",
        "- The launch is on 2 July. (observed 2026-06-01, until 2026-06-21)\n"
        "- The launch is on 9 July.",
    )
)


def test_a_new_source_is_enough_to_corroborate() -> None:
    assert judged(cited()) == cited()


def test_new_statements_get_the_day_of_their_notes() -> None:
    added = cited(OLD.replace("```sh", "- Tickets are sold already.\n\nAnna\nruns it.\n\n```sh"))
    text = judged(added, "REFINE")
    assert "- Tickets are sold already. (observed 2026-06-21)\n" in text
    assert "Anna\nruns it. (observed 2026-06-21)\n" in text
    assert "make launch\n```" in text  # code carries no date
    assert text.count("(observed 2026-06-01)") == 2  # what stood there keeps its own


def test_a_bare_observed_or_until_is_filled_in_by_code() -> None:
    text = judged(
        MOVED.replace(", until 2026-06-21)", ", until)").replace("9 July.", "9 July. (observed)"),
        "CORRECT",
    )
    assert "2 July. (observed 2026-06-01, until 2026-06-21)" in text
    assert "9 July. (observed 2026-06-21)" in text


def test_a_correction_keeps_the_old_statement_until_its_end() -> None:
    text = judged(MOVED, "CORRECT")
    assert "- The launch is on 2 July. (observed 2026-06-01, until 2026-06-21)" in text
    assert "- The launch is on 9 July. (observed 2026-06-21)" in text


def test_a_correction_may_be_told_in_one_sentence() -> None:
    old = "- The launch is on 2 July. (observed 2026-06-01)"
    said = "- Until 2026-06-21 the launch was planned for 2 July; now it is on 9 July."
    text = judged(cited(OLD.replace(old, f"{said} (observed 2026-06-01)")), "CORRECT")
    assert said in text
    bracketed = (
        "- The launch is on 2 July. (observed 2026-06-01, until 2026-06-21: moved to 9 July)"
    )
    assert bracketed in judged(cited(OLD.replace(old, bracketed)), "CORRECT")


def test_a_refinement_may_say_it_better() -> None:
    better = "- The launch is on 2 July at noon, in Basel. (observed 2026-06-01)"
    assert better in judged(
        cited(OLD.replace("- The launch is on 2 July. (observed 2026-06-01)", better)), "REFINE"
    )


def test_front_matter_a_rewrite_forgot_is_put_back() -> None:
    assert "kind: project\n" in judged(cited(OLD.replace("kind: project\n", "")))


def test_a_name_that_is_missing_is_put_in() -> None:
    assert "name: Launch\n" in judged(cited(OLD.replace("name: Launch", "name: ''")))
    node = propose(f"- x\n\n{CITED}", "CREATE", None)
    named = completed(dataclasses.replace(node, name="Launch", summary="When it is."))
    assert named.startswith(b"---\nname: Launch\ndescription: When it is.\n---\n")


def test_windows_line_ends_stay() -> None:
    before = OLD.replace("\n", "\r\n")
    after = before.replace("## Sources\r\n\r\n", f"## Sources\r\n\r\n- [[{CARD}]]\r\n")
    after = after.replace("```sh", "- Tickets are sold.\r\n\r\n```sh")
    text = judged(after, "REFINE", before)
    assert "- Tickets are sold. (observed 2026-06-21)\r\n" in text
    assert re.search(r"[^\r]\n", text) is None


def test_a_value_that_comes_back_is_observed_anew() -> None:
    bern = "- Venue: Bern (observed 2026-05-01, until 2026-06-01)\n"
    basel = "- Venue: Basel (observed 2026-06-01)\n"
    before = f"{HEAD}{bern}{basel}\n{SOURCES}- [[{OLD_CARD}]]\n"
    ended = "- Venue: Basel (observed 2026-06-01, until)\n- Venue: Bern\n"
    text = judged(cited(before.replace(basel, ended)), "CORRECT", before)
    assert bern in text
    assert "- Venue: Basel (observed 2026-06-01, until 2026-06-21)\n" in text
    assert "- Venue: Bern (observed 2026-06-21)\n" in text


def test_small_words_and_endings_may_change_in_a_refinement() -> None:
    old = "---\nname: a\ndescription: b\n---\n- Anna drinks green tea. (observed 2026-06-01)\n\n"
    before = f"{old}{SOURCES}- [[{OLD_CARD}]]\n"
    better = before.replace("Anna drinks green tea", "Anna is drinking green tea, with milk")
    assert "is drinking green tea, with milk" in judged(cited(better), "REFINE", before)
    with pytest.raises(RefusedError, match="says something else now"):
        judged(cited(before.replace("green", "black")), "REFINE", before)


BROKEN: dict[str, tuple[str, Action, str]] = {
    "emptied": ("", "REFINE", "says nothing"),
    "only a heading": ("---\nname: a\ndescription: b\n---\n# x\n", "REFINE", "says nothing"),
    "no new source": (OLD + "\n", "CORROBORATE", "Sources must list at least one"),
    "source lost": (cited().replace(f"- [[{OLD_CARD}]]\n", ""), "REFINE", "Sources entry"),
    "source moved out of Sources": (
        cited()
        .replace(f"- [[{OLD_CARD}]]\n", "")
        .replace("# Launch", f"# Launch\n\n[[{OLD_CARD}]]"),
        "REFINE",
        "Sources entry",
    ),
    "source hidden in code": (
        cited().replace(f"- [[{OLD_CARD}]]\n", f"`[[{OLD_CARD}]]`\n"),
        "REFINE",
        "Sources entry",
    ),
    "no Sources section": (
        cited().replace("## Sources", "## Origins"),
        "REFINE",
        "no `## Sources`",
    ),
    "digest link lost": (
        cited().replace("[[digest/wiki/audit.md|the audit]]", "the audit"),
        "REFINE",
        "audit.md]] was lost",
    ),
    "link to nowhere": (
        cited().replace("# Launch", "# Launch\n\nSee [[digest/wiki/ghost.md]]."),
        "REFINE",
        "leads nowhere",
    ),
    "statement lost": (
        cited().replace("- The launch is on 2 July. (observed 2026-06-01)\n", ""),
        "CORROBORATE",
        "was lost",
    ),
    "statement replaced silently": (
        cited().replace("2 July", "9 July"),
        "REFINE",
        "that is a CORRECT",
    ),
    "replaced without a number": (
        cited().replace("The venue", "A new plan. The venue").replace("hangs on", "ignores"),
        "REFINE",
        "says something else now",
    ),
    "corrected without the old": (cited().replace("2 July", "9 July"), "CORRECT", "stay readable"),
    "corrected without the new": (
        MOVED.replace("\n- The launch is on 9 July.", ""),
        "CORRECT",
        "Nothing says what replaced",
    ),
    "an unrelated statement ended": (
        MOVED.replace("- The launch is on 9 July.", "- Bread rises at night."),
        "CORRECT",
        "Nothing says what replaced",
    ),
    "corrected under another name": (MOVED, "REFINE", "name that action"),
    "an earlier end removed": (
        cited().replace(", until 2026-06-01)", ")"),
        "CORROBORATE",
        "was lost",
    ),
    "an observation redated": (
        cited().replace("2 July. (observed 2026-06-01)", "2 July. (observed 2026-06-21)"),
        "CORROBORATE",
        "The date 2026-06-01",
    ),
    "observed on a day without notes": (
        MOVED.replace("9 July.", "9 July. (observed 2026-07-09)"),
        "CORRECT",
        "not a day of these notes",
    ),
    "ended on a day without notes": (
        MOVED.replace("until 2026-06-21", "until 2025-06-21"),
        "CORRECT",
        "stands in none of the notes",
    ),
    "a date nobody noted": (
        MOVED.replace("9 July.", "9 July, that is 2025-07-09."),
        "CORRECT",
        "stands in none of the notes",
    ),
    "the placeholder of a date": (
        MOVED.replace("9 July.", "9 July. (observed YYYY-MM-DD)"),
        "CORRECT",
        "is not a date",
    ),
    "code lost": (cited().replace("make launch", "true"), "REFINE", "was lost"),
    "shrunk": (
        f"{HEAD}- The launch is on 2 July.\n\n{CITED}- [[{OLD_CARD}]]\n",
        "REFINE",
        "shrank",
    ),
    "flooded": (cited().replace("# Launch", "# Launch\n\n" + "word " * 2000), "REFINE", "at most"),
    "front matter broken": (
        cited().replace("kind: project", "kind: [a"),
        "CORROBORATE",
        "front matter",
    ),
    "pinned by the agent": (
        cited().replace("kind: project", "kind: project\npinned: true"),
        "CORROBORATE",
        "Only a person pins",
    ),
    "recalled memory": (
        cited().replace("# Launch", "# Launch\n\n<recalled-memory>x</recalled-memory>"),
        "REFINE",
        "Recalled memory",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_change_that_breaks_a_rule_is_refused_in_words(case: str) -> None:
    after, action, words = BROKEN[case]
    with pytest.raises(RefusedError) as refused:
        judged(after, action)
    assert words in str(refused.value)


def test_a_pinned_node_is_left_alone() -> None:
    pinned = OLD.replace("kind: project", "pinned: true")
    with pytest.raises(RefusedError, match="is pinned"):
        judged(cited(pinned), "CORROBORATE", pinned)


def test_a_statement_may_end_on_a_date_of_the_notes() -> None:
    ended = MOVED.replace("until 2026-06-21", "until 2026-07-01")
    assert "until 2026-07-01)" in judged(ended, "CORRECT")


def test_a_date_of_the_notes_may_be_written() -> None:
    after = cited(OLD.replace("```sh", "- Tickets are sold from 2026-07-01 on.\n\n```sh"))
    assert "from 2026-07-01 on. (observed 2026-06-21)" in judged(after, "REFINE")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# Nothing\n", "no `name`"),
        (f"---\nname: a\ndescription: b\n---\n- x\n\n{CITED}" + "x" * 13_000, "at most 12000"),
        (
            "---\nname: a\ndescription: b\n---\n- x\n\n## Sources\n\n- [[daily/no.md]]\n",
            "leads nowhere",
        ),
        ("---\nname: a\ndescription: b\n---\n- x\n", "no `## Sources`"),
    ],
)
def test_a_new_node_is_held_to_the_same(text: str, words: str) -> None:
    with pytest.raises(RefusedError) as refused:
        judged(text, "CREATE", None)
    assert words in str(refused.value)


def test_chinese_statements_are_dated_and_kept() -> None:
    old = "- 发布日期是 7 月 2 日。（observed 2026-06-01）"
    ended = "- 发布日期是 7 月 2 日。（observed 2026-06-01, until 2026-06-21）"
    before = f"{HEAD}{old}\n\n## 来源\n\n- [[{OLD_CARD}]]\n"
    after = before.replace(old, f"{ended}\n- 发布日期是 7 月 9 日。")
    after = after.replace("## 来源\n\n", f"## 来源\n\n- [[{CARD}]]\n")
    assert "7 月 9 日。 (observed 2026-06-21)" in judged(after, "CORRECT", before)
    with pytest.raises(RefusedError):
        judged(after.replace(", until 2026-06-21", "").replace("2 日", "3 日"), "REFINE", before)


REMARKS = OLD.replace(
    "# Launch\n", "# Launch\n\n<!-- ask Ann before -->\n\n## What holds it up\n", 1
).replace(f"[[{OLD_CARD}]]", f"[[{OLD_CARD}]] told by Ann")


@pytest.mark.parametrize("action", ["CORROBORATE", "REFINE", "CORRECT"])
@pytest.mark.parametrize(
    ("words", "instead"),
    [
        ("## What holds it up", "## What is settled"),
        ("<!-- ask Ann before -->\n", ""),
        (" told by Ann", ""),
    ],
)
def test_headings_comments_and_remarks_stay(action: Action, words: str, instead: str) -> None:
    after = REMARKS.replace(words, instead).replace(SOURCES, f"{CITED}")
    with pytest.raises(RefusedError, match=f'"{words.strip("# ").strip()}" was lost'):
        judged(after, action, REMARKS)


def test_headings_and_remarks_may_grow() -> None:
    after = REMARKS.replace("## What holds it up", "## What holds it up, and what does not")
    assert "told by Ann" in judged(after.replace(SOURCES, CITED), "REFINE", REMARKS)


def test_what_is_struck_out_has_ended_and_only_a_correction_ends() -> None:
    struck = OLD.replace("The launch is on 2 July.", "~~The launch is on 2 July.~~")
    for action in ("CORROBORATE", "REFINE", "CORRECT"):
        with pytest.raises(RefusedError, match="struck out"):
            judged(struck.replace(SOURCES, CITED), action)  # type: ignore[arg-type]
    assert "2 July" in judged(struck.replace(SOURCES, CITED), before=struck)  # a person's
    told = struck.replace(
        "~~ (observed 2026-06-01)",
        "~~ (observed 2026-06-01, until 2026-06-21)\n- The launch is on 9 July.",
    )
    assert "9 July" in judged(told.replace(SOURCES, CITED), "CORRECT")


def test_front_matter_of_a_person_keeps_its_values() -> None:
    before = OLD.replace("kind: project", "kind: project\ntags: [a]")
    after = before.replace("kind: project", "kind: rumour").replace("[a]", "[a, b]")
    node = judged(
        after.replace("name: Launch", "name: The launch").replace(SOURCES, CITED), "REFINE", before
    )
    assert "kind: project" in node
    assert "name: The launch" in node
    assert "tags: [a, b]" in node
    lost = before.replace("tags: [a]", "tags: [b]").replace(SOURCES, CITED)
    assert "tags: [a]" in judged(lost, "REFINE", before)


def test_a_dash_inside_a_statement_is_no_list_marker() -> None:
    before = OLD.replace("The date hangs on", "Two - or three - things: it hangs on")
    after = before.replace("Two - or", "- Two - or").replace(SOURCES, CITED)
    assert "- Two - or three" in judged(after, "REFINE", before)


LAUNCHES = "- The launch is on 2 July. (observed 2026-06-01)"
CHINESE = "- 发布日期是 7 月 2 日。(observed 2026-06-01)"


@pytest.mark.parametrize(
    "wrapped",
    [
        "- It is not true that the launch is on 2 July. (observed 2026-06-01)",
        "- The launch is on 2 July, which never was the plan. (observed 2026-06-01)",
        "- That the launch is on 2 July is wrong. (observed 2026-06-01)",
        "- Ann doesn't think the launch is on 2 July. (observed 2026-06-01)",
        "- The launch is no longer on 2 July. (observed 2026-06-01)",
        "- Formerly, the launch is on 2 July. (observed 2026-06-01)",
        "- 说发布日期是 7 月 2 日并非事实。(observed 2026-06-01)",
        "- 发布日期是 7 月 2 日，这是错误的。(observed 2026-06-01)",
        "- 发布日期不再是 7 月 2 日。(observed 2026-06-01)",
    ],
)
def test_a_refinement_does_not_deny_what_it_keeps(wrapped: str) -> None:
    old = LAUNCHES if "launch" in wrapped else CHINESE
    before = OLD.replace(LAUNCHES, old)
    with pytest.raises(RefusedError, match="denied or doubted"):
        judged(cited(before.replace(old, wrapped)), "REFINE", before)
    as_its_own = f"{old}\n{wrapped.replace('2026-06-01', '2026-06-21')}"
    both = judged(cited(before.replace(old, as_its_own)), "REFINE", before)
    assert old in both  # whoever reads it sees what was said when


@pytest.mark.parametrize(
    ("old", "better"),
    [
        (LAUNCHES, "- The launch is on 2 July, not only in Bern. (observed 2026-06-01)"),
        (CHINESE, "- 发布日期是 7 月 2 日，非常确定。(observed 2026-06-01)"),
        (
            "- The launch is not on 2 July. (observed 2026-06-01)",
            "- The launch is not on 2 July, says Ann. (observed 2026-06-01)",
        ),
    ],
)
def test_a_refinement_may_say_what_denies_nothing(old: str, better: str) -> None:
    before = OLD.replace(LAUNCHES, old)
    assert better in judged(cited(before.replace(old, better)), "REFINE", before)


def test_nor_is_a_denial_denied() -> None:
    old = "- The launch is not on 2 July. (observed 2026-06-01)"
    wrapped = "- It is not true that the launch is not on 2 July. (observed 2026-06-01)"
    before = OLD.replace(LAUNCHES, old)
    with pytest.raises(RefusedError, match="denied or doubted"):
        judged(cited(before.replace(old, wrapped)), "REFINE", before)


@pytest.mark.parametrize(
    "lead", ["It is not true that:\n\n", "## No longer so\n\n", "以下不属实：\n\n"]
)
@pytest.mark.parametrize("action", ["CORROBORATE", "REFINE", "CORRECT"])
def test_nothing_leads_in_to_an_old_statement_with_a_denial(lead: str, action: Action) -> None:
    after = MOVED if action == "CORRECT" else cited()
    with pytest.raises(RefusedError, match="denies statements that stand below it"):
        judged(after.replace("- The launch is on 2", f"{lead}- The launch is on 2", 1), action)


def test_a_heading_with_a_denial_may_stand_above_what_is_new() -> None:
    added = OLD.replace("## Sources", "## What is not done\n\n- Posters.\n\n## Sources")
    assert "- Posters. (observed 2026-06-21)" in judged(cited(added), "REFINE")
