"""What a run is expected to cost, and what a resumed one has left."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchfill.errors import InputError
from benchfill.graph.spending import Asked, budget_of, forecast, search_calls
from benchfill.memory.ledger import Ledger
from benchfill.settings import BudgetSettings, SearchSettings
from benchfill.tools.budget import Charge
from benchfill.tools.endpoint import Endpoint
from tests.memory.test_ledger import call


def endpoint(model: str, **options: float) -> Endpoint:
    return Endpoint(f"my-{model}", "http://127.0.0.1/v1", model, **options)  # type: ignore[arg-type]


def test_tokens_come_from_earlier_calls_of_the_model_else_of_the_role_else_are_assumed(
    tmp_path: Path,
) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        for turn in range(4):
            ledger.commit(call(f"j{turn}", role="judge", model="j", tag=f"judge/g1r01w1/t{turn}"))
        for turn in range(2):
            ledger.commit(call(f"k{turn}", role="judge", model="j", tag=f"judge/g1r01w2/t{turn}"))
        ledger.commit(
            call("p", role="pool", model="a", tag="respondent/b/a0", input_tokens=100, output_tokens=50)
        )
        usage = ledger.mean_usage()
    priced = {"price_in": 1.0, "price_out": 2.0}
    judge, known, other, writer = forecast(
        [
            Asked("judge", endpoint("j", **priced), 10),
            Asked("pool", endpoint("a", **priced), 1000),
            Asked("pool", endpoint("b"), 1000),
            Asked("rewriter", endpoint("w"), 1),
        ],
        usage,
    )
    # Six turns in two conversations, each of 10 tokens in and 4 out.
    assert (judge["calls"], judge["input_tokens"], judge["output_tokens"]) == (30, 300, 120)
    assert judge["cost"] == pytest.approx((300 * 1.0 + 120 * 2.0) / 1e6)
    assert (known["model"], known["input_tokens"], known["basis"]) == ("my-a", 100_000, "its earlier calls")
    assert (other["input_tokens"], other["cost"], other["basis"]) == (
        100_000,
        None,
        "earlier calls of the role",
    )
    assert writer["basis"] == "assumed"


def test_a_search_asks_two_rounds_a_gap_and_shares_the_attempts() -> None:
    pool = [endpoint(f"m{n}") for n in range(10)]
    asked = search_calls(
        {1: 1000, 2: 500},
        rewriter=endpoint("w"),
        judge=endpoint("j"),
        pool=pool,
        settings=SearchSettings(candidates=4, anchors=5, anchor_attempts=8),
        anchored=True,
    )
    assert [(each.role, each.tasks) for each in asked[:3]] == [("rewriter", 16), ("judge", 16), ("pool", 190)]
    assert len(asked) == 12


def test_what_was_spent_before_counts_and_an_impossible_limit_is_refused(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.commit(call("1", charged_tokens=900, charged_cost=None))
        ledger.commit_failure(call("2", fault="timeout", price=None, charged_tokens=100))
        budget = budget_of(BudgetSettings(max_calls=3), [endpoint("a")], ledger=ledger, run="r", go_on="x")
        assert budget.spent == Charge(2, 1000, 0.5)
        with pytest.raises(InputError, match="my-a has no price_in"):
            budget_of(BudgetSettings(max_cost=1.0), [endpoint("a")], ledger=ledger, run="r", go_on="x")
