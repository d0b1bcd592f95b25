"""Calls as models send them: what is taken, what is refused and how it stands in the history."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from benchfill.tools.reply import Reply
from benchfill.tools.reply_body import ToolCall
from benchfill.tools.schemas import EvaluateExpression, SubmitItem, SubmitVerdict
from benchfill.tools.tool_calls import (
    CallError,
    ParsedCall,
    assistant_message,
    first_call,
    parse_calls,
    tool_message,
)

ITEM = {"question": "What is 6*7?", "answer": "42", "solution": "6*7 = 42", "rationale": "Smaller."}
VERDICT = {"valid": True, "problems": [], "answer": "42", "reason": "Recomputed."}


def sent(name: Any, arguments: Any, **more: Any) -> Reply:
    call = ToolCall("a", name, arguments)
    return Reply("", (call,), (), "", more.get("finish", "tool_calls"), 0, 0, False, "k")


def only(name: Any, arguments: Any, schema: type[BaseModel]) -> ParsedCall | CallError:
    (call,) = parse_calls(sent(name, arguments), [schema])
    return call


def taken(arguments: Any, schema: type[BaseModel] = SubmitItem) -> dict[str, Any]:
    name = schema.model_config.get("title")
    call = only(name, arguments, schema)
    assert isinstance(call, ParsedCall), call
    return call.arguments.model_dump()


def refused(arguments: Any, schema: type[BaseModel] = SubmitItem) -> CallError:
    call = only(schema.model_config.get("title"), arguments, schema)
    assert isinstance(call, CallError), call
    return call


def test_a_fitting_call_is_taken() -> None:
    assert taken(ITEM) == {**ITEM, "choices": None}


def test_json_inside_json_is_undone() -> None:
    assert taken(json.dumps(ITEM))["answer"] == "42"
    assert taken(json.dumps(json.dumps(ITEM)))["answer"] == "42"
    assert refused(json.dumps(json.dumps(json.dumps(ITEM)))).reason == "malformed_arguments"
    assert taken({**ITEM, "choices": '["1", "2"]'})["choices"] == ["1", "2"]


@pytest.mark.parametrize(("number", "text"), [(42, "42"), (2.5, "2.5"), (-7, "-7")])
def test_a_number_for_a_text_keeps_its_digits(number: float, text: str) -> None:
    assert taken({**ITEM, "answer": number})["answer"] == text


def test_the_text_false_is_not_true() -> None:
    assert taken({**VERDICT, "valid": "false"}, SubmitVerdict)["valid"] is False
    assert taken({**VERDICT, "valid": "True"}, SubmitVerdict)["valid"] is True
    assert refused({**VERDICT, "valid": "maybe"}, SubmitVerdict).reason == "schema_violation"
    assert refused({**VERDICT, "valid": 1}, SubmitVerdict).reason == "schema_violation"


def test_problems_are_found_under_other_spellings_but_not_invented() -> None:
    assert taken({**VERDICT, "problems": ["Key wrong", "OFF-SKILL"]}, SubmitVerdict)["problems"] == [
        "key_wrong",
        "off_skill",
    ]
    assert refused({**VERDICT, "problems": ["ugly"]}, SubmitVerdict).reason == "schema_violation"


def test_missing_fields_are_named() -> None:
    error = refused({"answer": "42"})
    assert error.reason == "schema_violation"
    assert all(name in error.detail for name in ("question", "solution", "rationale"))
    assert "http" not in error.detail


@pytest.mark.parametrize(
    "arguments", [[ITEM], None, "", "not json", '{"a": 1} {"a": 2}', '{"a": 1, "a": 2}', 7]
)
def test_what_is_no_object_is_malformed(arguments: Any) -> None:
    assert refused(arguments).reason == "malformed_arguments"


@pytest.mark.parametrize("name", ["submit_items", "", None])
def test_an_unknown_tool_is_told_the_known_ones(name: Any) -> None:
    error = only(name, ITEM, SubmitItem)
    assert isinstance(error, CallError)
    assert error.reason == "unknown_tool"
    assert "submit_item" in error.detail


def test_nothing_is_dropped_and_the_first_valid_submission_counts() -> None:
    calls = (
        ToolCall("x", "submit_item", {"answer": "1"}),
        ToolCall("x", "submit_item", ITEM),
        ToolCall("", "submit_item", {**ITEM, "answer": "43"}),
    )
    parsed = parse_calls(Reply("", calls, ("{cut",), "", "stop", 0, 0, False, "k"), [SubmitItem])
    assert [type(call).__name__ for call in parsed] == ["CallError", "ParsedCall", "ParsedCall", "CallError"]
    assert len({call.id for call in parsed}) == 4
    counted = first_call(parsed, SubmitItem)
    assert counted is not None
    assert isinstance(counted.arguments, SubmitItem)
    assert counted.arguments.answer == "42"
    assert first_call(parsed, EvaluateExpression) is None


def test_a_cut_off_call_is_told_to_be_shorter() -> None:
    (error,) = parse_calls(Reply("", (), ("{cut",), "", "length", 0, 0, False, "k"), [SubmitItem])
    assert isinstance(error, CallError)
    assert "length limit" in error.detail


def test_history_holds_valid_json_only() -> None:
    calls = (ToolCall("a", "submit_item", '{"broken'), ToolCall("b", "nope", {"x": "é\n"}))  # type: ignore[arg-type]
    reply = Reply("text", calls, ("{cut",), "", "stop", 0, 0, False, "k")
    message = assistant_message(reply, parse_calls(reply, [SubmitItem]))
    assert message["content"] == "text"
    assert [call["id"] for call in message["tool_calls"]] == ["a", "b"]
    assert [json.loads(call["function"]["arguments"]) for call in message["tool_calls"]] == [{}, {"x": "é\n"}]
    assert tool_message("a", "7") == {"role": "tool", "tool_call_id": "a", "content": "7"}


def test_a_turn_without_text_and_calls_is_not_sent_back_empty() -> None:
    reply = Reply("", (), ("{cut",), "", "stop", 0, 0, False, "k")
    message = assistant_message(reply, parse_calls(reply, [SubmitItem]))
    assert message["content"]
    assert "tool_calls" not in message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(VERDICT)), inner),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["submit_verdict", "submit_item", "x"]),
            json_values
            | st.fixed_dictionaries(dict.fromkeys(VERDICT, json_values))
            | json_values.map(json.dumps),
        ),
        max_size=4,
    )
)
def test_whatever_is_sent_a_call_fits_its_schema_or_is_an_error(made: list[tuple[str, Any]]) -> None:
    calls = tuple(ToolCall("id", name, arguments) for name, arguments in made)
    reply = Reply("", calls, (), "", "stop", 0, 0, False, "k")
    parsed = parse_calls(reply, [SubmitVerdict, SubmitItem])
    assert len(parsed) == len(calls)
    message = assistant_message(reply, parsed)
    assert len(message.get("tool_calls", ())) == len(calls)
    for call, entry in zip(parsed, message.get("tool_calls", ()), strict=True):
        assert isinstance(json.loads(entry["function"]["arguments"]), dict)
        if isinstance(call, ParsedCall) and isinstance(call.arguments, SubmitVerdict):
            said = call.sent["valid"]
            assert call.arguments.valid is (
                said if isinstance(said, bool) else said.strip().casefold() == "true"
            )
