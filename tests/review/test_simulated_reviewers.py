"""Scripted reviewers of known error rates: what comes out is what their script implies (all figures simulated)."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchfill.item import Item
from benchfill.memory.pool import Pool
from benchfill.memory.runs import RunFolder
from benchfill.review.record import review_record

from .conftest import MakeRun, sums
from .test_agreement import by_hand

NEW, WRONG = 80, 30
# How often each copies the key instead of solving, and how often they slip when they solve.
LAZY = {"r1": 0.3, "r2": 0.5, "a1": 0.0}
SLIPS = {"r1": 0.05, "r2": 0.1, "a1": 0.0}


class Reviewer:
    """Solves ``What is $n + n^2$?`` now and then; approves what equals their own answer."""

    def __init__(self, name: str) -> None:
        self.name, self.draw = name, random.Random(f"reviewer {name}")

    def fill(self, row: dict[str, Any]) -> dict[str, Any]:
        found = re.search(r"\$(\d+) \+", row["question"])
        assert found is not None
        n = int(found.group(1))
        truth = n + n * n
        answer = row["key"]
        if self.draw.random() >= LAZY[self.name]:
            answer = str(truth + 2 if self.draw.random() < SLIPS[self.name] else truth)
        agrees = answer == row["key"]
        return {**row, "answer": answer, "verdict": "approve" if agrees else "reject",
                "reasons": [] if agrees else ["key_wrong"], "seconds": 20.0}  # fmt: skip


def review(packets: Path, name: str) -> dict[str, str]:
    """Fill in a packet; verdicts by question."""
    rows = [json.loads(line) for line in (packets / name / "review.jsonl").read_text().splitlines()]
    reviewer = Reviewer(name)
    filled = [reviewer.fill(row) for row in rows]
    (packets / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in filled))
    return {row["question"]: row["verdict"] for row in filled}


@pytest.fixture
def run(make_run: MakeRun) -> RunFolder:
    # A judge that errs let some wrong keys pass: off by one.
    new = [Item(item.id, item.question, str(int(item.answer) + (n < WRONG)), "", answer_type="numeric")
           for n, item in enumerate(sums("bf-", NEW, start=300))]  # fmt: skip
    return make_run("simulated", originals=sums("o", 180), new=new)


def test_wrong_keys_are_caught_at_the_rate_the_reviewers_imply(
    run: RunFolder, benchfill: Callable[..., Any], tmp_path: Path
) -> None:
    out = tmp_path / "packets"
    assert benchfill("review", "export", "simulated", "--out", str(out)).code == 0
    said = {name: review(out, name) for name in ("r1", "r2")}
    taken = benchfill("review", "import", str(out / "r1.jsonl"), str(out / "r2.jsonl"), "--run", "simulated")
    assert (taken.code, taken.err) == (0, f"{4 * NEW} decisions taken in (run simulated).\n")

    pool = Pool(run.memory, create=False)
    record = review_record(pool)
    wrong = {item.id for item in pool.items("candidate") if int(item.id[3:]) < 300 + WRONG}
    questions = {item.question: item.id for item in pool.items()}
    pool.close()

    # Agreement: as an independent count over the scripts has it.
    verdicts = {question: {name: said[name][question] for name in said} for question in said["r1"]}
    kappa, alpha = by_hand(verdicts)
    assert record.agreement["all"].items == 2 * NEW
    assert record.agreement["all"].kappa == pytest.approx(kappa, abs=1e-12)
    assert record.agreement["all"].alpha == pytest.approx(alpha, abs=1e-12)
    new = {question: row for question, row in verdicts.items() if questions[question] in record.items}
    assert record.agreement["new"].kappa == pytest.approx(by_hand(new)[0], abs=1e-12)

    # Outcomes: a wrong key is accepted only where both copied it, with probability 0.3 * 0.5.
    accepted = {name for name, each in record.items.items() if each.outcome == "accepted"}
    script = {questions[q] for q, row in new.items() if set(row.values()) == {"approve"}}
    assert accepted == script
    passed = len(accepted & wrong) / WRONG
    assert abs(passed - 0.15) < 3 * (0.15 * 0.85 / WRONG) ** 0.5
    # A right key is approved by who copies, or solves without a slip.
    right = 1.0
    for name in ("r1", "r2"):
        right *= LAZY[name] + (1 - LAZY[name]) * (1 - SLIPS[name])
    assert (
        abs(len(accepted - wrong) / (NEW - WRONG) - right) < 3 * (right * (1 - right) / (NEW - WRONG)) ** 0.5
    )

    # False alarms on original items: only slips, as often as scripted.
    for one in record.reviewers:
        rate = (1 - LAZY[one.reviewer]) * SLIPS[one.reviewer]
        assert one.originals == NEW
        rejected = sum(
            verdict == "reject" and questions[question] not in record.items
            for question, verdict in said[one.reviewer].items()
        )
        assert (one.false_alarms, one.originals_missed) == (rejected, rejected)
        assert one.false_alarm_rate == pytest.approx(rejected / NEW)
        assert abs(rejected / NEW - rate) < 3 * (rate * (1 - rate) / NEW) ** 0.5
        assert (one.timed, one.seconds_median) == (2 * NEW, 20.0)

    # A third who solves everything settles what is disputed, each as its key is.
    disputed = {name for name, each in record.items.items() if each.outcome == "disputed"}
    assert (
        benchfill("review", "export", "simulated", "--adjudicate", "--out", str(tmp_path / "third")).code == 0
    )
    review(tmp_path / "third", "a1")
    assert benchfill("review", "import", str(tmp_path / "third" / "a1.jsonl"), "--run", "simulated").code == 0
    told = json.loads(benchfill("review", "status", "simulated", "--json").out)
    assert told["v"] == 1
    assert {name for name in disputed if told["items"][name]["outcome"] == "rejected"} == disputed & wrong
    assert {name for name in disputed if told["items"][name]["outcome"] == "accepted"} == disputed - wrong
    assert [round_["seal"] for round_ in told["rounds"]] == ["intact", "intact"]
    assert told["agreement"]["all"]["kappa"] == pytest.approx(kappa, abs=1e-12), (
        "adjudication is not part of it"
    )
    shown = benchfill("review", "status", "simulated").out
    assert "is what was committed to" in shown
    assert "Krippendorff" in shown
