"""Schemas as a model is offered them, and what they refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from benchfill.tools.schemas import (
    PROBLEMS,
    EvaluateExpression,
    LookUpItem,
    SubmitAnswer,
    SubmitItem,
    SubmitVerdict,
    tool_name,
)

ALL = (LookUpItem, EvaluateExpression, SubmitItem, SubmitAnswer, SubmitVerdict)
ITEM = {"question": "What is 6*7?", "answer": "42", "solution": "6*7 = 42", "rationale": "Smaller."}
VERDICT = {"valid": True, "problems": [], "answer": "42", "reason": "Recomputed."}


def test_names_are_those_of_the_tools() -> None:
    names = ["look_up_item", "evaluate_expression", "submit_item", "submit_answer", "submit_verdict"]
    assert [tool_name(schema) for schema in ALL] == names


@pytest.mark.parametrize("schema", ALL, ids=tool_name)
def test_every_field_and_tool_is_described(schema: type[BaseModel]) -> None:
    described = schema.model_json_schema()
    assert described["description"]
    assert all(field["description"] for field in described["properties"].values())
    assert described["additionalProperties"] is False


@pytest.mark.parametrize("schema", ALL, ids=tool_name)
def test_no_schema_holds_what_grammar_builders_refuse(schema: type[BaseModel]) -> None:
    text = json.dumps(schema.model_json_schema())
    assert not any(word in text for word in ('"pattern"', '"maxLength"', '"maxItems"'))


def test_the_offered_function_has_the_tools_name() -> None:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    offered = convert_to_openai_tool(SubmitVerdict)["function"]
    assert offered["name"] == "submit_verdict"
    assert offered["parameters"]["properties"]["problems"]["items"]["enum"] == list(PROBLEMS)
    assert set(offered["parameters"]["required"]) == {"valid", "problems", "answer", "reason"}


def test_what_fits_is_taken() -> None:
    assert SubmitItem.model_validate(ITEM).choices is None
    assert SubmitItem.model_validate({**ITEM, "choices": ["1", "2"]}).choices == ["1", "2"]
    assert SubmitVerdict.model_validate({**VERDICT, "problems": ["copy"]}).problems == ["copy"]


@pytest.mark.parametrize(
    "change",
    [
        {"question": ""},
        {"question": " \n"},
        {"question": 7},
        {"question": "x" * 20_001},
        {"answer": None},
        {"choices": "A"},
        {"choices": [1, 2]},
        {"choices": ["x"] * 27},
        {"difficulty": 3},
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SubmitItem.model_validate({**ITEM, **change})


@pytest.mark.parametrize(
    "change", [{"valid": "yes"}, {"valid": 1}, {"problems": ["ugly"]}, {"problems": None}, {"score": 1.0}]
)
def test_a_verdict_is_strict(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SubmitVerdict.model_validate({**VERDICT, **change})


@pytest.mark.parametrize("missing", list(VERDICT))
def test_a_verdict_has_no_defaults(missing: str) -> None:
    with pytest.raises(ValidationError):
        SubmitVerdict.model_validate({key: value for key, value in VERDICT.items() if key != missing})
