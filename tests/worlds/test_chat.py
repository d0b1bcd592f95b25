"""Requests are checked as an OpenAI-compatible server checks them; replies are written as one writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchfill.errors import InputError
from benchfill.worlds import world_name
from benchfill.worlds.chat import Call, ChatError, Turn, encode_error, encode_turn, read_request
from benchfill.worlds.draws import Draws
from benchfill.worlds.server import make_world
from benchfill.worlds.settings import ReplaySettings, SimulatedSettings, read_settings
from tests.worlds.chats import body

MODELS = ("judge", "oak")
USER = {"role": "user", "content": "Compute 3 + 4."}


def call(name: str) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": "evaluate_expression", "arguments": "{}"}}


CALLED = {"role": "assistant", "content": None, "tool_calls": [call("a")]}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "7"}


def test_a_good_request_is_read() -> None:
    parts = {
        "role": "user",
        "content": [{"type": "text", "text": "Compute "}, {"type": "text", "text": "3."}],
    }
    sent = body("oak", [USER, CALLED, RESULT, parts], tools=["f"], seed=9, max_tokens=5, temperature=0.7)
    request = read_request(sent, MODELS)
    assert (request.model, request.seed, request.max_tokens) == ("oak", 9, 5)
    assert (request.tools, request.forced) == (frozenset({"f"}), "")
    assert request.texts("user") == ["Compute 3 + 4.", "Compute 3."]
    forced = body(
        "oak", [USER], tools=["f", "g"], tool_choice={"type": "function", "function": {"name": "g"}}
    )
    assert read_request(forced, MODELS).forced == "g"
    assert read_request(body("oak", [USER], tools=["f"], tool_choice="none"), MODELS).tools == frozenset()


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"{", 400, None),
        (b"[]", 400, None),
        (b'{"messages": []}', 400, None),
        (body("gpt", [USER]), 404, "model_not_found"),
        (body("oak", []), 400, None),
        (body("oak", [{"role": "king", "content": "x"}]), 400, None),
        (body("oak", [{"role": "user", "content": None}]), 400, None),
        (body("oak", [{"role": "user", "content": [{"type": "image_url"}]}]), 400, None),
        (body("oak", [USER, CALLED]), 400, None),
        (body("oak", [USER, CALLED, USER]), 400, None),
        (body("oak", [USER, RESULT]), 400, None),
        (body("oak", [USER, {"role": "assistant", "tool_calls": [{"id": 1}]}]), 400, None),
        (body("oak", [{"role": "user", "content": "x", "tool_calls": [call("a")]}]), 400, None),
        (body("oak", [USER], stream=True), 400, "unsupported_value"),
        (body("oak", [USER], n=2), 400, "unsupported_value"),
        (body("oak", [USER], seed=-1), 400, None),
        (body("oak", [USER], seed=True), 400, None),
        (body("oak", [USER], temperature=3), 400, None),
        (body("oak", [USER], max_tokens=0), 400, None),
        (b'{"model": "oak", "messages": [{"role": "user", "content": "x"}], "tools": [{}]}', 400, None),
        (b'{"model": "oak", "messages": [{"role": "user", "content": "x"}], "tools": 5}', 400, None),
        (body("oak", [USER], tools=["f"], tool_choice={"function": {"name": "g"}}), 400, None),
    ],
)
def test_a_bad_request_is_refused_as_openai_does(sent: bytes, status: int, code: str | None) -> None:
    with pytest.raises(ChatError) as error:
        read_request(sent, MODELS)
    assert error.value.status == status
    shown = json.loads(encode_error(error.value))["error"]
    assert set(shown) == {"message", "type", "param", "code"}
    assert shown["code"] == code
    assert shown["type"] == "invalid_request_error"


def test_a_reply_is_a_chat_completion() -> None:
    request = read_request(body("oak", [USER]), MODELS)
    said = json.loads(encode_turn(request, Turn("It is seven.")))
    assert said["choices"][0]["message"] == {"role": "assistant", "content": "It is seven."}
    assert said["choices"][0]["finish_reason"] == "stop"
    assert (
        said["usage"]["total_tokens"]
        == said["usage"]["prompt_tokens"] + said["usage"]["completion_tokens"]
        > 0
    )
    called = json.loads(encode_turn(request, Turn(calls=(Call.of("f", x="Ä"), Call("g", "{broken")))))
    message = called["choices"][0]["message"]
    assert message["content"] is None
    assert [c["function"]["name"] for c in message["tool_calls"]] == ["f", "g"]
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"x": "Ä"}
    assert message["tool_calls"][1]["function"]["arguments"] == "{broken"
    assert len({c["id"] for c in message["tool_calls"]}) == 2
    assert called["choices"][0]["finish_reason"] == "tool_calls"


def test_a_long_reply_is_cut_off_and_says_so() -> None:
    request = read_request(body("oak", [USER], max_completion_tokens=3), MODELS)
    said = json.loads(encode_turn(request, Turn("x" * 50, (Call("f", "{}"),))))
    assert said["choices"][0]["finish_reason"] == "length"
    assert said["choices"][0]["message"]["content"] == "x" * 12
    assert said["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == ""
    assert said["usage"]["completion_tokens"] == 3


def test_settings_are_checked() -> None:
    assert read_settings(SimulatedSettings, {}) == SimulatedSettings()
    read = read_settings(SimulatedSettings, {"aim_sd": "0.1", "aim_bias": -1, "judge_obeys_text": True})
    assert (read.aim_sd, read.aim_bias, read.judge_obeys_text) == (0.1, -1, True)
    for kind, given_ in (
        (SimulatedSettings, {"aim": 1}),
        (SimulatedSettings, {"wrong_key": 1.5}),
        (SimulatedSettings, {"wrong_key": "often"}),
        (SimulatedSettings, {"aim_sd": -0.1}),
        (SimulatedSettings, {"aim_sd": float("nan")}),
        (SimulatedSettings, {"judge_obeys_text": 1}),
        (SimulatedSettings, {"copy": True}),
        (ReplaySettings, {"guess_correlation": -0.5}),
        (ReplaySettings, {"seed": 1.5}),
        (ReplaySettings, {"aim_sd": 0.1}),
    ):
        with pytest.raises(InputError):
            read_settings(kind, given_)
    with pytest.raises(InputError, match="unknown world"):
        make_world({"world": "real"})


def test_the_name_of_a_world_follows_what_shapes_its_replies() -> None:
    plain = world_name({"world": "simulated", "settings": {}})
    assert plain == world_name({"settings": {"latency_ms": 50}, "world": "simulated"})
    assert plain.startswith("embedded-simulated-")
    assert plain != world_name({"world": "simulated", "settings": {"copy": 0.5}})
    assert world_name({"world": "replay", "bank_items": []}) != world_name(
        {"world": "replay", "bank_items": [1]}
    )


@settings(max_examples=50)
@given(
    st.lists(st.text(max_size=5) | st.integers(), max_size=4),
    st.lists(st.text(max_size=5) | st.integers(), max_size=4),
)
def test_streams_of_different_names_differ(one: list[str | int], two: list[str | int]) -> None:
    first = [Draws(*one).word() for _ in range(2)]
    assert first == [Draws(*one).word() for _ in range(2)]
    assert (first == [Draws(*two).word() for _ in range(2)]) == (one == two)


def test_a_number_and_its_text_name_different_streams() -> None:
    assert len({Draws(5).word(), Draws("5").word(), Draws("#5").word(), Draws("##5").word()}) == 4


def test_draws_have_the_distributions_they_claim() -> None:
    import numpy as np
    from scipy.stats import kstest

    draws = Draws("distributions")
    assert kstest([draws.uniform() for _ in range(4000)], "uniform").pvalue > 1e-4
    assert kstest([draws.normal() for _ in range(4000)], "norm").pvalue > 1e-4
    assert np.bincount([draws.below(6) for _ in range(6000)]).tolist() == pytest.approx([1000] * 6, abs=150)
    first = [draws.shuffled("abc")[0] for _ in range(3000)]
    assert [first.count(letter) for letter in "abc"] == pytest.approx([1000] * 3, abs=140)
    # Lone surrogates are legal in JSON and must not break a stream.
    assert Draws("\ud800").word() != Draws("?").word()
