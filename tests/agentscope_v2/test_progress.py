"""Progress is kept by block, so a message may grow, shrink, change and come back."""

from __future__ import annotations

from agentscope.message import AssistantMsg, HintBlock, Msg, TextBlock, UserMsg
from agentscope.state import AgentState

from agentscope_reme.agentscope_v2.turns import Fresh, Progress, SettledStart


def text(block_id: str) -> TextBlock:
    return TextBlock(text=f"said {block_id}", id=block_id)


def reply(*block_ids: str) -> Msg:
    return AssistantMsg("Friday", [text(block_id) for block_id in block_ids], id="r1")


def fresh_of(state: AgentState, *context: Msg) -> list[Fresh]:
    state.context = list(context)
    progress = Progress(state, "k")
    found = progress.fresh(context, originals={}, agent_name="Friday")
    progress.mark(found)
    return found


def replying() -> AgentState:
    """The state of an agent whose reply ``r1`` goes on."""
    state = AgentState()
    state.reply_id = "r1"
    return state


def texts(found: list[Fresh]) -> list[tuple[str | None, str]]:
    return [(item.message.id, item.message.text) for item in found]


def test_a_message_that_grew_is_given_again_whole_under_its_id() -> None:
    state = replying()
    assert texts(fresh_of(state, reply("a"))) == [("r1", "said a")]
    assert texts(fresh_of(state, reply("a", "b"))) == [("r1", "said a\nsaid b")]
    assert fresh_of(state, reply("a", "b")) == []


def test_a_message_that_lost_its_beginning_gives_only_what_is_new() -> None:
    state = replying()
    fresh_of(state, reply("a", "b"))
    (part,) = fresh_of(state, reply("b", "c"))
    assert part.message.text == "said c"
    assert str(part.message.id).startswith("r1:")
    (next_part,) = fresh_of(state, reply("b", "c", "d"))
    assert next_part.message.text == "said d"
    assert next_part.message.id != part.message.id
    assert fresh_of(state, reply("b", "c", "d")) == []


def test_a_reply_that_was_dropped_and_goes_on_does_not_replace_itself() -> None:
    state = replying()
    fresh_of(state, reply("a", "b"))
    fresh_of(state)
    ((message_id, said),) = texts(fresh_of(state, reply("c")))
    assert said == "said c"
    assert message_id != "r1"


def test_two_messages_of_one_reply_are_told_apart() -> None:
    state = AgentState()
    found = texts(fresh_of(state, reply("a"), UserMsg("Bob", "hey", id="u"), reply("b")))
    assert [said for _, said in found] == ["said a", "hey", "said b"]
    assert len({message_id for message_id, _ in found}) == 3


def test_a_message_of_somebody_else_is_finished_when_it_arrives() -> None:
    state = AgentState()
    fresh_of(state, UserMsg("Ann", [text("a")], id="u"))
    assert fresh_of(state, UserMsg("Ann", [text("replaced")], id="u")) == []


def test_a_message_without_speech_is_nothing() -> None:
    state = AgentState()
    assert fresh_of(state, AssistantMsg("Friday", [HintBlock(hint="be brief")])) == []


def test_progress_forgets_what_left_the_context() -> None:
    state = AgentState()
    fresh_of(state, UserMsg("Ann", "one", id="u1"), reply("a"))
    fresh_of(state, UserMsg("Ann", "two", id="u2"))
    assert list(state.middle_context["k"]["recorded"]) == ["u2"]


def test_progress_holds_no_more_than_the_context_has_messages_and_one_reply_blocks() -> None:
    state = replying()
    blocks = [str(number) for number in range(50)]
    fresh_of(state, UserMsg("Ann", "one", id="u1"), reply(*blocks))
    assert len(state.middle_context["k"]["recorded"]["r1"]) == 50
    state.reply_id = "r2"
    assert fresh_of(state, UserMsg("Ann", "one", id="u1"), reply(*blocks)) == []
    fresh_of(state, reply(*blocks), UserMsg("Ann", "two", id="u2"))
    assert state.middle_context["k"] == {"recorded": {"r1": [], "u2": []}}
    assert fresh_of(state, reply(*blocks, "late"), UserMsg("Ann", "two", id="u2")) == []


def test_a_reply_that_ends_while_it_is_recorded_is_not_taken_for_finished() -> None:
    state = replying()
    state.context = [reply("a")]
    progress = Progress(state, "k")
    found = progress.fresh(state.context, originals={}, agent_name="Friday")
    state.reply_id = "r2"  # the next one began while the disk was busy
    progress.mark(found)
    (whole,) = fresh_of(state, reply("a", "b"))
    assert whole.message.text == "said a\nsaid b"


def going_on(state: AgentState, settled: SettledStart, *context: Msg) -> list[str]:
    """What progress that knows what was settled finds, and records."""
    state.context = list(context)
    progress = Progress(state, "k", settled)
    found = progress.fresh(context, originals={}, agent_name="Friday")
    progress.mark(found)
    return [item.message.text for item in found]


def asked(number: int) -> Msg:
    return UserMsg("Ann", f"question {number}", id=f"u{number}")


def test_what_was_settled_is_not_looked_at_again_and_nothing_new_is_missed() -> None:
    state, settled = replying(), SettledStart()
    questions = [asked(number) for number in range(4)]
    assert going_on(state, settled, *questions[:2]) == ["question 0", "question 1"]
    assert settled.length(questions, state.middle_context["k"]["recorded"]) == 2
    assert settled.length(questions, {}) == 0
    assert settled.length(questions[1:], state.middle_context["k"]["recorded"]) == 0
    growing = reply("a")
    assert going_on(state, settled, *questions[:2], growing) == ["said a"]
    assert settled.length(state.context, state.middle_context["k"]["recorded"]) == 2
    growing.content.append(text("b"))
    assert going_on(state, settled, *questions[:2], growing) == ["said a\nsaid b"]
    early = asked(9)
    assert going_on(state, settled, early, *questions[:2], growing) == ["question 9"]
    state.reply_id = "r2"
    assert going_on(state, settled, *questions[:2], growing, *questions[2:]) == [
        "question 2",
        "question 3",
    ]
    assert going_on(state, settled, questions[0], early, growing) == ["question 9"]


def test_progress_that_was_taken_away_or_replaced_is_believed() -> None:
    state, settled = AgentState(), SettledStart()
    going_on(state, settled, asked(1), asked(2))
    state.middle_context["k"] = {"recorded": {"u1": []}}
    first, second = state.context
    assert going_on(state, settled, first, second) == ["question 2"]
    del state.middle_context["k"]
    assert going_on(state, settled, first, second) == ["question 1", "question 2"]
