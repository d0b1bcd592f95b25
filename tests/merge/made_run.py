"""A finished run made by hand: its benchmark answered by known abilities, its new items by known difficulties."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.online import item_posterior
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale, minmax_scale
from benchfill.graph.benchmark import Benchmark, read_benchmark
from benchfill.item import Item
from benchfill.memory.pool import Pool
from benchfill.memory.records import (
    AttemptRow,
    Candidate,
    ConfirmationRow,
    Estimate,
    GapRow,
    JudgementRow,
    RunRow,
    ScaleRow,
)
from benchfill.memory.reviews import AssignmentRow, DecisionRow, ReviewRound, Reviews
from benchfill.memory.runs import RunFolder, find_run, make_run_folder
from benchfill.memory.source import keep_source
from benchfill.review.blinding import item_hash
from benchfill.settings import Settings

MODELS = tuple(f"m{place}" for place in range(8))
THETA = np.linspace(-2.0, 2.0, 8)
# Attempts by which a candidate was chosen, and fresh ones.
CHOSEN_BY, FRESH = 4, 24


@dataclass(frozen=True)
class NewItem:
    """One new item of a made run: its true difficulty in logits, parent and the gap it ends (0: none)."""

    item: Item
    b: float
    parent: str
    gap: int
    confirmed: bool = True


def write_benchmark(folder: Path) -> tuple[Path, Path]:
    """Items in an odd but readable form, and their log: difficulties from -2.2 to 2.2 with a hole in the middle."""
    folder.mkdir(parents=True, exist_ok=True)
    b = [*np.linspace(-2.2, -0.6, 8), *np.linspace(0.9, 2.2, 7)]
    rows = [
        {"id": f"q{place:02d}", "topic": "sums", "question": f"What is {place} + {place}?", "answer": str(2 * place),
         "level": place, "license": "CC-BY-4.0"}
        for place in range(len(b))
    ]  # fmt: skip
    items = folder / "bench.jsonl"
    items.write_bytes(b"".join(json.dumps(row).encode() + b"\r\n" for row in rows))
    rng = np.random.default_rng(5)
    lines = ["model,item_id,correct,count"]
    for theta, model in zip(THETA, MODELS, strict=True):
        for row, difficulty in zip(rows, b, strict=True):
            lines.append(f"{model},{row['id']},{rng.binomial(30, expit(theta - difficulty))},30")
    responses = folder / "log.csv"
    responses.write_text("\n".join(lines) + "\n")
    return items, responses


FIRST = (
    NewItem(
        Item("bf-aaa", "What is 31 + 45 - 7?", "69", "31 + 45 = 76, 76 - 7 = 69", answer_type="numeric"),
        0.1,
        "q07",
        1,
    ),
    NewItem(
        Item("bf-bbb", "What is 3 + 45 - 7?", "41", "3 + 45 = 48", answer_type="numeric"),
        0.5,
        "bf-aaa",
        2,
        False,
    ),
)


def make_run(
    home: Path, name: str, items: Path, responses: Path, new: Sequence[NewItem] = FIRST, *, seed: int = 3
) -> RunFolder:
    """Make the run as its search would have left it."""
    benchmark = read_benchmark(items.stem, items, responses)
    with make_run_folder(home, name) as folder:
        keep_source(folder, items, {})
        pool = Pool(folder.memory)
        pool.save_benchmark(
            benchmark.fingerprint,
            benchmark.name,
            benchmark.items,
            benchmark.log.models,
            benchmark.responses(),
        )
        pool.save_run(
            RunRow(
                id=name,
                seed=seed,
                world="",
                version="0",
                settings=Settings().model_dump(mode="json"),
                request={"count": len(new), "interval": None, "target": None},
                status="finished",
                summary={},
            )
        )
        draws = _freeze(pool, benchmark)
        for writer, each in enumerate(new, start=1):
            _search(pool, draws, each, writer)
        pool.close()
    return find_run(home, name)


def _freeze(pool: Pool, benchmark: Benchmark) -> np.ndarray:
    fit = fit_1pl(benchmark.log, engine="laplace", seed=1, draws=200)
    scale = minmax_scale(fit)
    row = ScaleRow(
        id="frozen", name=scale.name, lo=scale.lo, hi=scale.hi, engine=fit.engine, seed=1, models=list(fit.models),
        theta=fit.theta.tolist(), theta_draws=fit.theta_draws.tolist(), gate={"passed": True}, versions={"numpy": "x"},
    )  # fmt: skip
    estimates = [
        Estimate(
            item=item, scale="frozen", source="offline", b=float(fit.b[at]), b_sd=float(fit.b_sd[at]),
            z=float(scale.to_z(fit.b[at])), z_sd=float(fit.b_sd[at] / scale.width),
            z_lo90=float(scale.to_z(fit.b_lo90[at])), z_hi90=float(scale.to_z(fit.b_hi90[at])), attempts=240,
        )
        for at, item in enumerate(fit.items)
    ]  # fmt: skip
    pool.save_scale(row, estimates)
    return fit.theta_draws


def _search(pool: Pool, draws: np.ndarray, new: NewItem, writer: int) -> None:
    row, rng = pool.scale(), np.random.default_rng([7, writer])
    assert row is not None
    scale = Scale(row.name, row.lo, row.hi)
    name, target = f"g{new.gap}r01w{writer}", float(scale.to_z(new.b))
    if new.gap:
        lo, hi = target - 0.15, target + 0.15
        pool.save_gaps([GapRow(new.gap, lo, hi, target, 0.03, 100, "filled", name, 1)])
    pool.save_candidate(
        Candidate(
            id=name,
            item=new.item.id,
            gap=new.gap or 1,
            round=1,
            writer=writer,
            target=target,
            parent=new.parent,
            reference_ids=["q01", "q09"],
            status="accepted" if new.gap else "dropped",
            rewriter="writer-model",
            judge="judge-model",
            prompt_version="v1",
            prompt_hashes={"rewrite.md": "0"},
            rationale="harder",
            refusals=[{"reason": "copy", "detail": "the question is its parent\x1b[31m"}],
        ),
        new.item,
    )
    pool.save_judgement(JudgementRow(name, "accepted", new.item.answer, True, True, [], "fine", 2))
    # Those it was chosen by are all right: what a lucky choice looks like.
    rows = [
        AttemptRow(new.item.id, model, attempt, "correct", "", "x")
        for model in MODELS
        for attempt in range(CHOSEN_BY)
    ]
    rows += [
        AttemptRow(
            new.item.id,
            model,
            attempt,
            "correct" if rng.random() < expit(theta - new.b) else "wrong",
            "",
            "x",
        )
        for theta, model in zip(THETA, MODELS, strict=True)
        for attempt in range(CHOSEN_BY, CHOSEN_BY + FRESH)
    ]
    rows.append(AttemptRow(new.item.id, "m0", CHOSEN_BY + FRESH - 1, "missing", "timeout", None))
    pool.save_attempts(rows)
    counted = [row for row in pool.attempts(new.item.id) if not new.confirmed or row.attempt >= CHOSEN_BY]
    right = [sum(row.outcome == "correct" for row in counted if row.model == model) for model in MODELS]
    asked = [sum(row.outcome != "missing" for row in counted if row.model == model) for model in MODELS]
    found = item_posterior(draws, right, asked, scale)
    if new.confirmed:
        pool.save_confirmation(
            ConfirmationRow(
                name,
                CHOSEN_BY,
                CHOSEN_BY + FRESH,
                0.03,
                "confirmed",
                found.mean,
                found.sd,
                found.lo90,
                found.hi90,
                0.02,
            )
        )
    pool.save_estimates(
        [
            Estimate(
                item=new.item.id,
                scale="frozen",
                source="online",
                b=float(scale.to_b(found.mean)),
                b_sd=found.sd * scale.width,
                z=found.mean,
                z_sd=found.sd,
                z_lo90=found.lo90,
                z_hi90=found.hi90,
                attempts=sum(asked),
                b_ml=None,
                expected_deviation=0.02,
                confirmed=new.confirmed,
            )
        ]
    )


def review(folder: RunFolder, verdicts: Mapping[str, Sequence[str]]) -> None:
    """Let reviewers r1, r2, ... decide: their verdicts by item."""
    pool = Pool(folder.memory, create=False)
    assignments, decisions = [], []
    for place, (name, given) in enumerate(sorted(verdicts.items())):
        item = pool.item(name)
        assert item is not None
        for number, verdict in enumerate(given, start=1):
            blind = f"{place}-{number}"
            assignments.append(
                AssignmentRow(f"r{number}", blind, 1, place, name, "candidate", item_hash(item))
            )
            decisions.append(
                DecisionRow(f"r{number}", blind, verdict, item.answer, verdict == "approve", (), "", 12.0)  # type: ignore[arg-type]
            )
    reviews = Reviews(pool)
    reviews.save_round(ReviewRound(1, "review", 3, 1.0, "ab" * 32), assignments)
    reviews.save_decisions(decisions)
    pool.close()


def log_of(*cells: Sequence[int]) -> ResponseLog:
    """A log of one attempt a cell, models in rows."""
    correct = np.asarray(cells)
    models = tuple(f"m{place}" for place in range(correct.shape[0]))
    items = tuple(f"i{place}" for place in range(correct.shape[1]))
    return ResponseLog(models, items, correct, np.ones_like(correct))


def known_effects() -> dict[str, Any]:
    """Effects of a merge as they are written, without a fit: for tests that are about something else."""
    figure = {"point": 0.2, "median": 0.21, "lo90": 0.18, "hi90": 0.25}
    gap = {"lo": 0.1, "hi": 0.3, "width": 0.2, "p_empty": 0.97, "resolved": True, "resolved_width": 0.1}
    side = {
        "n_items": 17, "n_attempts": 9, "n_censored": 0, "gate": {"passed": True}, "shape_dependent": False,
        "figures": dict.fromkeys(("ddm", "max_gap", "top5_sum"), figure), "gaps": [gap],
        "ranks": {"pairs": 28, "at_risk": []},
    }  # fmt: skip
    model = {
        "model": "m0",
        "original": 0.5,
        "added": None,
        "both": 0.5,
        "asked_original": 15,
        "asked_added": 0,
    }
    placed = {"item": "bf-aaa", "online_z": 0.5, "online_sd": 0.02, "full_z": 0.5, "full_sd": 0.02, "difference": 0.0,
              "difference_in_sd": 0.0}  # fmt: skip
    return {
        "engine": "laplace", "seed": 1, "versions": {}, "before": side, "after": side,
        "filled": [{"item": "bf-aaa", "before": gap, "after": gap}],
        "scores": {"n_original": 15, "n_added": 2, "models": [model], "order_changes": [], "kendall_tau_b": 1.0},
        "refit": {
            "items": [placed],
            "abilities": [{"model": "m0", "frozen": 0.1, "full": 0.1, "drift": 0.0, "drift_in_sd": 0.0}],
            "largest_difference_in_sd": 0.0, "largest_drift_logits": 0.0,
        },
    }  # fmt: skip
