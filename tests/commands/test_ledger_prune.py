"""``benchfill ledger prune``: says first, asks, and leaves what it promised."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchfill.memory.ledger import Ledger
from benchfill.memory.runs import find_run
from tests.commands.conftest import Said
from tests.memory.test_ledger_pruning import DONE, OPEN, fill, make_run, requests


@pytest.fixture
def filled(own_home: Path) -> Path:
    own_home.mkdir(parents=True, exist_ok=True)
    fill(own_home / "ledger.sqlite")
    make_run(own_home, DONE, "finished")
    make_run(own_home, OPEN, "budget_spent")
    return own_home


def kept(home: Path) -> dict[str, bool]:
    with Ledger(home / "ledger.sqlite") as ledger:
        return requests(ledger)


def test_it_says_what_would_go_and_changes_nothing(filled: Path, benchfill: Callable[..., Said]) -> None:
    before = kept(filled)
    said = benchfill("ledger", "prune", "--dry-run")
    assert said.code == 0
    shown = " ".join(said.out.split())
    assert "Of runs that are gone, with request and reply: no other run was served them." in shown
    assert "gone 2 4 0.00 0.2500" in shown
    assert "done 3 1 0.00 2.38" in shown
    assert "The replies of 2 calls of runs that are gone stay: other runs were served them." in shown
    assert kept(filled) == before
    document = json.loads(benchfill("ledger", "prune", "--dry-run", "--json").out)
    assert (document["v"], document["pruned"]) == (1, False)
    assert document["gone"][0]["run"] == "gone"
    assert document["bytes_after"] == document["bytes_before"]


def test_it_asks_and_no_is_no(
    filled: Path, benchfill: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kept(filled)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    said = benchfill("ledger", "prune")
    assert said.code == 130
    assert "gone" in said.out
    assert "Throw this away for good?" in said.err
    assert kept(filled) == before


def test_what_went_stays_in_the_sums(filled: Path, benchfill: Callable[..., Said]) -> None:
    totals = json.loads(benchfill("ledger", "--json").out)["totals"]
    said = benchfill("ledger", "prune", "--yes")
    assert said.code == 0
    assert "The ledger is" in said.err
    assert "gone2" not in kept(filled)
    document = json.loads(benchfill("ledger", "--json").out)
    assert document["totals"] == totals
    assert [(row["run"], row["pruned"]) for row in document["spend"] if row["run"] == "gone"] == [
        ("gone", False),
        ("gone", True),
    ]
    assert "gone (pruned)" in benchfill("ledger").out
    assert benchfill("ledger", "prune", "--yes").out.startswith("Nothing goes")


def test_a_run_at_work_refuses_it(filled: Path, benchfill: Callable[..., Said]) -> None:
    before = kept(filled)
    with find_run(filled, OPEN).lock():
        said = benchfill("ledger", "prune", "--yes")
        assert (said.code, said.out) == (2, "")
        assert said.err.startswith("Error: Run open is in use by another process.")
        # Looking is allowed.
        assert benchfill("ledger", "prune", "--dry-run").code == 0
    assert kept(filled) == before


def test_json_does_not_ask(filled: Path, benchfill: Callable[..., Said]) -> None:
    assert benchfill("ledger", "prune", "--json").err.startswith("Error: --json cannot ask.")


def test_a_run_is_thrown_away_and_its_money_is_not_forgotten(
    filled: Path, benchfill: Callable[..., Said]
) -> None:
    totals = json.loads(benchfill("ledger", "--json").out)["totals"]
    assert benchfill("runs", "rm", DONE, "--ledger", "--yes").code == 0
    assert "done0" not in kept(filled)
    assert json.loads(benchfill("ledger", "--json").out)["totals"] == totals
