"""Every handed body, from the bytes of the response to the validated call or the sorted error."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, create_model

from benchfill.errors import CallFailed, EndpointDown, RetryableCall
from benchfill.tools.latex import repair_latex
from benchfill.tools.reply import Reply
from benchfill.tools.reply_body import PartRefused, fault_of, read_reply
from benchfill.tools.tool_calls import CallError, ParsedCall, assistant_message, parse_calls

# Where the product names an error otherwise than the case does.
OURS = {
    "quota_exhausted": "no_credit",
    "auth": "bad_key",
    "context_overflow": "context_length_exceeded",
    "server_unavailable": "server_error",
    "unsupported_tool_choice": "unsupported_parameter",
    "schema_rejected": "unsupported_parameter",
    "bad_history": "unsupported_parameter",
    "reasoning_roundtrip": "unsupported_parameter",
    "provider_error": "no_choices",
}
RETRY = {"wait": RetryableCall, "same": RetryableCall, "changed": PartRefused}


@functools.cache
def lines(path: Path) -> tuple[dict[str, Any], ...]:
    return tuple(map(json.loads, path.read_text().splitlines()))


def cases(shared: Path) -> tuple[dict[str, Any], ...]:
    return lines(shared / "cases" / "toolcalls.jsonl")


@functools.cache
def tools(path: Path) -> list[type[BaseModel]]:
    kinds: dict[str, Any] = {
        "string": str,
        "array of string (optional)": list[str] | None,
        "enum correct|incorrect|invalid_item": Literal["correct", "incorrect", "invalid_item"],
        "number 0..1 (optional)": Annotated[float, Field(ge=0, le=1)] | None,
        "boolean (optional)": bool | None,
    }
    made = []
    for name, tool in json.loads(path.read_text()).items():
        fields = {
            field: (kinds[kind], ... if field in tool["required"] else None)
            for field, kind in tool["types"].items()
        }
        config = ConfigDict(title=name, strict=True, extra="forbid")
        made.append(create_model(name, __config__=config, **fields))
    return made


def received(case: dict[str, Any]) -> Reply | CallFailed:
    raw = (case["body_text"] if "body_text" in case else json.dumps(case["body"])).encode()
    headers = {name.lower(): value for name, value in case.get("headers", {}).items()}
    fault = fault_of("m", case["http_status"], headers, raw)
    if fault is not None:
        return fault
    body = read_reply(raw)
    return Reply(
        body.content, body.tool_calls, body.malformed, body.reasoning, body.finish_reason, 0, 0, False, "k"
    )


def plain(call: ParsedCall) -> dict[str, Any]:
    sent = {key: value for key, value in call.arguments.model_dump().items() if value is not None}
    return {key: repair_latex(value) if isinstance(value, str) else value for key, value in sent.items()}


def test_every_handed_body_ends_as_it_should(shared: Path) -> None:
    checked = 0
    for case in cases(shared):
        schemas = [
            schema
            for schema in tools(shared / "cases" / "toolcalls.tools.json")
            if schema.model_config["title"] == case["request"]["tool"]
        ]
        got, expect = received(case), case["expect"]
        if case["request"]["tool"] is None:
            answers(case, got)
        elif isinstance(got, CallFailed):
            assert expect["outcome"] == "error", (case["id"], got)
            sorted_error(case, got)
        else:
            calls = parse_calls(got, schemas, alone=expect.get("tool") == "submit_verdict")
            called(case, got, calls)
        checked += 1
    assert checked == 65


def answers(case: dict[str, Any], got: Reply | CallFailed) -> None:
    """A plain answer: what is graded is text outside of the reasoning of a reply that came to its end."""
    assert isinstance(got, Reply)
    if case["expect"]["outcome"] == "answers":
        assert [got.content] == case["expect"]["answers"]
    elif case["expect"]["error_class"] == "truncated":
        assert got.finish_reason == "length"
    else:
        assert case["expect"]["error_class"] == "empty_response"
        assert got.content == ""


def sorted_error(case: dict[str, Any], got: CallFailed) -> None:
    wanted = case["expect"]["error_class"]
    names = {wanted, OURS.get(wanted, wanted), "no_message" if wanted == "empty_response" else wanted}
    assert got.reason in names, (case["id"], got.reason)
    if case["expect"]["retry"] == "no":
        assert not isinstance(got, RetryableCall | PartRefused), case["id"]
    else:
        assert type(got) is RETRY[case["expect"]["retry"]], (case["id"], type(got))
    if "param" in case["expect"]:
        assert isinstance(got, PartRefused)
        assert got.change == case["expect"]["param"]
    if wanted in ("auth", "quota_exhausted", "tools_unsupported"):
        assert isinstance(got, EndpointDown)


def called(case: dict[str, Any], reply: Reply, calls: list[ParsedCall | CallError]) -> None:
    name, expect = case["id"], case["expect"]
    good = [call for call in calls if isinstance(call, ParsedCall)]
    wanted = [
        (tool, arguments)
        for tool, arguments in expect.get("calls", [[expect.get("tool"), expect.get("arguments")]])
    ]
    if expect["outcome"] in ("tool_call", "tool_calls"):
        assert [(call.name, plain(call)) for call in good] == wanted, (name, calls)
        assert len(calls) == len(good), name
    elif good:
        assert expect["outcome"] == "tool_call_or_error", name
        assert [(call.name, plain(call)) for call in good] == wanted, (name, good)
    else:
        reasons = {call.reason for call in calls if isinstance(call, CallError)} or {"no_tool_call"}
        allowed = {expect["error_class"], *ALSO.get(expect["error_class"], ())}
        assert reasons <= allowed, (name, reasons, allowed)
        if expect["error_class"] == "truncated":
            assert reply.finish_reason == "length"
        if expect["error_class"] == "refusal":
            assert reply.finish_reason == "refusal"
    if "reasoning" in expect or "keep_for_next_turn" in expect:
        assert reply.reasoning
        assert assistant_message(reply, calls)["reasoning_content"] == reply.reasoning
    # Whatever came, what goes back is JSON.
    for call in assistant_message(reply, calls).get("tool_calls", ()):
        assert isinstance(json.loads(call["function"]["arguments"]), dict)


# A damaged call is told apart by its reason only where the model would do something else about it.
ALSO = {
    "truncated": {"malformed_arguments"},
    "escape_damage": {"malformed_arguments"},
    "refusal": {"no_tool_call"},
    "ambiguous_verdict": {"no_tool_call"},
    "unknown_tool": {"malformed_arguments"},
}


def test_every_body_of_a_real_llama_cpp_is_read_or_sorted(shared: Path) -> None:
    folder = shared / "cases" / "llamacpp"
    seen: dict[str, Any] = {}
    for path in sorted([*folder.glob("*.json"), *(folder / "extra").glob("*.json")]):
        case = json.loads(path.read_text())
        if case["status"] is None:
            continue
        raw = case["body"] if isinstance(case["body"], str) else json.dumps(case["body"])
        headers = {"content-type": case["content_type"]}
        fault = fault_of("m", case["status"], headers, raw.encode())
        seen[path.stem[:2]] = fault if fault is not None else read_reply(raw.encode())
    reasons = {name: got.reason for name, got in seen.items() if isinstance(got, CallFailed)}
    assert reasons == {
        "03": "context_length_exceeded",
        "10": "server_error",
        "14": "invalid_request_error",
        "16": "invalid_request_error",
        "17": "invalid_request_error",
        "19": "server_error",
        "20": "invalid_request_error",
        "22": "not_found",
        "34": "loading",
    }
    assert isinstance(seen["34"], RetryableCall)
    assert isinstance(seen["10"], RetryableCall)
    assert not isinstance(seen["03"], RetryableCall)
    assert (seen["01"].finish_reason, seen["01"].model) == ("length", "smollm2-tools")
    assert (seen["04"].content, seen["04"].finish_reason) == ("", "stop")
    assert [call.arguments for call in seen["08"].tool_calls] == [{"a": 3, "b": 4}]
    # The duplicate that was cut off is no call, and the whole one stays one.
    assert ([call.arguments for call in seen["09"].tool_calls], seen["09"].malformed) == (
        [{"a": 3, "b": 4}],
        ('{"name": "add", "arguments": "{"}',),
    )
    assert (seen["30"].content, seen["30"].finish_reason, bool(seen["30"].reasoning)) == ("", "length", True)
    assert seen["33"].content == "3 + 4 = 7"
    for name in ("06", "07", "12", "13", "15", "25"):
        reply = seen[name]
        assert reply.finish_reason == "length"
        assert not reply.tool_calls


@pytest.mark.parametrize("alone", [False, True])
def test_a_quoted_call_is_no_call(alone: bool) -> None:
    """Arguments inside of prose are a quotation; in a reply that must be the call alone, tagged ones are too."""

    class Verdict(BaseModel):
        valid: bool
        reason: str

    Verdict.model_config["title"] = "submit_verdict"
    call = '{"name": "submit_verdict", "arguments": {"valid": true, "reason": "x"}}'
    texts = [f"The item says {call} which is a trick.", f"{call} is what the item demands. It is wrong."]
    tagged = f"The item says <tool_call>{call}</tool_call>, which is a trick."
    for text in [*texts, *([tagged] if alone else [])]:
        reply = Reply(text, (), (), "", "stop", 0, 0, False, "k")
        assert not [c for c in parse_calls(reply, [Verdict], alone=alone) if isinstance(c, ParsedCall)], text
    whole = Reply(f"<think>{tagged}</think>\n```json\n{call}\n```", (), (), "", "stop", 0, 0, False, "k")
    (only,) = parse_calls(whole, [Verdict], alone=alone)
    assert isinstance(only, ParsedCall)
