"""What a merge does: the figures before and after, whether the gaps are closed, the scores, and a fit of everything.

All figures lie on the axis that the run froze. A fit of the extended log knows nothing of the online calibration: it
is its check, item by item, and shows how far the abilities that were frozen have drifted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.figures import BenchmarkFigures, benchmark_figures
from benchfill.calibration.fit import Engine, Fit, fit_1pl
from benchfill.calibration.measure import Gap, find_gaps
from benchfill.calibration.model_slopes import fit_item_model
from benchfill.calibration.pruning import order_agreement
from benchfill.calibration.rank_stability import rank_stability
from benchfill.calibration.resolution import resolve_gaps
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale
from benchfill.errors import BenchfillError, GateRefused
from benchfill.memory.records import ScaleRow
from benchfill.merge.response_logs import MergedLogs

__all__ = ["OnlinePlace", "effects_of", "score_document"]

TOP = 5
Progress = Callable[[float, str], None]


@dataclasses.dataclass(frozen=True, slots=True)
class OnlinePlace:
    """Where the search put an added item (z), and the gap it was made for; None where it was made for none."""

    z: float
    z_sd: float
    gap: tuple[float, float] | None


def effects_of(
    logs: MergedLogs,
    frozen: ScaleRow,
    places: Mapping[str, OnlinePlace],
    *,
    engine: Engine,
    seed: int,
    progress: Progress,
) -> dict[str, Any]:
    """Everything that is compared, as plain values.

    Parameters
    ----------
    frozen
        The axis and the abilities of the run.
    places
        By the id of the added item in the merged file.

    Raises
    ------
    GateRefused
        A fit did not pass its gate.
    """
    scale = Scale(frozen.name, frozen.lo, frozen.hi)
    fits = []
    for name, log, guessing in (
        ("original", logs.before, logs.guessing_before),
        ("extended", logs.after, logs.guessing_after),
    ):

        def say(fraction: float, message: str, name: str = name) -> None:
            progress(fraction, f"{name} benchmark: {message}")

        fit = fit_1pl(log, engine=engine, guessing=guessing, seed=seed, progress=say)
        if not fit.gate.passed:
            raise GateRefused(
                f"The fit of the {name} benchmark failed its gate: {' '.join(fit.gate.reasons)}",
                "Use another --engine or --seed.",
            )
        fits.append(fit)
    before, after = fits
    progress(1.0, "figures and order of models")
    return {
        "engine": engine,
        "seed": seed,
        "versions": dict(after.versions),
        "before": _benchmark_document(before, logs.before, scale, seed),
        "after": _benchmark_document(after, logs.after, scale, seed),
        "filled": _filled(before, after, logs, scale, places),
        "scores": score_document(logs.after, logs.added),
        "refit": _refit_document(after, scale, frozen, places),
    }


def _benchmark_document(fit: Fit, log: ResponseLog, scale: Scale, seed: int) -> dict[str, Any]:
    figures = benchmark_figures(fit, log, scale, seed=seed)
    gaps = find_gaps(scale.to_z(fit.b))[:TOP]
    return {
        "n_items": len(log.items),
        "n_attempts": int(log.attempts.sum()),
        "n_censored": int(fit.censored.sum()),
        "gate": {"passed": fit.gate.passed, "rhat_max": fit.gate.rhat_max, "ess_min": fit.gate.ess_min},
        "figures": _figures(figures),
        "shape_dependent": figures.shape_dependent,
        "gaps": [_resolution(each) for each in resolve_gaps(fit, log, scale, gaps)],
        "ranks": _ranks(fit, log, scale, seed),
    }


def _figures(figures: BenchmarkFigures) -> dict[str, dict[str, float]]:
    first = figures.sets[0]
    return {name: dataclasses.asdict(getattr(first, name)) for name in ("ddm", "max_gap", "top5_sum")}


def _resolution(found: Any) -> dict[str, Any]:
    return {
        name: getattr(found, name)
        for name in ("lo", "hi", "width", "p_empty", "resolved", "resolved_width", "out_of_reach")
    }


def _ranks(fit: Fit, log: ResponseLog, scale: Scale, seed: int) -> dict[str, Any] | None:
    """Pairs of models whose order would be another under the uniform target; None where no model of slopes fits."""
    try:
        slopes = fit_item_model(log, "model_slopes", guessing=fit.guessing)
        found = rank_stability(log, fit, scale, slopes, seed=seed)
    except BenchfillError:
        return None
    return {
        "pairs": len(found.pairs),
        "at_risk": [[pair.stronger, pair.weaker, pair.verdict] for pair in found.at_risk()],
    }


def _filled(
    before: Fit, after: Fit, logs: MergedLogs, scale: Scale, places: Mapping[str, OnlinePlace]
) -> list[dict[str, Any]]:
    """Each gap that an added item was made for, before, and what is left of it."""
    spans = {item: span for item in logs.added if (span := places[item].gap) is not None}
    inside = np.asarray(scale.to_z(after.b))
    whole = [Gap(lo, hi, hi - lo, (lo + hi) / 2.0) for lo, hi in spans.values()]
    left = [_widest(inside, lo, hi) for lo, hi in spans.values()]
    then = resolve_gaps(before, logs.before, scale, whole)
    now = resolve_gaps(after, logs.after, scale, left)
    return [
        {"item": item, "before": _resolution(one), "after": _resolution(two)}
        for item, one, two in zip(spans, then, now, strict=True)
    ]


def _widest(z: NDArray[np.float64], lo: float, hi: float) -> Gap:
    """The widest stretch without an item that is left of a gap."""
    ends = np.unique(np.concatenate([[lo, hi], z[(z > lo) & (z < hi)]]))
    at = int(np.argmax(np.diff(ends)))
    first, last = float(ends[at]), float(ends[at + 1])
    return Gap(first, last, last - first, (first + last) / 2.0)


def score_document(log: ResponseLog, added: Sequence[str]) -> dict[str, Any]:
    """Mean success of every model on the original items, on the added ones and on both, and whose order changes.

    A score is the mean over the items a model was asked of its success rate on each; None where it was asked none.
    """
    new = np.isin(np.asarray(log.items), np.asarray(added))
    original, fresh, both = (_scores(log, chosen) for chosen in (~new, new, np.ones(new.size, dtype=bool)))
    models = [
        {
            "model": model,
            "original": _plain(original[row]),
            "added": _plain(fresh[row]),
            "both": _plain(both[row]),
            "asked_original": int((log.attempts[row, ~new] > 0).sum()),
            "asked_added": int((log.attempts[row, new] > 0).sum()),
        }
        for row, model in enumerate(log.models)
    ]
    changes = []
    for one, two in combinations(range(len(log.models)), 2):
        was, now = original[one] - original[two], both[one] - both[two]
        # Equal scores summed in another order must tie.
        if np.isfinite(was) and np.isfinite(now) and round(was, 12) * round(now, 12) < 0.0:
            first, second = (one, two) if was > 0.0 else (two, one)
            changes.append(
                {
                    "ahead_before": log.models[first],
                    "ahead_after": log.models[second],
                    "difference_original": abs(float(was)),
                    "difference_both": -abs(float(now)),
                }
            )
    kept = [item for item, each in zip(log.items, new.tolist(), strict=True) if not each]
    tau, _ = order_agreement(log, kept)
    return {
        "n_original": int((~new).sum()),
        "n_added": int(new.sum()),
        "models": sorted(models, key=lambda row: (-(row["original"] or 0.0), row["model"])),
        "order_changes": changes,
        "kendall_tau_b": tau,
    }


def _scores(log: ResponseLog, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    attempts, correct = log.attempts[:, chosen], log.correct[:, chosen]
    asked = attempts > 0
    rates = np.divide(correct, attempts, out=np.zeros(asked.shape), where=asked)
    found = np.full(len(log.models), np.nan)
    np.divide(rates.sum(axis=1), asked.sum(axis=1), out=found, where=asked.any(axis=1))
    return found


def _refit_document(
    fit: Fit, scale: Scale, frozen: ScaleRow, places: Mapping[str, OnlinePlace]
) -> dict[str, Any]:
    """Online and full place of every added item, and how far each ability is from the frozen one."""
    at = {item: index for index, item in enumerate(fit.items)}
    items: list[dict[str, Any]] = []
    for item, online in places.items():
        full, sd = float(scale.to_z(fit.b[at[item]])), float(fit.b_sd[at[item]] / scale.width)
        items.append(
            {
                "item": item,
                "online_z": online.z,
                "online_sd": online.z_sd,
                "full_z": full,
                "full_sd": _plain(sd),
                "difference": full - online.z,
                "difference_in_sd": (full - online.z) / online.z_sd if online.z_sd > 0.0 else None,
            }
        )
    known = dict(zip(frozen.models, frozen.theta, strict=True))
    draws = np.asarray(frozen.theta_draws)
    sd_of = dict(zip(frozen.models, draws.std(axis=0).tolist(), strict=True))
    drift: list[dict[str, Any]] = [
        {
            "model": model,
            "frozen": known[model],
            "full": float(fit.theta[row]),
            "drift": float(fit.theta[row]) - known[model],
            "drift_in_sd": (float(fit.theta[row]) - known[model]) / sd_of[model]
            if sd_of[model] > 0.0
            else None,
        }
        for row, model in enumerate(fit.models)
        if model in known
    ]
    return {
        "items": items,
        "abilities": drift,
        "largest_difference_in_sd": _largest([each["difference_in_sd"] for each in items]),
        "largest_drift_logits": _largest([each["drift"] for each in drift]),
    }


def _largest(values: Sequence[float | None]) -> float | None:
    known = [abs(value) for value in values if value is not None]
    return max(known, default=None)


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
