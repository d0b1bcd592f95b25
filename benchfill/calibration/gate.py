"""The gate of a fit: nothing downstream uses a fit that did not pass."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ESS_WANTED", "PARETO_LIMIT", "RHAT_LIMIT", "RHAT_WANTED", "Gate", "judge_fit"]

RHAT_LIMIT = 1.02
RHAT_WANTED = 1.01
ESS_LIMIT = 400.0
ESS_WANTED = 1000.0
PARETO_LIMIT = 0.5


@dataclass(frozen=True)
class Gate:
    """What was checked of a fit and what came out; a figure that the engine does not have is None.

    Parameters
    ----------
    rhat_max
        Largest rank-normalised split R-hat over abilities and hyperparameters.
    ess_min
        Smallest bulk effective sample size over the same.
    divergences
        Divergent transitions after warm-up.
    pareto_k
        Shape of the importance weights' tail (``laplace``).
    passed, reasons
        Whether the fit may be used, and why not: one plain sentence each.
    """

    rhat_max: float | None
    ess_min: float | None
    divergences: int | None
    pareto_k: float | None
    passed: bool
    reasons: tuple[str, ...]


def judge_fit(
    *,
    rhat_max: float | None = None,
    ess_min: float | None = None,
    divergences: int | None = None,
    pareto_k: float | None = None,
    reasons: tuple[str, ...] = (),
) -> Gate:
    """Hold the figures of a fit against the limits of the gate.

    Parameters
    ----------
    rhat_max, ess_min, divergences, pareto_k
        As in `Gate`; None where the engine has no such figure. A figure that is not a number fails.
    reasons
        Faults found elsewhere, e.g. by the check of the quadrature.
    """
    found = list(reasons)
    if rhat_max is not None and not rhat_max <= RHAT_LIMIT:
        found.append(f"R-hat is {rhat_max:.4f}, the limit is {RHAT_LIMIT}: the chains do not agree.")
    if ess_min is not None and not ess_min >= ESS_LIMIT:
        found.append(f"The effective sample size is {ess_min:.0f}, at least {ESS_LIMIT:.0f} are needed.")
    if divergences:
        found.append(f"{divergences} transitions diverged.")
    if pareto_k is not None and not pareto_k <= PARETO_LIMIT:
        found.append(f"Pareto k is {pareto_k:.2f}, the limit is {PARETO_LIMIT}: use the engine nuts.")
    return Gate(rhat_max, ess_min, divergences, pareto_k, not found, tuple(found))
