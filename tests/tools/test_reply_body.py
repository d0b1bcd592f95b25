"""What is in a body, usable or not, against the handed bodies and servers' documented shapes."""

from __future__ import annotations

import json
from email.utils import formatdate
from time import time
from typing import Any

import pytest

from benchfill.errors import CallFailed, EndpointDown, RetryableCall
from benchfill.tools.reply_body import ToolCall, fault_of, read_reply, reported_usage
from tests.tools.fake_endpoint import completion, tool_call


def fault(status: int, body: Any, headers: dict[str, str] | None = None) -> CallFailed | None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return fault_of("pool", status, headers or {}, raw)


@pytest.mark.parametrize(
    ("status", "body", "kind", "reason"),
    [
        (200, b"<!doctype html><html>Sign in</html>", CallFailed, "not_json"),
        (200, b'{"choices": [{"message": {"con', RetryableCall, "not_json"),
        (200, b"\xff\xfe", RetryableCall, "not_json"),
        (200, [1, 2], RetryableCall, "not_json"),
        (200, {"choices": None}, RetryableCall, "no_choices"),
        (200, {"choices": []}, RetryableCall, "no_choices"),
        (200, {"id": "x"}, RetryableCall, "no_choices"),
        (200, {"choices": [{"index": 0, "message": None}]}, RetryableCall, "no_message"),
        (200, {"error": {"message": "upstream fell over"}}, RetryableCall, "error_in_200"),
        (200, {"error": "upstream fell over"}, RetryableCall, "error_in_200"),
        (200, {"error": {"message": "slow down", "code": 429}}, RetryableCall, "rate_limited"),
        (200, {"error": {"message": "no key", "code": 401}}, EndpointDown, "bad_key"),
        (
            200,
            {"choices": [{"error": {"code": 502, "message": "x"}, "message": {}}]},
            RetryableCall,
            "server_error",
        ),
        (401, {"error": {"code": "invalid_api_key"}}, EndpointDown, "bad_key"),
        (403, b"", EndpointDown, "bad_key"),
        (403, {"error": {"message": "input was flagged"}}, CallFailed, "content_filter"),
        (402, {"error": {"message": "Insufficient Balance"}}, EndpointDown, "no_credit"),
        (404, {"error": {"code": "model_not_found"}}, EndpointDown, "unknown_model"),
        (404, b"404 page not found", EndpointDown, "not_found"),
        (408, b"", RetryableCall, "timeout"),
        (409, b"", RetryableCall, "conflict"),
        (429, {"error": {"code": "insufficient_quota"}}, EndpointDown, "no_credit"),
        (429, {"error": {"message": "x"}}, RetryableCall, "rate_limited"),
        (500, b"<html>", RetryableCall, "server_error"),
        (503, {"error": {"message": "Loading model"}}, RetryableCall, "loading"),
        (
            400,
            {"error": {"code": "attempts_exhausted", "message": "none left"}},
            CallFailed,
            "attempts_exhausted",
        ),
        (
            400,
            {"error": {"code": None, "type": "invalid_request_error"}},
            CallFailed,
            "invalid_request_error",
        ),
        (400, b"no", CallFailed, "http_400"),
        (422, {"detail": "field required"}, CallFailed, "http_422"),
        (302, b"", CallFailed, "http_302"),
        (
            400,
            {
                "object": "error",
                "message": "This model's maximum context length is 4096 tokens.",
                "code": 400,
            },
            CallFailed,
            "context_length_exceeded",
        ),
    ],
)
def test_faults_are_sorted_by_what_the_caller_may_do(
    status: int, body: Any, kind: type[CallFailed], reason: str
) -> None:
    found = fault(status, body)
    assert type(found) is kind
    assert found.reason == reason
    assert "\n" not in str(found)
    assert len(str(found)) < 300


def test_a_usable_reply_has_no_fault() -> None:
    assert fault(200, completion()) is None
    assert fault(200, completion("", finish="length")) is None
    assert fault(200, {**completion(), "error": None}) is None


def test_retry_after_is_read_as_seconds_milliseconds_or_date() -> None:
    def after(**headers: str) -> float | None:
        found = fault(429, {}, {name.replace("_", "-"): value for name, value in headers.items()})
        assert isinstance(found, RetryableCall)
        return found.after

    assert after(retry_after="7") == 7.0
    assert after(retry_after_ms="250") == 0.25
    assert after(retry_after="-3") == 0.0
    assert after() is None
    assert after(retry_after="soon") is None
    date = after(retry_after=formatdate(time() + 30, usegmt=True))
    assert date is not None
    assert 28 <= date <= 31
    assert after(retry_after="Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


def test_a_long_hostile_message_becomes_one_plain_line() -> None:
    found = fault(400, {"error": {"message": "a\n\x1b[31mred\r" + "x" * 5000}})
    assert found is not None
    assert str(found).isprintable()
    assert len(str(found)) < 300


def read(**message: Any) -> Any:
    return read_reply(json.dumps(completion(**message)).encode())


def test_content_reasoning_and_finish() -> None:
    reply = read(content=None, reasoning_content="thought", finish=None, usage=None)
    assert (reply.content, reply.reasoning, reply.finish_reason) == ("", "thought", "stop")
    assert (reply.input_tokens, reply.output_tokens) == (None, None)
    assert read(reasoning="other name").reasoning == "other name"
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, "b"]
    assert read(content=parts, finish="length").content == "ab"
    assert read(content=parts, finish="length").finish_reason == "length"
    refused = read(content=None, refusal="I can't.")
    assert (refused.content, refused.finish_reason) == ("I can't.", "refusal")


def test_arguments_are_objects_or_the_call_is_malformed() -> None:
    good = {"a": 1}
    reply = read(
        tool_calls=[
            tool_call("t", json.dumps(good), id="x"),
            tool_call("t", good, id="x"),
            tool_call("t", json.dumps(json.dumps(good))),
            tool_call("t", ""),
            tool_call("t", "[1]"),
            tool_call("t", '{"a": '),
            tool_call("t", '{"a": 1, "a": 2}'),
            tool_call("t", None),
            tool_call(None, "{}"),
            {"function": None},
            "text",
        ]
    )
    assert [call.arguments for call in reply.tool_calls] == [good, good, good]
    assert [call.id for call in reply.tool_calls] == ["x", "call_1", "call_2"]
    assert len(reply.malformed) == 8
    assert all(isinstance(text, str) for text in reply.malformed)
    legacy = read(function_call={"name": "t", "arguments": "{}"})
    assert legacy.tool_calls == (ToolCall("call_0", "t", {}),)


def test_half_a_surrogate_pair_can_be_stored_and_sent() -> None:
    body = json.dumps(
        completion("x \ud83d \U0001f600", tool_calls=[tool_call("t", '{"a": "\\udc00"}')])
    ).encode()
    reply = read_reply(body)
    assert reply.content == "x ? \U0001f600"
    assert json.dumps([call.arguments for call in reply.tool_calls], ensure_ascii=False).encode()


def test_deep_nests_and_odd_usage_do_not_raise() -> None:
    deep = "[" * 200_000
    assert read(tool_calls=[tool_call("t", deep)]).tool_calls == ()
    assert fault(200, deep.encode()) is not None
    assert reported_usage({"usage": {"prompt_tokens": True, "completion_tokens": -1}}) == (None, None)
    assert reported_usage({"usage": {"prompt_tokens": 5, "completion_tokens": "6"}}) == (5, None)
