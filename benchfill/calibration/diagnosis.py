"""The diagnosis of a benchmark: where its items lie, how far that is from the target, and where the gaps are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.fit import Engine, Fit, Gate, Progress, fit_1pl
from benchfill.calibration.measure import Gap, ddm, find_gaps, max_gap, top_k_gap_sum
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale, minmax_scale

__all__ = ["Diagnosis", "Figures", "ItemPlace", "diagnose", "diagnosis_of"]

DOCUMENT_VERSION = 1
_TOP = 5


@dataclass(frozen=True, slots=True)
class Figures:
    """The benchmark as a measure, from the point estimates of its items' places; None is undefined.

    Parameters
    ----------
    n_items
        Items that the figures are of.
    ddm, max_gap, top5_sum
        Distance to the uniform measure, widest gap and sum of the five widest, in z.
    """

    n_items: int
    ddm: float | None = None
    max_gap: float | None = None
    top5_sum: float | None = None


@dataclass(frozen=True, slots=True)
class ItemPlace:
    """One item: difficulty in logits with its sd, place z with its 90 % interval; None is undefined.

    ``censored``: every model asked was always right, or never, so that the place comes from the prior.
    """

    id: str
    b: float | None
    b_sd: float | None
    z: float | None
    z_lo90: float | None
    z_hi90: float | None
    censored: bool


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the report shows.

    Parameters
    ----------
    n_models
        Models of the log.
    figures, uncensored
        Of all items, and of those whose place does not come from the prior alone, on the same axis.
    gaps
        Widest first; empty where the axis is undefined.
    gate, engine, seed, versions
        Of the fit.
    items
        Sorted by id.
    scale
        The frozen axis; None where nothing but the prior would set it, or the fit may not be used.
    notes
        What a reader of the figures must know, one sentence each.
    """

    n_models: int
    figures: Figures
    uncensored: Figures
    gaps: tuple[Gap, ...]
    gate: Gate
    engine: str
    seed: int
    versions: Mapping[str, str]
    items: tuple[ItemPlace, ...]
    scale: Scale | None
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The JSON document: plain Python values, undefined is None."""
        gate = {**asdict(self.gate), "reasons": list(self.gate.reasons)}
        scale = self.scale
        return {
            "v": DOCUMENT_VERSION,
            **asdict(self.figures),
            "n_models": self.n_models,
            "n_censored": self.figures.n_items - self.uncensored.n_items,
            "uncensored": asdict(self.uncensored),
            "gaps": [asdict(gap) for gap in self.gaps],
            "gate": {
                key: _finite(value) if isinstance(value, float) else value for key, value in gate.items()
            },
            "engine": self.engine,
            "seed": self.seed,
            "versions": dict(self.versions),
            "scale": None if scale is None else {"name": scale.name, "lo": scale.lo, "hi": scale.hi},
            "items": [asdict(item) for item in self.items],
            "notes": list(self.notes),
        }


def diagnose(
    log: ResponseLog,
    *,
    engine: Engine = "nuts",
    seed: int = 0,
    guessing: NDArray[np.float64] | None = None,
    progress: Progress | None = None,
    accept_unconverged: bool = False,
    notes: Sequence[str] = (),
) -> Diagnosis:
    """Fit the 1PL to a log and describe the benchmark on the min-max axis of its own items.

    Parameters
    ----------
    engine, seed, progress
        As in `fit_1pl`.
    guessing : (items,)
        Chance of a blind guess of each item of the log, in its order; None is 0 throughout.
    accept_unconverged
        Show the figures of a fit that failed its gate; otherwise they are withheld.
    notes
        Sentences on the log that go in front of the diagnosis' own.

    Raises
    ------
    InputError
        The log cannot be fitted, e.g. its models share no items.
    """
    fit = fit_1pl(log, engine=engine, guessing=guessing, seed=seed, progress=progress)
    return diagnosis_of(fit, accept_unconverged=accept_unconverged, notes=notes)


def diagnosis_of(fit: Fit, *, accept_unconverged: bool = False, notes: Sequence[str] = ()) -> Diagnosis:
    """Describe a fitted benchmark; see `diagnose`."""
    own = [*notes, *fit.notes]
    known = ~fit.censored
    scale: Scale | None = None
    usable = fit.gate.passed or accept_unconverged
    if not usable:
        own.append("The fit failed its gate: difficulties, gaps and figures are withheld.")
    elif not known.any():
        own.append(
            "No item tells the models apart: every item is always right or never, so that places on the axis "
            "would come from the prior alone, and no gap is claimed."
        )
    elif fit.b.min() < fit.b.max():
        scale = minmax_scale(fit)
        own.extend(_anchor_note(fit))
    else:
        own.append("All items are equally difficult in this log: there is no axis to lay them on.")
    if usable and not fit.gate.passed:
        own.append("The fit failed its gate and is shown because that was accepted.")
    z = None if scale is None else scale.to_z(fit.b)
    return Diagnosis(
        n_models=len(fit.models),
        figures=_figures(z, len(fit.items)),
        uncensored=_figures(None if z is None else z[known], int(known.sum())),
        gaps=() if z is None else tuple(find_gaps(z)),
        gate=fit.gate,
        engine=fit.engine,
        seed=fit.seed,
        versions=dict(fit.versions),
        items=_places(fit, scale, shown=usable),
        scale=scale,
        notes=tuple(own),
    )


def _figures(z: NDArray[np.float64] | None, n_items: int) -> Figures:
    if z is None or not z.size:
        return Figures(n_items)
    return Figures(n_items, ddm(z), max_gap(z), top_k_gap_sum(z, _TOP))


def _anchor_note(fit: Fit) -> list[str]:
    """Which ends of the axis the prior sets: the items there are always right, or never."""
    ends = [
        name
        for name, end in (("easy", fit.b.min()), ("hard", fit.b.max()))
        if bool(fit.censored[fit.b == end].any())
    ]
    if not ends:
        return []
    sides = f"{ends[0]} end" if len(ends) == 1 else "easy and the hard end"
    return [
        f"Censored items, always right or never, set the {sides} of the axis: its length depends on the prior."
    ]


def _places(fit: Fit, scale: Scale | None, *, shown: bool) -> tuple[ItemPlace, ...]:
    nothing: list[float | None] = [None] * len(fit.items)

    def column(values: NDArray[np.float64], on_axis: bool) -> list[float | None]:
        if not shown or (on_axis and scale is None):
            return nothing
        placed = values if scale is None or not on_axis else scale.to_z(values)
        return [_finite(value) for value in placed.tolist()]

    return tuple(
        ItemPlace(*row)
        for row in zip(
            fit.items,
            column(fit.b, False),
            column(fit.b_sd, False),
            column(fit.b, True),
            column(fit.b_lo90, True),
            column(fit.b_hi90, True),
            fit.censored.tolist(),
            strict=True,
        )
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
