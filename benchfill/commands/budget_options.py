"""Flags of all commands that spend money, and what a dry run says."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from benchfill.graph.spending import Asked
    from benchfill.settings import Settings

__all__ = ["Money", "expected_totals", "money_flags", "print_forecast"]

# By the field of the settings: the type and the flag.
BUDGET_FLAGS = {
    "max_calls": Annotated[
        int | None,
        typer.Option(
            "--max-calls",
            min=0,
            help="Requests to send at most, in all sessions.",
            envvar="BENCHFILL_BUDGET__MAX_CALLS",
        ),
    ],
    "max_tokens": Annotated[
        int | None,
        typer.Option(
            "--max-tokens",
            min=0,
            help="Tokens to send and receive at most, in all sessions.",
            envvar="BENCHFILL_BUDGET__MAX_TOKENS",
        ),
    ],
    "max_cost": Annotated[
        float | None,
        typer.Option(
            "--max-cost",
            min=0.0,
            help="Cost at most, in all sessions; needs prices and max_tokens of every endpoint.",
            envvar="BENCHFILL_BUDGET__MAX_COST",
        ),
    ],
    "max_time": Annotated[
        str | None,
        typer.Option(
            "--max-time",
            metavar="TIME",
            help="Of this session: seconds, or 90m, 8h, 2d.",
            envvar="BENCHFILL_BUDGET__MAX_TIME",
        ),
    ],
}
ANSWER_FLAGS = {
    "no_answer": Annotated[
        Literal["missing", "wrong"] | None,
        typer.Option(
            "--no-answer",
            help="How a finished reply without an answer counts (missing).",
            envvar="BENCHFILL_ANSWER__NO_ANSWER",
        ),
    ]
}
# What a command gets of these flags: sections of the settings; a flag that is not given is left to environment and
# file.
Money = dict[str, dict[str, Any]]


def money_flags(*, answers: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the flags of its budget in the place of its parameter ``money``.

    Parameters
    ----------
    answers
        Whether it also decides how replies without an answer count.
    """
    sections = {"budget": BUDGET_FLAGS, **({"answer": ANSWER_FLAGS} if answers else {})}

    def give(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_flags(**given: Any) -> None:
            money: Money = {}
            for section, flags in sections.items():
                values = {name: given.pop(name) for name in flags}
                if any(value is not None for value in values.values()):
                    money[section] = {name: value for name, value in values.items() if value is not None}
            command(**given, money=money)

        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            if parameter.name != "money":
                parameters.append(parameter)
                continue
            parameters += [
                parameter.replace(name=name, annotation=annotation, default=None)
                for flags in sections.values()
                for name, annotation in flags.items()
            ]
        with_flags.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        with_flags.__annotations__ = {each.name: each.annotation for each in parameters}
        return with_flags

    return give


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
