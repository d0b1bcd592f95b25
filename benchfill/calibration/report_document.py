"""The diagnosis as one JSON document: plain Python values, undefined is None, intervals are ``x_lo90``, ``x_hi90``."""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.data_checks import rest_correlations
from benchfill.calibration.figures import Figure, FigureSet
from benchfill.calibration.item_fit import ItemFit
from benchfill.calibration.limits import limits_of, resolution_of
from benchfill.calibration.prefit import success_rates
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import FailureScale, Scale
from benchfill.calibration.subsets import PoolDependence, SubsetFigure

if TYPE_CHECKING:
    from benchfill.calibration.diagnosis import Diagnosis

__all__ = ["diagnosis_document", "fingerprint"]

DOCUMENT_VERSION = 1
_FIGURES = ("ddm", "max_gap", "top5_sum")
_CURVE = 101


def fingerprint(log: ResponseLog, guessing: NDArray[np.float64] | None = None) -> str:
    """A hash of ids, counts and guessing chances, the same for every file that holds the same answers."""
    digest = hashlib.sha256()
    for ids in (log.models, log.items):
        digest.update("\x1f".join(ids).encode("utf-8", "surrogatepass") + b"\x1e")
    for counts in (log.correct, log.attempts):
        digest.update(np.ascontiguousarray(counts, dtype="<i8").tobytes())
    if guessing is not None and guessing.any():
        digest.update(np.ascontiguousarray(guessing, dtype="<f8").tobytes())
    return f"sha256:{digest.hexdigest()}"


def diagnosis_document(found: Diagnosis) -> dict[str, Any]:
    """The whole report of a diagnosis."""
    fit, log, scale = found.fit, found.log, found.scale
    sets = {} if found.figures is None else {(each.items, each.scale): each for each in found.figures.sets}
    name = "" if scale is None else scale.name
    n_censored = int(fit.censored.sum())
    preview = fit.engine == "mml"
    document = {
        "v": DOCUMENT_VERSION,
        "n_items": len(fit.items),
        "n_models": len(fit.models),
        "n_attempts": int(log.attempts.sum()),
        "n_censored": n_censored,
        "fingerprint": fingerprint(log, fit.guessing),
        "engine": fit.engine,
        "seed": fit.seed,
        "versions": dict(fit.versions),
        "gate": {**asdict(fit.gate), "reasons": list(fit.gate.reasons)},
        "accepted_unconverged": found.usable and not fit.gate.passed,
        "scale": _scale(scale),
        "target": found.target.name,
        **_figure_values(sets.get(("all", name)), preview),
        "uncensored": {
            "n_items": len(fit.items) - n_censored,
            **_figure_values(sets.get(("uncensored", name)), preview),
        },
        "pool_anchors": _figure_values(sets.get(("all", "pool")), preview),
        "blur": None if found.figures is None else found.figures.blur,
        "gap_blur": None if found.figures is None else found.figures.gap_blur,
        "shape_dependent": None if found.figures is None else found.figures.shape_dependent,
        "gaps": _gaps(found),
        "p_chance_replicates": None if found.chances is None else found.chances.replicates,
        "prefit": [
            {
                **asdict(check),
                "n_offenders": len(check.offenders),
                "offenders": list(map(asdict, check.offenders)),
            }
            for check in found.prefit
        ],
        "data": {**asdict(found.data), "connected": found.data.connected},
        "item_fit": None if found.item_fit is None else _item_fit(found.item_fit),
        "shuffle": None if found.shuffle is None else asdict(found.shuffle),
        "model_choice": None
        if found.model_choice is None
        else {**asdict(found.model_choice), "sentence": found.model_choice.sentence()},
        "rank_stability": None if found.ranks is None else asdict(found.ranks),
        "information": _information(found),
        "target_curve": _target_curve(found),
        "models": _models(found),
        "items": _items(found),
        "notes": list(found.notes),
    }
    document["pool_dependence"] = None if found.pool is None else _pool(found.pool, document, fit.items)
    document["resolution"] = resolution_of(document, _most_totals(found))
    document["limits"] = limits_of(document)
    return dict(plain(document))


def plain(value: Any) -> Any:
    """Lists, dicts, strings and numbers of Python; what is not finite is None."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _figure_values(figures: FigureSet | None, preview: bool) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in _FIGURES:
        figure: Figure | None = None if figures is None else getattr(figures, name)
        values[name] = None if figure is None else figure.point
        for part in ("median", "lo90", "hi90"):
            values[f"{name}_{part}"] = None if figure is None or preview else getattr(figure, part)
    return values


def _scale(scale: Scale | None) -> dict[str, Any] | None:
    if scale is None:
        return None
    if isinstance(scale, FailureScale):
        # A curved axis: two ends in logits would be read as a straight one.
        return {"name": scale.name, "lo": None, "hi": None, "b_at_002": scale.lo, "b_at_098": scale.hi}
    return {"name": scale.name, "lo": scale.lo, "hi": scale.hi}


def _gaps(found: Diagnosis) -> list[dict[str, Any]]:
    """All gaps; what was examined of the widest ones, None for the others."""
    preview = found.fit.engine == "mml"
    chances = () if found.chances is None else found.chances.p_chance
    rows = []
    for place, gap in enumerate(found.gaps):
        about = found.resolutions[place] if place < len(found.resolutions) else None
        sure = about is not None and not preview
        row: dict[str, Any] = asdict(gap)
        row["p_empty"] = None if about is None else about.p_empty
        row["p_chance"] = chances[place] if place < len(chances) else None
        row["resolved"] = about.resolved if about is not None and sure else None
        for name in ("resolved_lo", "resolved_hi", "resolved_width", "out_of_reach", "verdict"):
            row[name] = getattr(about, name) if sure else None
        row["attempts_to_resolve"] = about.attempts_needed if about is not None and sure else None
        row["models_to_resolve"] = about.models_needed if about is not None and sure else None
        row["pool_blind"] = None if found.information is None else found.information.is_blind(gap.target)
        rows.append(row)
    return rows


def _most_totals(found: Diagnosis) -> int | None:
    """Totals that an item can have, where only the total counts: asked alike throughout, and no guessing."""
    asked = found.log.attempts
    if found.fit.guessing.any() or not (asked == asked[:, :1]).all():
        return None
    return int(asked[:, 0].sum()) + 1


def _subset_values(name: str, figure: SubsetFigure) -> dict[str, Any]:
    return {
        name: figure.whole,
        **{f"{name}_{part}": getattr(figure, part) for part in ("sd", "lo90", "hi90", "halves_median")},
    }


def _pool(pool: PoolDependence, document: dict[str, Any], items: tuple[str, ...]) -> dict[str, Any]:
    rows = zip(items, pool.z_sd.tolist(), pool.z_lo90.tolist(), pool.z_hi90.tolist(), strict=True)
    found = {
        "engine": pool.engine,
        "subsets": pool.subsets,
        "wider": pool.wider,
        "median_z_sd": _median(pool.z_sd),
        "median_posterior_sd": _median(pool.posterior_sd),
    }
    for name in _FIGURES:
        posterior = document[f"{name}_lo90"], document[f"{name}_hi90"]
        for prefix in ("", "own_"):
            figure = getattr(pool, f"{prefix}{name}")
            found |= _subset_values(f"{prefix}{name}", figure)
            found[f"{prefix}{name}_wider"] = _wider(figure, *posterior)
    found["gaps"] = [
        {
            "lo": gap.lo,
            "hi": gap.hi,
            "stays_empty": gap.stays_empty,
            **_subset_values("width", gap.width),
            "width_posterior_lo90": gap.posterior_lo90,
            "width_posterior_hi90": gap.posterior_hi90,
            "width_wider": _wider(gap.width, gap.posterior_lo90, gap.posterior_hi90),
        }
        for gap in pool.gaps
    ]
    found["items"] = [{"id": id_, "z_sd": sd, "z_lo90": lo, "z_hi90": hi} for id_, sd, lo, hi in rows]
    return found


def _wider(figure: SubsetFigure, lo: float | None, hi: float | None) -> str | None:
    """Whose interval is wider, that of the pool or that of the posterior; None where there is none."""
    if lo is None or hi is None:
        return None
    return "pool" if figure.hi90 - figure.lo90 > hi - lo else "posterior"


def _median(values: NDArray[np.float64]) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else None


def _item_fit(found: ItemFit) -> dict[str, Any]:
    return {
        "overall_residual": found.overall,
        "median_residual": found.median,
        "n_flagged": len(found.flagged),
        "flagged": [asdict(each) for each in found.flagged],
    }


def _information(found: Diagnosis) -> dict[str, Any] | None:
    curve = found.information
    if curve is None:
        return None
    return {
        "z": curve.z,
        "information": curve.information,
        "efficiency": curve.efficiency,
        "attempts": curve.attempts,
        "blind": [{"lo": lo, "hi": hi} for lo, hi in curve.blind],
    }


def _target_curve(found: Diagnosis) -> dict[str, Any]:
    """The target's distribution function, for pictures."""
    z = np.linspace(0.0, 1.0, _CURVE)
    return {"z": z, "cdf": found.target.cdf(z)}


def _models(found: Diagnosis) -> list[dict[str, Any]]:
    fit, rates = found.fit, success_rates(found.log)
    asked = np.isfinite(rates)
    success = np.where(asked, rates, 0.0).sum(axis=1) / np.maximum(asked.sum(axis=1), 1)
    lo, hi = np.quantile(fit.theta_draws, [0.05, 0.95], axis=0)
    if not found.usable or len(fit.theta_draws) < 2:
        lo, hi = np.full((2, len(fit.models)), np.nan)
    shown = fit.theta if found.usable else np.full(len(fit.models), np.nan)
    sd = fit.theta_sd if found.usable else shown
    return [
        {
            "id": name,
            "success": float(success[at]) if asked[at].any() else None,
            "attempts": int(found.log.attempts[at].sum()),
            "ability": float(shown[at]),
            "ability_sd": float(sd[at]),
            "ability_lo90": float(lo[at]),
            "ability_hi90": float(hi[at]),
            "residual": None if found.item_fit is None else float(found.item_fit.model_residual[at]),
        }
        for at, name in enumerate(fit.models)
    ]


def _items(found: Diagnosis) -> list[dict[str, Any]]:
    fit, scale = found.fit, found.scale
    nothing = np.full(len(fit.items), np.nan)

    def logits(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values if found.usable else nothing

    def placed(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return nothing if scale is None else np.asarray(scale.to_z(values))

    rates = success_rates(found.log)
    asked = np.isfinite(rates)
    success = np.where(
        asked.any(axis=0), np.where(asked, rates, 0.0).sum(axis=0) / np.maximum(asked.sum(axis=0), 1), np.nan
    )
    columns: dict[str, NDArray[Any]] = {
        "b": logits(fit.b),
        "b_sd": logits(fit.b_sd),
        "z": placed(fit.b),
        "z_lo90": placed(fit.b_lo90),
        "z_hi90": placed(fit.b_hi90),
        "censored": fit.censored,
        "success": success,
        "rest_correlation": rest_correlations(found.log)[0],
        "guessing": fit.guessing,
    }
    if found.item_fit is not None:
        for name in ("infit", "outfit", "residual", "p", "p_adjusted"):
            columns[name] = getattr(found.item_fit, name)
    names = ("id", *columns)
    rows = zip(fit.items, *(values.tolist() for values in columns.values()), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]
