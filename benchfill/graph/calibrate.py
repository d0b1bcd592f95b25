"""Node: where each candidate lies, given the frozen abilities, and what to ask next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from langgraph.runtime import Runtime

from benchfill.calibration.online import ItemPosterior, item_posterior, ml_difficulty
from benchfill.calibration.selection import CandidateView, choose_next
from benchfill.graph.plan import aim_of
from benchfill.graph.search import Search
from benchfill.graph.state import SearchState
from benchfill.item import Item
from benchfill.memory.records import AttemptRow, Estimate, GapRow

__all__ = ["calibrate"]


def calibrate(state: SearchState, runtime: Runtime[Search]) -> dict[str, Any]:
    """Update the posteriors and plan the next block of attempts, or none."""
    search = runtime.context
    gap = search.pool.gap(state["gap"])
    aim = aim_of(gap, scale=search.scale, theta=search.theta, settings=search.settings)
    prior_posterior, _ = _posterior(search, gap, [], guessing=0.0)
    views: list[CandidateView] = []
    estimates: list[Estimate] = []
    for name, asked in sorted(state["asked"].items()):
        item = _item(search, name)
        rows = search.pool.attempts(item.id, below=asked)
        posterior, counts = _posterior(search, gap, rows, guessing=item.guessing)
        estimate = _estimate(search, item, gap, posterior, counts)
        estimates.append(estimate)
        search.emit(
            "posterior",
            gap=gap.gap,
            round=state["round"],
            candidate=name,
            z_mean=estimate.z,
            z_lo90=estimate.z_lo90,
            z_hi90=estimate.z_hi90,
            z_ml=search.pool.z_ml(estimate),
            expected_deviation=estimate.expected_deviation,
            attempts=estimate.attempts,
        )
        if _still_answered(rows, asked, len(search.models)):
            views.append(CandidateView(name, posterior, asked))
    search.pool.save_estimates(estimates)
    decision = choose_next(
        views,
        target=gap.target,
        tolerance=aim.tolerance,
        models=len(search.models),
        prior_chance=prior_posterior.chance_within(gap.target, aim.tolerance),
        attempts_on_target=aim.attempts,
        max_attempts=search.settings.max_attempts,
        max_block=search.settings.max_block,
    )
    if decision.kind == "met":
        return {"met": decision.candidate}
    if decision.kind == "ask" and decision.candidate is not None:
        return {"plan": {decision.candidate: state["asked"][decision.candidate] + decision.block}}
    return {"met": ""}


def _item(search: Search, candidate: str) -> Item:
    item = search.pool.item(str(search.pool.candidate(candidate).item))
    if item is None:
        raise LookupError(f"the item of {candidate} is not in the pool")
    return item


def _posterior(
    search: Search, gap: GapRow, rows: Sequence[AttemptRow], *, guessing: float
) -> tuple[ItemPosterior, tuple[list[int], list[int]]]:
    """Posterior and (correct, answered) a model; missing attempts count nowhere."""
    place = {model: index for index, model in enumerate(search.models)}
    correct, answered = [0] * len(place), [0] * len(place)
    for row in rows:
        if row.outcome != "missing":
            answered[place[row.model]] += 1
            correct[place[row.model]] += row.outcome == "correct"
    posterior = item_posterior(
        search.theta_draws,
        np.asarray(correct),
        np.asarray(answered),
        search.scale,
        prior=search.prior(gap),
        guessing=guessing,
    )
    return posterior, (correct, answered)


def _estimate(
    search: Search,
    item: Item,
    gap: GapRow,
    posterior: ItemPosterior,
    counts: tuple[list[int], list[int]],
) -> Estimate:
    correct, answered = counts
    b_ml = ml_difficulty(search.theta, np.asarray(correct), np.asarray(answered), item.guessing)
    return Estimate(
        item=item.id,
        scale=search.scale_id,
        source="online",
        b=search.scale.to_b(posterior.mean),
        b_sd=posterior.sd * search.scale.width,
        z=posterior.mean,
        z_sd=posterior.sd,
        z_lo90=posterior.lo90,
        z_hi90=posterior.hi90,
        attempts=sum(answered),
        b_ml=b_ml,
        expected_deviation=posterior.expected_deviation(gap.target),
    )


def _still_answered(rows: Sequence[AttemptRow], asked: int, models: int) -> bool:
    """False when fewer than half of the models answered at the latest attempt: more would not be balanced."""
    latest = [row for row in rows if row.attempt == asked - 1]
    return 2 * sum(row.outcome != "missing" for row in latest) >= models
