"""Replies without an answer: how many, from whom, on which items, and what they would change.

A reply that is complete and holds no answer, or was cut at max tokens, may be a model that could not solve the item
or one that was not given the room. Which of the two is for the user to say, so both readings are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from scipy.special import betaincinv

from benchfill.calibration.online import item_posterior
from benchfill.graph.attempts import NO_ANSWER, counted_as
from benchfill.graph.measuring import prior_of
from benchfill.graph.search import Search
from benchfill.memory.records import AttemptRow, Candidate

__all__ = ["accepted_both_ways", "no_answer_rates", "no_answer_report"]

Reading = Literal["missing", "wrong"]

# Stretches of difficulty, of as many items each as can be.
STRETCHES = 4


def no_answer_rates(rows: Sequence[AttemptRow], places: Mapping[str, float]) -> dict[str, Any]:
    """Rates by model and against difficulty.

    Parameters
    ----------
    rows
        Attempts; failed ones and those nobody could grade count nowhere.
    places
        Difficulty of an item, in any unit; items without are left out of ``by_difficulty``.

    Returns
    -------
    dict
        ``replies``, ``no_answer``; ``models`` with the accuracy under both readings, the 90 % interval of the one
        where no answer is missing (Jeffreys), and ``differs`` where the other lies outside of it; ``by_difficulty``
        with stretches from easy to hard.
    """
    finished = [row for row in rows if row.outcome != "missing" or row.reason == NO_ANSWER]
    models = sorted({row.model for row in finished})
    return {
        "replies": len(finished),
        "no_answer": sum(row.reason == NO_ANSWER for row in finished),
        "models": [_model(model, [row for row in finished if row.model == model]) for model in models],
        "by_difficulty": _by_difficulty(finished, places),
    }


def _model(model: str, rows: Sequence[AttemptRow]) -> dict[str, Any]:
    silent, right = (
        sum(row.reason == NO_ANSWER for row in rows),
        sum(row.outcome == "correct" for row in rows),
    )
    answered = len(rows) - silent
    lo, hi = (float(betaincinv(right + 0.5, answered - right + 0.5, level)) for level in (0.05, 0.95))
    as_wrong = right / len(rows)
    return {
        "model": model,
        "replies": len(rows),
        "no_answer": silent,
        "rate": silent / len(rows),
        "accuracy": right / answered if answered else None,
        "accuracy_lo90": lo if answered else None,
        "accuracy_hi90": hi if answered else None,
        "accuracy_as_wrong": as_wrong,
        "differs": bool(silent and (not answered or not lo <= as_wrong <= hi)),
    }


def _by_difficulty(rows: Sequence[AttemptRow], places: Mapping[str, float]) -> list[dict[str, Any]]:
    items = sorted({row.item for row in rows if row.item in places}, key=lambda item: (places[item], item))
    stretches = []
    for part in np.array_split(np.arange(len(items)), min(STRETCHES, max(len(items), 1))):
        chosen = {items[index] for index in part.tolist()}
        inside = [row for row in rows if row.item in chosen]
        if inside:
            silent = sum(row.reason == NO_ANSWER for row in inside)
            found = [places[item] for item in chosen]
            stretches.append(
                {
                    "lo": min(found),
                    "hi": max(found),
                    "items": len(chosen),
                    "replies": len(inside),
                    "no_answer": silent,
                    "rate": silent / len(inside),
                }
            )
    return stretches


def no_answer_report(search: Search) -> dict[str, Any]:
    """What the end of a run says of replies without an answer: rates over all candidates, places of the accepted."""
    pool = search.pool
    rows = [row for item in pool.items("candidate") for row in pool.attempts(item.id)]
    places = {item: estimate.z for item, estimate in pool.estimates().items()}
    return {
        "counted_as": search.no_answer,
        **no_answer_rates(rows, places),
        "accepted": accepted_both_ways(search),
    }


def accepted_both_ways(search: Search) -> list[dict[str, Any]]:
    """Where each accepted item lies when replies without an answer are missing, and when they are wrong.

    ``differs`` where the mean of one reading lies outside of the 90 % interval of the other that counts.
    """
    found = []
    for gap in search.pool.gaps():
        if gap.accepted is None:
            continue
        candidate = search.pool.candidate(gap.accepted)
        rows = _counting(search, candidate)
        silent = sum(row.reason == NO_ANSWER for row in rows)
        if silent:
            found.append(_both(search, candidate, rows, silent))
    return found


def _counting(search: Search, candidate: Candidate) -> list[AttemptRow]:
    """The attempts that tell the item's place: of a confirmed one the fresh ones alone."""
    rows = search.pool.attempts(str(candidate.item))
    estimate = search.pool.estimates()[str(candidate.item)]
    last = search.pool.confirmations(candidate.id)[-1:] if estimate.confirmed else []
    return [row for row in rows if row.attempt >= last[0].first] if last else rows


def _both(search: Search, candidate: Candidate, rows: Sequence[AttemptRow], silent: int) -> dict[str, Any]:
    readings: tuple[Reading, Reading] = ("missing", "wrong")
    item = search.pool.item(str(candidate.item))
    if item is None:
        raise LookupError(f"the item of {candidate.id} is not in the pool")
    places = {}
    for reading in readings:
        counts = np.zeros((2, len(search.models)), dtype=np.int64)
        for row in rows:
            outcome = counted_as(row, reading)
            counts[:, search.models.index(row.model)] += (outcome == "correct", outcome != "missing")
        places[reading] = item_posterior(
            search.theta_draws,
            counts[0],
            counts[1],
            search.scale,
            prior=prior_of(search, candidate),
            guessing=item.guessing,
        )
    counted = places[search.no_answer]
    other = places["wrong" if search.no_answer == "missing" else "missing"]
    return {
        "item": item.id,
        "no_answer": silent,
        **{
            f"{name}_as_{reading}": getattr(places[reading], attribute)
            for reading in readings
            for name, attribute in (("z", "mean"), ("z_lo90", "lo90"), ("z_hi90", "hi90"))
        },
        "differs": bool(not counted.lo90 <= other.mean <= counted.hi90),
    }
