"""Quality of benchmarks as instruments: ranking consistency, discriminability, capability alignment (Benchmark^2).

The definitions are those of arXiv 2601.03986, written out where the paper leaves them open:

    CBRC  mean over the other benchmarks of Kendall's tau-b between the two rankings of their shared models
    DS    (sigma / mean of the models' scores, ddof 0) * share of model pairs whose scores differ by more than epsilon
    CAD   exp(-lambda * mean inversion), over items and ladder pairs (`benchfill.calibration.ladders`)
    BQS   w_1 CBRC + w_2 DS + w_3 CAD
    stability   mean tau-b between the ranking on bootstrapped items and the ranking on the items as they are (ours)

A score is the mean over items of a model's success rate. Intervals are from bootstraps of the items: an item brings
its attempts along, so sampling of items and of answers are both in it; the models are taken as given. Figures of
several benchmarks draw each benchmark's items on its own, and the same items alike. The interval of CAD
is of percentiles, those of CBRC, DS and BQS are hulls of several (see `benchfill.calibration.bootstrap`).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.bootstrap import (
    Estimate,
    agreement_interval,
    hull_interval,
    percentile_interval,
)
from benchfill.calibration.ladders import Inversions, inversions, ladder_pairs
from benchfill.calibration.model_slopes import fit_item_model
from benchfill.calibration.prefit import success_rates
from benchfill.calibration.ranking import (
    item_weights,
    mean_success,
    pair_signs,
    tau_of_signs,
    weighted_scores,
)
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import BenchfillError, InputError

__all__ = [
    "Agreement",
    "BenchmarkQuality",
    "Estimate",
    "QualityRules",
    "benchmark_qualities",
    "discriminability",
]

Array = NDArray[np.float64]

LEAST_SHARED = 3  # models; two have one pair, and any two rankings of them agree or do not
_CHUNK = 4_000_000  # draws x pairs of models worked on at once


@dataclass(frozen=True, slots=True)
class QualityRules:
    """What the paper sets.

    Parameters
    ----------
    epsilon
        Scores that differ by more are told apart.
    steepness
        lambda of CAD.
    weights
        Of CBRC, DS and CAD in BQS.
    draws
        Bootstrap samples.

    Raises
    ------
    InputError
        A value is out of its range.
    """

    epsilon: float = 0.02
    steepness: float = 12.0
    weights: tuple[float, float, float] = (0.3, 0.3, 0.4)
    draws: int = 1000

    def __post_init__(self) -> None:
        if not 0.0 <= self.epsilon < 1.0:
            raise InputError(f"epsilon is a difference of scores from 0 to below 1, not {self.epsilon:g}.")
        if not 0.0 < self.steepness < np.inf:
            raise InputError(f"lambda is a positive number, not {self.steepness:g}.")
        if len(self.weights) != 3 or not all(0.0 <= each < np.inf for each in self.weights):
            raise InputError("The weights of CBRC, DS and CAD are three numbers of at least 0.")
        if self.draws < 2:
            raise InputError("A bootstrap takes at least 2 draws.")


@dataclass(frozen=True, slots=True)
class Agreement:
    """Kendall's tau-b of two benchmarks over their shared models."""

    first: str
    second: str
    shared: int
    tau: Estimate


@dataclass(frozen=True, eq=False)
class BenchmarkQuality:
    """One benchmark.

    Parameters
    ----------
    name, log
        Which; of the models that were asked anything.
    scores
        Shape (models,).
    separated
        Share of model pairs whose scores differ by more than epsilon.
    cbrc, ds, cad, bqs
        The figures.
    stability
        Its interval holds 95 % of the bootstrap rankings' tau-b.
    pairs
        Ladder pairs (stronger, weaker).
    inverted
        What they show.
    expected
        Chances of inversion under the fitted 1PL; None without pairs or where it could not be fitted.
    steepness
        lambda.
    """

    name: str
    log: ResponseLog
    scores: Array
    separated: float | None
    cbrc: Estimate
    ds: Estimate
    cad: Estimate
    bqs: Estimate
    stability: Estimate
    pairs: tuple[tuple[str, str], ...]
    inverted: Inversions
    expected: Inversions | None
    steepness: float

    @property
    def expected_cad(self) -> float | None:
        """CAD where the fitted 1PL holds: its inversions are those of chance."""
        mean = None if self.expected is None else self.expected.mean
        return None if mean is None else float(np.exp(-self.steepness * mean))


def discriminability(scores: Array, epsilon: float) -> tuple[Array, Array]:
    """DS and the share of pairs told apart: shapes (...) from scores (..., models); DS is NaN where the mean is 0."""
    first, second = np.triu_indices(scores.shape[-1], 1)
    # Scores are means of counts: a difference of exactly epsilon must not count for its last digit.
    difference = np.round(np.abs(scores[..., first] - scores[..., second]), 12)
    share = (difference > epsilon).mean(axis=-1)
    mean = scores.mean(axis=-1)
    relative = np.divide(scores.std(axis=-1), mean, out=np.full(mean.shape, np.nan), where=mean > 0.0)
    return np.asarray(relative * share), np.asarray(share)


def benchmark_qualities(
    logs: Mapping[str, ResponseLog],
    names: Mapping[str, tuple[str, float | None]],
    rules: QualityRules | None = None,
    *,
    seed: int = 0,
) -> tuple[tuple[BenchmarkQuality, ...], tuple[Agreement, ...]]:
    """All figures of benchmarks of one domain.

    Parameters
    ----------
    logs
        By name, in the order of the result, which changes no figure.
    names
        Family and size in billions of parameters of models by id, for `ladder_pairs`.
    rules
        None: the paper's.
    seed
        Of the bootstrap.

    Returns
    -------
    qualities, agreements
        One a benchmark, and one a pair of benchmarks.
    """
    rules = rules or QualityRules()
    parts = {name: _Part.of(log, names, rules, seed) for name, log in logs.items()}
    agreements = tuple(_agreement(one, two, parts[one], parts[two]) for one, two in combinations(parts, 2))
    taus: dict[str, list[tuple[float, Array]]] = {name: [] for name in parts}
    for found, draws in agreements:
        for name in (found.first, found.second):
            if found.tau.value is not None:
                taus[name].append((found.tau.value, draws))
    return (
        tuple(_quality(name, part, taus[name], len(parts), rules) for name, part in parts.items()),
        tuple(found for found, _ in agreements),
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """What of a benchmark needs no other: figures as they are and of every draw."""

    log: ResponseLog
    scores: Array
    drawn: Array  # (draws, models)
    pairs: tuple[tuple[str, str], ...]
    inverted: Inversions
    drawn_inversion: Array  # (draws,)

    @classmethod
    def of(
        cls,
        log: ResponseLog,
        names: Mapping[str, tuple[str, float | None]],
        rules: QualityRules,
        seed: int,
    ) -> _Part:
        asked = np.flatnonzero(log.attempts.sum(axis=1))
        if not asked.size:
            raise InputError("The response log has no answers.", kind="no_data")
        log = log.select_models([log.models[at] for at in asked])
        rates = success_rates(log)
        pairs = ladder_pairs(log.models, names)
        inverted = inversions(rates, log.models, pairs)
        # The same items are drawn alike in every log, and whatever the other logs are.
        generator = np.random.default_rng([seed, zlib.crc32("\x1f".join(log.items).encode())])
        scores, inversion = [], []
        for weights in item_weights(len(log.items), rules.draws, generator, len(log.models)):
            scores.append(weighted_scores(rates, weights))
            total, count = weights @ inverted.total, weights @ inverted.pairs
            inversion.append(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))
        return cls(log, mean_success(log), np.concatenate(scores), pairs, inverted, np.concatenate(inversion))


def _agreement(one: str, two: str, first: _Part, second: _Part) -> tuple[Agreement, Array]:
    shared = sorted(set(first.log.models) & set(second.log.models))
    if len(shared) < LEAST_SHARED:
        reason = f"fewer than {LEAST_SHARED} shared models"
        return Agreement(one, two, len(shared), Estimate(None, reason=reason)), np.empty(0)
    mine, theirs = ([part.log.models.index(model) for model in shared] for part in (first, second))
    value = float(tau_of_signs(pair_signs(first.scores[mine]), pair_signs(second.scores[theirs])))
    drawn = _taus(first.drawn[:, mine], second.drawn[:, theirs])
    return Agreement(one, two, len(shared), agreement_interval(value, drawn, "all shared models tie")), drawn


def _taus(x: Array, y: Array) -> Array:
    """tau-b of every draw, (draws, models) each; y may be one ranking for all."""
    step = max(1, _CHUNK // max(1, x.shape[1] ** 2))
    return np.concatenate(
        [
            tau_of_signs(pair_signs(x[at : at + step]), pair_signs(y if y.ndim == 1 else y[at : at + step]))
            for at in range(0, len(x), step)
        ]
    )


def _quality(
    name: str, part: _Part, taus: Sequence[tuple[float, Array]], benchmarks: int, rules: QualityRules
) -> BenchmarkQuality:
    cbrc_draws, ds_draws = np.full((2, rules.draws), np.nan)
    if taus:
        cbrc_draws = np.mean([draws for _, draws in taus], axis=0)
    missing = "only one benchmark" if benchmarks < 2 else f"no other benchmark shares {LEAST_SHARED} models"
    value = float(np.mean([each for each, _ in taus])) if taus else None
    cbrc = agreement_interval(value, cbrc_draws, missing)

    ds, separated = None, None
    several = len(part.log.models) >= 2
    if several:
        ds, separated = (float(each) for each in discriminability(part.scores, rules.epsilon))
        step = max(1, _CHUNK // len(part.log.models) ** 2)
        ds_draws = np.concatenate(
            [
                discriminability(part.drawn[at : at + step], rules.epsilon)[0]
                for at in range(0, rules.draws, step)
            ]
        )
    reason = "every model scores 0" if several else "only one model"
    spread = hull_interval(ds, ds_draws, 0.0, np.inf, reason)

    mean = part.inverted.mean
    cad = None if mean is None else float(np.exp(-rules.steepness * mean))
    cad_draws = np.exp(-rules.steepness * part.drawn_inversion)
    alignment = percentile_interval(cad, cad_draws, "no family with two sizes")

    drawn = _taus(part.drawn, part.scores) if several else np.full(rules.draws, np.nan)
    return BenchmarkQuality(
        name=name,
        log=part.log,
        scores=part.scores,
        separated=separated,
        cbrc=cbrc,
        ds=spread,
        cad=alignment,
        bqs=_composite((cbrc, spread, alignment), (cbrc_draws, ds_draws, cad_draws), rules.weights),
        stability=_stability(drawn),
        pairs=part.pairs,
        inverted=part.inverted,
        expected=_expected(part) if part.pairs else None,
        steepness=rules.steepness,
    )


def _composite(
    parts: Sequence[Estimate], draws: Sequence[Array], weights: tuple[float, float, float]
) -> Estimate:
    used = [at for at in range(3) if weights[at] > 0.0]
    without = [("CBRC", "DS", "CAD")[at] for at in used if parts[at].value is None]
    if without or not used:
        return Estimate(None, reason=f"{' and '.join(without)} not defined" if used else "no weights")
    value = sum(weights[at] * (parts[at].value or 0.0) for at in used)
    drawn = np.sum([weights[at] * draws[at] for at in used], axis=0)
    return hull_interval(value, drawn, -np.inf, np.inf, "")


def _stability(draws: Array) -> Estimate:
    known = draws[np.isfinite(draws)]
    return percentile_interval(
        float(known.mean()) if known.size else None, known, "the models are not ranked"
    )


def _expected(part: _Part) -> Inversions | None:
    try:
        chance = fit_item_model(part.log, "1pl").success()
    except BenchfillError:
        return None
    asked = part.log.attempts > 0
    return inversions(np.where(asked, chance, np.nan), part.log.models, part.pairs)
