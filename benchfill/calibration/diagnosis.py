"""The diagnosis of a benchmark: where its items lie, how far that is from the target, and where the gaps are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.chance import GapChances, gap_chances
from benchfill.calibration.data_checks import DataChecks, check_data
from benchfill.calibration.figures import BenchmarkFigures, benchmark_figures
from benchfill.calibration.fit import Engine, Fit, Progress, fit_1pl
from benchfill.calibration.information import InformationCurve, information_curve
from benchfill.calibration.item_fit import ItemFit, item_fit
from benchfill.calibration.measure import Gap, find_gaps
from benchfill.calibration.model_choice import ModelChoice, choose_model
from benchfill.calibration.model_slopes import fit_item_model
from benchfill.calibration.prefit import PrefitCheck, prefit_checks
from benchfill.calibration.rank_stability import RankStability, rank_stability
from benchfill.calibration.resolution import GapResolution, resolve_gaps
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale, make_scale
from benchfill.calibration.shuffle import ShuffleControl, shuffle_control
from benchfill.calibration.subsets import PoolDependence, Spread, pool_dependence
from benchfill.calibration.targets import Target, Uniform
from benchfill.errors import BenchfillError

__all__ = ["Diagnosis", "ScaleName", "diagnose", "diagnosis_of"]

ScaleName = Literal["minmax", "pool", "failure"]
Found = TypeVar("Found")

TOP = 5
# Of the comparison of item models, which takes twenty seconds with three folds of 25,000 cells.
FOLDS, FEW_FOLDS, MANY_CELLS = 5, 3, 10_000


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What a report shows. A part that was not asked for, or has no answer in this log, is None (a note says why).

    Parameters
    ----------
    log, fit
        What was fitted, and the fit.
    usable
        The fit passed its gate, or its failure was accepted. Otherwise nothing downstream of it is there.
    target
        Of DDM.
    scale
        The frozen axis; None where nothing but the prior would set it, or the fit may not be used.
    gaps
        All of them, widest first; empty where the axis is undefined.
    prefit, data
        Checks that need no fit.
    figures
        DDM, Max Gap and top-5 sum of the estimates and of the true item set, by set of items and axis.
    resolutions, chances
        Of the widest gaps, in the order of ``gaps``.
    information
        What the pool can see along the axis.
    item_fit
        How well the 1PL describes every item and model.
    shuffle
        What a fit finds in shuffled answers, beside the real ones.
    model_choice
        Held-out comparison of item models.
    ranks
        Whether pairs of models would change their order under the target.
    pool
        How far everything moves with the choice of models.
    notes
        What a reader of the figures must know, one sentence each.
    """

    log: ResponseLog
    fit: Fit
    usable: bool
    target: Target
    scale: Scale | None
    gaps: tuple[Gap, ...]
    prefit: tuple[PrefitCheck, ...]
    data: DataChecks
    figures: BenchmarkFigures | None
    resolutions: tuple[GapResolution, ...]
    chances: GapChances | None
    information: InformationCurve | None
    item_fit: ItemFit | None
    shuffle: ShuffleControl | None
    model_choice: ModelChoice | None
    ranks: RankStability | None
    pool: PoolDependence | None
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The JSON document: plain Python values, undefined is None."""
        from benchfill.calibration.report_document import diagnosis_document

        return diagnosis_document(self)


def diagnose(
    log: ResponseLog,
    *,
    engine: Engine = "nuts",
    seed: int = 0,
    guessing: NDArray[np.float64] | None = None,
    scale: ScaleName = "minmax",
    target: Target | None = None,
    top: int = TOP,
    fast: bool = False,
    pool_subsets: bool = False,
    spread: Spread | None = None,
    progress: Progress | None = None,
    accept_unconverged: bool = False,
    notes: Sequence[str] = (),
) -> Diagnosis:
    """Fit the 1PL to a log and describe the benchmark on a frozen axis.

    Parameters
    ----------
    engine, seed
        As in `fit_1pl`; the seed is that of every other random draw too.
    guessing
        Shape (items,). Chance of a blind guess of each item of the log, in its order; None is 0 throughout.
    scale
        Which axis, see `make_scale`.
    target
        Of DDM; None is uniform.
    top
        How many gaps are examined.
    fast
        Leave out what takes refits: gaps by chance, the shuffle control, the comparison of item models and the order
        of models under the target.
    pool_subsets
        Refit on halves of the pool.
    spread
        Does these refits, see `pool_dependence`.
    progress
        Called with the fraction of the present step and a short message.
    accept_unconverged
        Go on with a fit that failed its gate; otherwise everything downstream of it is withheld.
    notes
        Sentences on the log that go in front of the diagnosis' own.

    Raises
    ------
    InputError
        The log cannot be fitted, e.g. its models share no items.
    """
    fit = fit_1pl(log, engine=engine, guessing=guessing, seed=seed, progress=progress)
    return diagnosis_of(
        fit,
        log,
        scale=scale,
        target=target,
        top=top,
        fast=fast,
        pool_subsets=pool_subsets,
        spread=spread,
        progress=progress,
        accept_unconverged=accept_unconverged,
        notes=notes,
    )


def diagnosis_of(
    fit: Fit,
    log: ResponseLog,
    *,
    scale: ScaleName = "minmax",
    target: Target | None = None,
    top: int = TOP,
    fast: bool = False,
    pool_subsets: bool = False,
    spread: Spread | None = None,
    progress: Progress | None = None,
    accept_unconverged: bool = False,
    notes: Sequence[str] = (),
) -> Diagnosis:
    """Describe a benchmark by a fit and the log it was fitted to; see `diagnose`."""
    own = [*notes, *fit.notes]
    report = progress or (lambda fraction, message: None)
    measure = Uniform() if target is None else target
    usable = fit.gate.passed or accept_unconverged
    report(0.0, "checks of the data")
    prefit, data = prefit_checks(log), check_data(log)
    axis = _axis(fit, scale, own, usable=usable)
    gaps = () if axis is None else tuple(find_gaps(axis.to_z(fit.b)))
    figures = resolutions = chances = information = choice = pool = shuffle = ranks = None

    def attempt(what: str, make: Callable[[], Found]) -> Found | None:
        """One part of the report; where the log does not allow it, a note says so and the rest goes on."""
        report(0.0, what)
        try:
            return make()
        except BenchfillError as error:
            own.append(f"Left out, {what}: {error.message}")
            return None

    fitted_items = attempt("item fit", lambda: item_fit(fit, log, seed=fit.seed)) if usable else None
    if axis is not None:
        where = axis
        figures = benchmark_figures(fit, log, where, target=measure, seed=fit.seed)
        report(0.0, "resolution of gaps")
        resolutions = resolve_gaps(fit, log, where, gaps[:top])
        information = information_curve(fit, where)
        if not fast:
            chances = attempt(
                "gaps by chance",
                lambda: gap_chances(fit, log, where, top=top, seed=fit.seed, progress=progress),
            )
            shuffle = attempt(
                "shuffle control",
                lambda: shuffle_control(log, guessing=fit.guessing, seed=fit.seed, progress=progress),
            )
            choice = attempt(
                "comparison of item models",
                lambda: choose_model(
                    log,
                    guessing=fit.guessing,
                    folds=FOLDS if log.attempts.size <= MANY_CELLS else FEW_FOLDS,
                    seed=fit.seed,
                    progress=progress,
                ),
            )
            ranks = attempt("order of models under the target", lambda: _ranks(fit, log, where, measure))
        if pool_subsets:
            pool = attempt(
                "dependence on the pool",
                lambda: pool_dependence(
                    fit,
                    log,
                    where,
                    gaps[:top],
                    target=measure,
                    seed=fit.seed,
                    spread=spread,
                    progress=progress,
                ),
            )
    if usable and fit.engine == "mml":
        own.append(
            "mml is a preview: it has no intervals, p_empty takes abilities as known and so claims too much, "
            "and no gap is called resolved. Use nuts or laplace."
        )
    return Diagnosis(
        log=log,
        fit=fit,
        usable=usable,
        target=measure,
        scale=axis,
        gaps=gaps,
        prefit=prefit,
        data=data,
        figures=figures,
        resolutions=resolutions or (),
        chances=chances,
        information=information,
        item_fit=fitted_items,
        shuffle=shuffle,
        model_choice=choice,
        ranks=ranks,
        pool=pool,
        notes=tuple(own),
    )


def _ranks(fit: Fit, log: ResponseLog, axis: Scale, target: Target) -> RankStability:
    slopes = fit_item_model(log, "model_slopes", guessing=fit.guessing)
    return rank_stability(log, fit, axis, slopes, target=target, seed=fit.seed)


def _axis(fit: Fit, name: ScaleName, notes: list[str], *, usable: bool) -> Scale | None:
    """The axis, or None and a note why there is none."""
    if not usable:
        notes.append("The fit failed its gate: difficulties, gaps and figures are withheld.")
        return None
    if not fit.gate.passed:
        notes.append("The fit failed its gate and is shown because that was accepted.")
    if fit.censored.all():
        notes.append(
            "No item tells the models apart: every item is always right or never, so that places on the axis "
            "would come from the prior alone, and no gap is claimed."
        )
        return None
    if not fit.b.min() < fit.b.max():
        notes.append("All items are equally difficult in this log: there is no axis to lay them on.")
        return None
    if name == "minmax":
        notes.extend(_anchor_note(fit))
    return make_scale(name, fit)


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
