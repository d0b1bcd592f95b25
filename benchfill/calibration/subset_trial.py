"""Is a chosen subset of items better than chance? Every figure of it beside those of random subsets of its size.

    tau            Kendall's tau-b of the models' scores on the subset and on all items (which hold the subset)
    tau_top        the same among the models of interest
    se_top         standard error of their abilities that the item model claims: root mean square over these models of
                   ``(sum of information of all their answers + 1 / 9) ** -0.5``, for a prior of 3 logits
    error_top      how far their abilities on a subset are from those on held-out items, root mean square about the
                   common shift: chosen from one half of the items, at the same share, and held against the other half.
                   Items are chosen and their curves fitted with the same answers, which flatters se_top; the other
                   half had no part in the choice
    stability      mean tau-b of rankings on resampled items of the subset with its own
    held_out_models     tau-b of subset and whole over the pairs with a model of a fold, when the subset was chosen
                   without that fold; folds are whole families
    held_out_attempts   tau-b of subset and whole on half of the attempts, when it was chosen by the other half

Better or worse is what lies outside 95 % of the random subsets; the rest is no advantage. Random subsets are of these
items, asked these models: the spread is that of the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.item_curves import ItemCurves
from benchfill.calibration.item_subsets import Chooser, top_models
from benchfill.calibration.model_slopes import fit_item_model
from benchfill.calibration.prefit import success_rates
from benchfill.calibration.ranking import item_weights, pair_signs, tau_b, tau_of_signs, weighted_scores
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.subset_abilities import SubsetAbilities
from benchfill.errors import BenchfillError

__all__ = ["Beside", "SubsetTrial", "halve_attempts", "try_subset"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_LEAST = 3  # models
_FOLDS = 5
_SPLITS = 2  # of the items into halves, each of which is chosen from in turn
_BOOTSTRAPS = 200
_BOOTSTRAPPED = 20_000_000  # numbers that the stability of random subsets may draw


@dataclass(frozen=True, slots=True)
class Beside:
    """A figure of the subset beside random subsets.

    Parameters
    ----------
    value
        Of the subset.
    median, lo95, hi95
        Of the random subsets.
    as_good
        Share of these that are at least as good.
    verdict
        ``better``, ``worse``, or ``none``: inside the spread.
    reason
        Why there is no value, which is then None like the rest.
    """

    value: float | None = None
    median: float | None = None
    lo95: float | None = None
    hi95: float | None = None
    as_good: float | None = None
    verdict: Literal["better", "worse", "none"] | None = None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class SubsetTrial:
    """A chosen subset and its figures by name (see the module)."""

    kept: tuple[str, ...]
    top: tuple[str, ...]
    folds: tuple[tuple[str, ...], ...]
    figures: Mapping[str, Beside]


def try_subset(
    log: ResponseLog,
    chooser: Chooser,
    *,
    subsets: int = 1000,
    seed: int = 0,
    progress: Callable[[float, str], None] | None = None,
) -> SubsetTrial:
    """Choose by a rule, and hold the subset against random ones.

    Parameters
    ----------
    log
        The response log.
    chooser
        The rule.
    subsets
        Random subsets.
    seed
        Of the random subsets, of folds and of halves of attempts.

    Raises
    ------
    InputError
        The rule cannot be applied to this log.
    """
    report = progress or (lambda fraction, message: None)
    report(0.0, "fitting the item model")
    curves = fit_item_model(log, chooser.model).curves()
    report(0.1, f"choosing by {chooser.method}")
    kept = chooser(log, curves)
    generator = np.random.default_rng([seed, 1])
    chance = [
        generator.choice(len(log.items), len(kept), replace=False, shuffle=False) for _ in range(subsets)
    ]
    report(0.2, "comparing with random subsets")
    every = [_rows_of(log, kept), *chance]
    rates, rows = success_rates(log), top_models(curves, chooser.top)
    scores, whole = _scores(rates, every), _scores(rates, [np.arange(len(log.items))])[0]
    figures = {
        "tau": _beside(tau_b(scores, whole), "all models tie"),
        "tau_top": _beside(tau_b(scores[:, rows], whole[rows]), "all these models tie"),
        "stability": _stability(rates, every, seed),
    }
    if len(rows) < 2:
        figures |= dict.fromkeys(("se_top", "error_top"), Beside(reason="fewer than two models of interest"))
    else:
        abilities = SubsetAbilities(log, curves, rows)
        claimed = np.array([abilities.claimed(subset) for subset in every])
        figures["se_top"] = _beside(_root_mean_square(claimed), "", small_is_good=True)
        report(0.4, "choosing from half of the items")
        figures["error_top"] = _against_other_items(log, curves, rows, chooser, abilities, subsets, seed)
    report(0.6, "choosing without some of the models")
    folds = _folds(log.models, chooser.families, seed)
    figures["held_out_models"] = _without_models(log, chooser, folds, every, scores, whole)
    report(0.9, "choosing by half of the attempts")
    figures["held_out_attempts"] = _by_half_the_attempts(log, chooser, chance, seed)
    report(1.0, "compared")
    return SubsetTrial(kept, tuple(curves.models[row] for row in rows), folds, figures)


def halve_attempts(log: ResponseLog, seed: int) -> tuple[ResponseLog, ResponseLog] | None:
    """Two halves of the attempts of the models with two or more wherever they were asked; None for fewer than three.

    Which attempts fall in the first half of a cell (the smaller, of an odd number) is drawn at random.
    """
    once = (log.attempts == 1).sum(axis=1)
    several = [log.models[at] for at in np.flatnonzero(once == 0)]
    if len(several) < _LEAST:
        return None
    part = log.select_models(several)
    half = part.attempts // 2
    right = np.random.default_rng([seed, 4]).hypergeometric(part.correct, part.attempts - part.correct, half)
    return (
        ResponseLog(part.models, part.items, right, half),
        ResponseLog(part.models, part.items, part.correct - right, part.attempts - half),
    )


def _rows_of(log: ResponseLog, kept: Sequence[str]) -> Index:
    return np.flatnonzero(np.isin(log.items, kept))


def _scores(rates: Array, subsets: Sequence[Index]) -> Array:
    """Mean success of each model on each subset: shape (subsets, models), NaN where it was asked nothing of it."""
    asked = np.isfinite(rates)
    right, count = np.where(asked, rates, 0.0).T.copy(), asked.T.astype(np.float64)
    total = np.array([right[subset].sum(axis=0) for subset in subsets])
    number = np.array([count[subset].sum(axis=0) for subset in subsets])
    scores = np.full(total.shape, np.nan)
    np.divide(total, number, out=scores, where=number > 0.0)
    return scores


def _beside(values: Array, reason: str, *, small_is_good: bool = False) -> Beside:
    """The first value beside the others."""
    value, others = float(values[0]), values[1:][np.isfinite(values[1:])]
    if not np.isfinite(value) or not others.size:
        return Beside(reason=reason)
    lo, median, hi = (float(each) for each in np.quantile(others, [0.025, 0.5, 0.975]))
    sign = -1.0 if small_is_good else 1.0
    ahead = np.round(sign * (others - value), 12)
    verdict: Literal["better", "worse", "none"] = "none"
    if not lo <= value <= hi:
        verdict = "better" if sign * (value - median) > 0.0 else "worse"
    return Beside(value, median, lo, hi, float((ahead >= 0.0).mean()), verdict)


def _root_mean_square(values: Array) -> Array:
    return np.asarray(np.sqrt((values**2).mean(axis=-1)))


def _against_other_items(
    log: ResponseLog,
    curves: ItemCurves,
    rows: Index,
    chooser: Chooser,
    abilities: SubsetAbilities,
    subsets: int,
    seed: int,
) -> Beside:
    generator = np.random.default_rng([seed, 6])
    total, splits = np.zeros(subsets + 1), 0
    for _ in range(_SPLITS):
        order = generator.permutation(len(log.items))
        cut = len(order) // 2
        for mine, others in ((order[:cut], order[cut:]), (order[cut:], order[:cut])):
            mine = np.sort(mine)
            keep = round(chooser.keep * len(mine) / len(log.items))
            if not 0 < keep < len(mine):
                return Beside(reason="too few items to choose from one half of them")
            part = log.select_items([log.items[at] for at in mine])
            try:
                kept = replace(chooser, keep=keep)(part, _some_curves(curves, mine))
            except BenchfillError as error:
                return Beside(reason=f"on half of the items: {error}")
            drawn = [_rows_of(log, kept)]
            drawn += [generator.choice(mine, keep, replace=False, shuffle=False) for _ in range(subsets)]
            reference = abilities.estimate(others)
            deviation = np.array([abilities.estimate(subset) for subset in drawn]) - reference
            deviation -= deviation.mean(axis=1, keepdims=True)
            total += (deviation**2).sum(axis=1) / (len(rows) - 1)
            splits += 1
    return _beside(np.sqrt(total / splits), "", small_is_good=True)


def _some_curves(curves: ItemCurves, items: Index) -> ItemCurves:
    named = tuple(curves.items[at] for at in items)
    return replace(
        curves, items=named, b=curves.b[items], a=curves.a[items], c=curves.c[items], d=curves.d[items]
    )


def _stability(rates: Array, subsets: Sequence[Index], seed: int) -> Beside:
    size = len(subsets[0])
    many = min(len(subsets) - 1, max(20, min(100, _BOOTSTRAPPED // (_BOOTSTRAPS * size))))
    found = []
    for place, subset in enumerate(subsets[: many + 1]):
        part = rates[:, subset]
        own = pair_signs(_scores(part, [np.arange(size)])[0])
        generator = np.random.default_rng([seed, 2, place])
        taus = [
            tau_of_signs(pair_signs(weighted_scores(part, weights)), own)
            for weights in item_weights(size, _BOOTSTRAPS, generator, len(part) ** 2)
        ]
        known = np.concatenate(taus)
        known = known[np.isfinite(known)]
        found.append(known.mean() if known.size else np.nan)
    return _beside(np.array(found), "all models tie")


def _folds(
    models: Sequence[str], families: Mapping[str, tuple[str, float | None]], seed: int
) -> tuple[tuple[str, ...], ...]:
    """Models dealt to at most five folds, families whole, the largest first; a model without one is its own."""
    groups: dict[str, list[str]] = {}
    for model in models:
        family = families.get(model, ("", None))[0]
        groups.setdefault(f"family {family}" if family else f"model {model}", []).append(model)
    draw = np.random.default_rng([seed, 5]).random(len(groups))
    order = sorted(
        zip(draw.tolist(), groups.values(), strict=True), key=lambda each: (-len(each[1]), each[0])
    )
    folds: list[list[str]] = [[] for _ in range(min(_FOLDS, len(groups)))]
    for _, group in order:
        min(folds, key=len).extend(group)
    return tuple(tuple(sorted(fold)) for fold in folds)


def _without_models(
    log: ResponseLog,
    chooser: Chooser,
    folds: Sequence[Sequence[str]],
    subsets: Sequence[Index],
    scores: Array,
    whole: Array,
) -> Beside:
    first, second = np.triu_indices(len(log.models), 1)
    target, chance = pair_signs(whole), pair_signs(scores[1:])
    rates = success_rates(log)
    total, weight = np.zeros(len(subsets)), 0.0
    for fold in folds:
        held = np.isin(log.models, fold)
        if (~held).sum() < _LEAST:
            return Beside(reason="too few models to leave a family out")
        try:
            kept = chooser(log.select_models([model for model in log.models if model not in fold]))
        except BenchfillError as error:
            return Beside(reason=f"without some families: {error}")
        pairs = held[first] | held[second]
        signs = np.concatenate([pair_signs(_scores(rates, [_rows_of(log, kept)])), chance])[:, pairs]
        total += pairs.sum() * tau_of_signs(signs, target[pairs])
        weight += float(pairs.sum())
    return _beside(total / weight, "all models tie") if weight else Beside(reason="only one model")


def _by_half_the_attempts(log: ResponseLog, chooser: Chooser, chance: Sequence[Index], seed: int) -> Beside:
    halves = halve_attempts(log, seed)
    if halves is None:
        return Beside(reason="fewer than three models with several attempts everywhere")
    try:
        kept = chooser(halves[0])
    except BenchfillError as error:
        return Beside(reason=f"on half of the attempts: {error}")
    rates = success_rates(halves[1])
    scores = _scores(rates, [_rows_of(log, kept), *chance])
    return _beside(tau_b(scores, _scores(rates, [np.arange(len(log.items))])[0]), "all models tie")
