"""A search while thirty in a hundred requests go wrong. Everything here is simulated."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from benchfill.display.tables import missing_line
from benchmarks.kill_resume import export
from benchmarks.soak import HEALING, LASTING_POOL, Leg, search
from tests.end_to_end.conftest import RUN, Finished, environment


def searched(home: Path, faults: dict, *arguments: str) -> Leg:
    return search(home, RUN, faults, *arguments, variables=environment(home))


def test_faults_that_heal_change_nothing_and_the_budget_holds(finished: Finished, unsearched: Path):
    total = finished.summary["totals"]["calls"]
    limited = searched(unsearched, HEALING, "--max-calls", str(total // 3))
    assert limited.code == 3
    assert limited.requests == total // 3
    leg = searched(unsearched, HEALING, "--max-calls", str(10 * total))
    assert leg.code == finished.code
    assert leg.export == export(finished.home, RUN)
    assert leg.missing == {}
    # A third of the requests goes wrong, and whatever reached the endpoint again did so because it had.
    assert leg.calls == total
    assert 1.2 * total < leg.requests < 2.0 * total


def test_faults_that_stay_leave_attempts_missing_and_nothing_false(unsearched: Path):
    memory = sqlite3.connect(unsearched / "runs" / RUN / "memory.sqlite")
    with memory:
        memory.execute("DELETE FROM gaps WHERE gap > 1")
    memory.close()
    limited = searched(unsearched, LASTING_POOL, "--max-calls", "100")
    assert (limited.code, limited.requests) == (3, 100)
    leg = searched(unsearched, LASTING_POOL, "--max-calls", "100000")
    assert leg.code in (0, 4)
    (item,) = leg.accepted
    assert abs(item.true - item.target) < 2 * item.tolerance
    assert len(leg.missing) > 6
    reasons = {reason for reasons in leg.missing.values() for reason in reasons}
    assert reasons <= {
        "rate_limited",
        "server_error",
        "loading",
        "connection",
        "no_choices",
        "not_json",
        "circuit_open",
    }
    model, counts = next(iter(leg.missing.items()))
    assert f"{model} {sum(counts.values())} (" in missing_line(leg.missing)
