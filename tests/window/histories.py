"""Random conversations, each piece of which carries a marker that must never be lost."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from agentscope.message import Msg
from hypothesis import strategies as st


@dataclass
class History:
    """Messages, and the markers of every payload in them."""

    messages: list[Msg] = field(default_factory=list)
    markers: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    live_from: int = 0

    def mark(self) -> str:
        self.markers.append(f"payload-{len(self.markers)}-end")
        return self.markers[-1]

    def text(self, size: int) -> str:
        """About `size` characters with markers at both ends and in the middle."""
        if size < 60:
            return self.mark()
        half = "several words 几个字 " * (size // 40)
        return f"{self.mark()} {half} {self.mark()} {half} {self.mark()}"

    def image(self) -> dict[str, Any]:
        data = base64.b64encode(f"\x89PNG image {len(self.images)} ".encode() * 2).decode()
        self.images.append(data)
        source = {"type": "base64", "media_type": "image/png", "data": data}
        return {"type": "image", "source": source}

    def say(self, role: str, content: Any) -> None:
        self.messages.append(Msg(role, content, role))


@dataclass(frozen=True)
class Round:
    """Calls of one message and what becomes of their results.

    ``order`` permutes the results; ``fates`` says for each call: answered, lost, twice.
    """

    calls: int
    order: int
    fates: tuple[str, ...]
    sizes: tuple[int, ...]
    image: bool = False
    interrupted: bool = False
    words: bool = False


SIZES = st.sampled_from([10, 200, 3_000, 30_000])
ROUNDS = st.builds(
    Round,
    calls=st.integers(1, 4),
    order=st.integers(0, 23),
    fates=st.tuples(*[st.sampled_from(["answered"] * 5 + ["lost", "twice"])] * 4),
    sizes=st.tuples(*[SIZES] * 4),
    image=st.booleans(),
    interrupted=st.integers(0, 9).map(lambda n: n == 0),
    words=st.booleans(),
)
WHOLE_ROUNDS = st.builds(
    Round,
    calls=st.integers(1, 3),
    order=st.integers(0, 5),
    fates=st.just(("answered",) * 4),
    sizes=st.tuples(*[SIZES] * 4),
    image=st.booleans(),
)
STEPS = st.one_of(
    st.tuples(st.just("user"), SIZES),
    st.tuples(st.just("assistant"), SIZES),
    st.tuples(st.just("image"), st.just(0)),
    st.tuples(st.just("legacy"), st.integers(0, 3)),
    st.tuples(st.just("orphan"), SIZES),
    st.tuples(st.just("round"), ROUNDS),
)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """A conversation with every defect hosts have met, ending in a turn that is being worked on."""
    history = History()
    number = 0
    for kind, detail in draw(st.lists(STEPS, max_size=14)):
        number += 1
        if kind == "round":
            _play(history, detail, number)
        elif kind == "legacy":
            history.say("user", [_legacy(history, detail)])
        elif kind == "image":
            history.say("user", [{"type": "text", "text": history.mark()}, history.image()])
        elif kind == "orphan":
            history.say("system", [_result(history, f"gone-{number}", detail, image=False)])
        else:
            history.say(kind, history.text(detail))
    history.live_from = len(history.messages)
    history.say("user", history.text(draw(st.sampled_from([10, 10, 10, 400, 3_000]))))
    for round_ in draw(st.lists(WHOLE_ROUNDS, max_size=3)):
        number += 1
        _play(history, round_, number)
    return history


def _legacy(history: History, kind: int) -> Any:
    mark = history.mark()
    return [
        mark,
        {"text": mark},
        {"type": "file", "source": {"type": "url", "url": f"file:///{mark}"}},
        {"note": mark},
    ][kind]


def _play(history: History, round_: Round, number: int) -> None:
    ids = [f"call-{number}-{place}" for place in range(round_.calls)]
    blocks: list[Any] = [{"type": "text", "text": history.mark()}] if round_.words else []
    for call in ids:
        given = {"path": history.mark()}
        blocks.append({"type": "tool_use", "id": call, "name": "read", "input": given})
    history.say("assistant", blocks)
    if round_.interrupted:
        history.say("user", history.mark())
    for place in _shuffled(list(range(round_.calls)), round_.order):
        fate = round_.fates[place]
        for _ in range({"answered": 1, "lost": 0, "twice": 2}[fate]):
            image = round_.image and place == 0
            history.say("system", [_result(history, ids[place], round_.sizes[place], image=image)])


def _result(history: History, call: str, size: int, *, image: bool) -> dict[str, Any]:
    words = history.text(size)
    output: Any = [{"type": "text", "text": words}, history.image()] if image else words
    return {"type": "tool_result", "id": call, "name": "read", "output": output}


def _shuffled(places: list[int], order: int) -> list[int]:
    mixed = []
    while places:
        order, chosen = divmod(order, len(places))
        mixed.append(places.pop(chosen))
    return mixed
