"""Fitting the 1PL model to a response log: one function, four engines."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.difficulty import Sample, point_difficulties, some, summarise_difficulties
from benchfill.calibration.gate import Gate, judge_fit
from benchfill.calibration.grouping import ItemGroups, group_items, refuse_disconnected
from benchfill.calibration.laplace import sample_laplace
from benchfill.calibration.mml import find_mode
from benchfill.calibration.nuts import sample_nuts
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import InputError

__all__ = ["Engine", "Fit", "Gate", "Progress", "censored", "fit_1pl"]

Array = NDArray[np.float64]
Engine = Literal["nuts", "laplace", "mml", "full"]
Progress = Callable[[float, str], None]

_MOST_DRAWS = 2000  # kept for later use; the gate judges all of them
_SAMPLERS: Mapping[str, str] = {
    "nuts": "pymc.NUTS on the collapsed posterior",
    "full": "pymc.sample(nuts_sampler='pymc')",
    "laplace": "normal approximation with Pareto-smoothed importance weights",
    "mml": "Newton's method",
}


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted 1PL: ``P(correct) = g_i + (1 - g_i) sigmoid(theta_j - b_i)``, in logits; larger b is harder.

    Parameters
    ----------
    engine
        Which engine made it.
    models, items
        Ids in the order of the arrays.
    theta, theta_sd
        Shape (models,). Posterior means, zero-sum, and standard deviations of the abilities.
    theta_draws
        Shape (draws, models). ``mml`` has one draw: its estimate.
    mu_b_draws, sigma_b_draws
        Shape (draws,). Mean and standard deviation of the difficulties' distribution.
    b, b_sd, b_lo90, b_hi90
        Shape (items,). Posterior mean (mean over draws of the conditional mean on a grid, so that items with
        equal keys have equal difficulties to the last bit), standard deviation, 5 % and 95 % quantile; the last
        three, like ``theta_sd``, are NaN under ``mml``.
    censored
        Shape (items,). True where every model asked was always right, or never: the prior decides the place.
    guessing
        Shape (items,). Chance of a blind guess.
    gate
        The checks of the fit; see `Gate`.
    seed, versions
        What it takes to get the same numbers again.
    notes
        Facts about the log that a reader of the fit must know, one plain sentence each.
    """

    engine: str
    models: tuple[str, ...]
    items: tuple[str, ...]
    theta: NDArray[np.float64]
    theta_sd: NDArray[np.float64]
    theta_draws: NDArray[np.float64]
    mu_b_draws: NDArray[np.float64]
    sigma_b_draws: NDArray[np.float64]
    b: NDArray[np.float64]
    b_sd: NDArray[np.float64]
    b_lo90: NDArray[np.float64]
    b_hi90: NDArray[np.float64]
    censored: NDArray[np.bool_]
    guessing: NDArray[np.float64]
    gate: Gate
    seed: int
    versions: Mapping[str, str]
    notes: tuple[str, ...] = ()


def fit_1pl(
    log: ResponseLog,
    *,
    engine: Engine = "nuts",
    guessing: Array | None = None,
    seed: int = 0,
    draws: int = 1000,
    progress: Progress | None = None,
) -> Fit:
    """Fit the 1PL model to a response log.

    Parameters
    ----------
    log
        Counts; a cell without attempts is missing, not wrong.
    engine
        ``nuts``: PyMC's NUTS on the collapsed posterior. ``laplace``: its normal approximation,
        importance-weighted. ``mml``: its mode, a preview without intervals. ``full``: plain PyMC with every
        difficulty sampled, slow, the reference.
    guessing
        Shape (items,), in [0, 1): chance of a blind guess; None where there is none.
    seed
        Same log and same seed, same numbers.
    draws
        ``laplace`` only: posterior draws to keep, from four times as many proposals. The others draw until their
        gate is met.
    progress
        Called with the fraction done and a short message. What it raises ends the fit.

    Returns
    -------
    Fit
        Also when the gate is not passed: what to do then is the caller's, see ``Fit.gate``.

    Raises
    ------
    InputError
        Models and items fall into groups without a common answer (kind ``disconnected``), guessing is not a
        chance for each item (kind ``bad_guessing``), or there is no such engine.
    BenchfillError
        The engine could not run.
    """
    if engine not in get_args(Engine):
        raise InputError(f"There is no engine {engine!r}.", f"Choose from {', '.join(get_args(Engine))}.")
    chance = _chances(log, guessing)
    refuse_disconnected(log)
    report = progress or _silence
    if engine == "full":
        from benchfill.calibration.full import sample_full

        theta, mu_b, sigma_b, found, gate = sample_full(log, chance, seed=seed, progress=report)
    else:
        groups = group_items(log, chance)
        sample = _sample(engine, groups, seed, draws, report)
        kept = some(sample.draws, _MOST_DRAWS)
        report(0.95, "summarising difficulties")
        theta, mu_b, sigma_b = kept[:, :-2] @ sample.density.basis.T, kept[:, -2], np.exp(kept[:, -1])
        summarise = point_difficulties if engine == "mml" else summarise_difficulties
        found, gate = summarise(sample.density, kept).of(groups.of_item), sample.gate
    notes, varied = _notes(log)
    if not varied:
        reason = "No variation: all answers are alike, so every difficulty comes from the prior alone."
        gate = replace(gate, passed=False, reasons=(*gate.reasons, reason))
    theta -= theta.mean(axis=1, keepdims=True)
    report(1.0, "fitted")
    return Fit(
        engine=engine,
        models=log.models,
        items=log.items,
        theta=theta.mean(axis=0),
        theta_sd=theta.std(axis=0) if len(theta) > 1 else np.full(len(log.models), np.nan),
        theta_draws=theta,
        mu_b_draws=mu_b,
        sigma_b_draws=sigma_b,
        b=found.mean,
        b_sd=found.sd,
        b_lo90=found.lo90,
        b_hi90=found.hi90,
        censored=censored(log.correct, log.attempts),
        guessing=chance,
        gate=gate,
        seed=seed,
        versions=_versions(engine),
        notes=notes,
    )


def _sample(engine: Engine, groups: ItemGroups, seed: int, draws: int, report: Progress) -> Sample:
    report(0.0, "finding the mode")
    mode = find_mode(groups)
    if engine == "nuts":
        return sample_nuts(groups, mode, seed=seed, progress=report)
    if engine == "laplace":
        return sample_laplace(groups, mode, seed=seed, draws=draws)
    return Sample(mode.phi[None], judge_fit(), mode.density)


def censored(correct: NDArray[np.int64], attempts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Items that every model asked always or never solved: shape (items,)."""
    total = correct.sum(axis=0)
    return np.asarray((total == 0) | (total == attempts.sum(axis=0)))


def _chances(log: ResponseLog, guessing: Array | None) -> Array:
    if guessing is None:
        return np.zeros(len(log.items))
    chance = np.array(guessing, dtype=np.float64)
    if chance.shape != (len(log.items),) or not ((chance >= 0.0) & (chance < 1.0)).all():
        raise InputError(
            "The guessing chance is a number of at least 0 and below 1 for each item of the response log.",
            kind="bad_guessing",
        )
    return chance


def _notes(log: ResponseLog) -> tuple[tuple[str, ...], bool]:
    """Facts a reader must know, and whether the answers vary at all."""
    right, asked = log.correct.sum(), log.attempts.sum()
    if right in (0, asked):
        always = "right" if right else "wrong"
        return (f"no_variation: every attempt of every model is {always}.",), False
    notes = []
    models_right, models_asked = log.correct.sum(axis=1), log.attempts.sum(axis=1)
    for always, which in (("right", models_right == models_asked), ("wrong", models_right == 0)):
        named = [name for name, each in zip(log.models, which, strict=True) if each]
        if named:
            notes.append(f"Always {always}, so the prior alone bounds the ability: {', '.join(named)}.")
    count = int(censored(log.correct, log.attempts).sum())
    if count:
        notes.append(f"{count} of {len(log.items)} items are always or never solved: the prior places them.")
    return tuple(notes), True


def _versions(engine: Engine) -> dict[str, str]:
    """What made the numbers: the sampler by name, and the versions it depends on."""
    packages = ["benchfill", "numpy", "scipy"] + (["pymc", "pytensor"] if engine in ("nuts", "full") else [])
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    found["sampler"] = _SAMPLERS[engine]
    return found


def _silence(fraction: float, message: str) -> None:
    """Progress that nobody asked for."""
