"""Flags of all commands that spend money, and what a dry run says."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from benchfill.graph.spending import Asked
    from benchfill.settings import Settings

__all__ = [
    "MaxCalls",
    "MaxCost",
    "MaxTime",
    "MaxTokens",
    "NoAnswerOption",
    "expected_totals",
    "money_flags",
    "print_forecast",
]

MaxCalls = Annotated[
    int | None,
    typer.Option(
        "--max-calls",
        min=0,
        help="Requests to send at most, in all sessions.",
        envvar="BENCHFILL_BUDGET__MAX_CALLS",
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        min=0,
        help="Tokens to send and receive at most, in all sessions.",
        envvar="BENCHFILL_BUDGET__MAX_TOKENS",
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        min=0.0,
        help="Cost at most, in all sessions; needs prices and max_tokens of every endpoint.",
        envvar="BENCHFILL_BUDGET__MAX_COST",
    ),
]
MaxTime = Annotated[
    str | None,
    typer.Option(
        "--max-time",
        metavar="TIME",
        help="Of this session: seconds, or 90m, 8h, 2d.",
        envvar="BENCHFILL_BUDGET__MAX_TIME",
    ),
]
NoAnswerOption = Annotated[
    Literal["missing", "wrong"] | None,
    typer.Option(
        "--no-answer",
        help="How a finished reply without an answer counts (missing).",
        envvar="BENCHFILL_ANSWER__NO_ANSWER",
    ),
]


def money_flags(
    max_calls: int | None,
    max_tokens: int | None,
    max_cost: float | None,
    max_time: str | None,
    no_answer: Literal["missing", "wrong"] | None = None,
) -> dict[str, dict[str, Any]]:
    """The sections of the settings that these flags give; absent ones are left to environment and file."""
    budget = {"max_calls": max_calls, "max_tokens": max_tokens, "max_cost": max_cost, "max_time": max_time}
    sections: dict[str, dict[str, Any]] = {"budget": budget, "answer": {"no_answer": no_answer}}
    given = {
        name: {key: value for key, value in section.items() if value is not None}
        for name, section in sections.items()
    }
    return {name: section for name, section in given.items() if section}


def print_forecast(asked: Sequence[Asked], settings: Settings, *, as_json: bool) -> None:
    """Calls, tokens and cost to expect; nothing is asked.

    Raises
    ------
    InputError
        The budget could not be held.
    """
    from benchfill.tools.budget import Limits, check_limits

    limits = settings.budget
    check_limits(
        Limits(limits.max_calls, limits.max_tokens, limits.max_cost, limits.max_time),
        [each.endpoint for each in asked],
    )
    rows, totals = expected_totals(asked)
    if as_json:
        typer.echo(json.dumps({"v": 1, "expected": rows, "totals": totals}, ensure_ascii=False))
        return
    from benchfill.display.console import make_console, print_table
    from benchfill.display.spending import forecast_table

    print_table(make_console(sys.stdout), forecast_table(rows, totals))


def expected_totals(asked: Sequence[Asked]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What is expected by role and model, and in all; the cost is None where a price is not known."""
    from benchfill.graph.spending import forecast
    from benchfill.memory.ledger import Ledger
    from benchfill.settings import benchfill_home

    path, usage = benchfill_home() / "ledger.sqlite", []
    if path.is_file():
        with Ledger(path) as ledger:
            usage = ledger.mean_usage()
    rows = forecast(asked, usage)
    costs = [row["cost"] for row in rows]
    counts = {name: sum(row[name] for row in rows) for name in ("calls", "input_tokens", "output_tokens")}
    return rows, {**counts, "cost": None if None in costs else sum(costs)}
