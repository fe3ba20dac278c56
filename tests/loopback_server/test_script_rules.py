"""What the provider promises a test: nothing unscripted passes, everything is recorded."""

from __future__ import annotations

import base64
import http.client
import json
import math
import struct
import threading
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.loopback import LoopbackProvider, Reply, Request
from tests.loopback.vectors import vector_of


def post(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json", "X-Test": "yes"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=10) as response:
        return json.load(response)


def chat_body(text: str = "hi") -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def test_an_unscripted_request_gets_500_and_fails_the_test() -> None:
    provider = LoopbackProvider()
    with pytest.raises(AssertionError, match="unscripted requests"):
        _ask_unscripted(provider, "/chat/completions")
    assert provider.unscripted == provider.requests
    assert provider.requests[0].path == "/v1/chat/completions"


def test_an_unknown_path_is_unscripted_too() -> None:
    provider = LoopbackProvider().respond_with(lambda request: Reply(text="never used"))
    with pytest.raises(AssertionError, match="/v1/files"):
        _ask_unscripted(provider, "/files")


def test_a_reply_nobody_asked_for_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="1 scripted replies"), LoopbackProvider() as provider:
        provider.reply("left over")


def test_the_error_of_the_test_itself_is_not_covered_up() -> None:
    with pytest.raises(KeyError):
        _fail_inside(LoopbackProvider())


def test_requests_are_recorded_whole(provider: LoopbackProvider) -> None:
    provider.reply("hello")
    answer = post(provider.openai_url + "/chat/completions", chat_body("read me"))
    assert answer["choices"][0]["message"]["content"] == "hello"
    (request,) = provider.requests
    assert request.path == "/v1/chat/completions"
    assert request.header("x-test") == "yes"
    assert request.body == chat_body("read me")
    assert request.texts == ["read me"]


def test_a_function_answers_what_the_queue_does_not(provider: LoopbackProvider) -> None:
    def shout(request: Request) -> Reply:
        return Reply(text=request.texts[-1].upper())

    provider.respond_with(shout).reply("first")
    url = provider.openai_url + "/chat/completions"
    texts = [post(url, chat_body(t))["choices"][0]["message"]["content"] for t in ("a", "b")]
    assert texts == ["first", "B"]


def test_an_answer_is_held_back_until_the_event_is_set(provider: LoopbackProvider) -> None:
    gate, done = threading.Event(), threading.Event()
    provider.reply("late", delay_until=gate)

    def ask() -> None:
        post(provider.openai_url + "/chat/completions", chat_body())
        done.set()

    asking = threading.Thread(target=ask)
    asking.start()
    assert not done.wait(0.1)
    gate.set()
    asking.join(10)
    assert done.is_set()


def test_leaving_ends_held_answers_and_every_thread() -> None:
    before = set(threading.enumerate())
    with LoopbackProvider() as provider:
        provider.reply("never sent", delay_until=threading.Event())
        asking = threading.Thread(target=_ask_and_ignore, args=(provider,))
        asking.start()
        while not provider.requests:
            asking.join(0.01)
    asking.join(10)
    assert set(threading.enumerate()) <= before


def _ask_and_ignore(provider: LoopbackProvider) -> None:
    try:
        post(provider.openai_url + "/chat/completions", chat_body())
    except (OSError, http.client.HTTPException):  # cut off before or inside the answer
        return


def test_vectors_are_unit_length_repeatable_and_near_for_shared_words() -> None:
    tea, more_tea, tram = (vector_of(t, 64) for t in ("green tea", "tea, green", "night tram"))
    assert math.isclose(sum(n * n for n in tea), 1.0)
    assert tea == vector_of("green tea", 64)
    assert _dot(tea, more_tea) > 0.99 > 0.5 > _dot(tea, tram)


def test_base64_vectors_are_the_same_numbers(provider: LoopbackProvider) -> None:
    url = provider.openai_url + "/embeddings"
    body = {"model": "e", "input": ["one"], "dimensions": 4}
    plain = post(url, body)["data"][0]["embedding"]
    packed = post(url, {**body, "encoding_format": "base64"})["data"][0]["embedding"]
    assert struct.unpack("<4f", base64.b64decode(packed)) == pytest.approx(plain)


def _dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _ask_unscripted(provider: LoopbackProvider, path: str) -> None:
    with provider:
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(provider.openai_url + path, chat_body("nobody expects me"))
        caught.value.close()
        assert caught.value.code == 500


def _fail_inside(provider: LoopbackProvider) -> None:
    with provider:
        provider.reply("left over")
        raise KeyError("the real problem")
