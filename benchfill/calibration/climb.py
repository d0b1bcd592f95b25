"""Newton's method for marginal posteriors whose integrals are laid anew at every step."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.latent import Integral
from benchfill.errors import BenchfillError

__all__ = ["Top", "climb"]

Array = NDArray[np.float64]
Nodes = Any

_STEPS = 60
_LONGEST_STEP = 2.0
_DECREMENT = 1e-4  # Newton's estimate of twice the distance to the top, nats
_GAIN = 0.1  # of it, that a step must bring to count as one
_HALVINGS = 6
_DAMPINGS = (0.03, 0.3, 3.0)  # of the largest curvature


@dataclass(frozen=True, eq=False)
class Top:
    """Where the climb ended: parameters, posterior mean places, inverse of the negative Hessian, nodes."""

    phi: Array
    places: Array
    covariance: Array
    nodes: Nodes


def climb(
    name: str,
    look: Callable[[Array, Array], tuple[float, Nodes, Array]],
    integrate: Callable[[Array, Nodes], Integral],
    phi: Array,
    places: Array,
    centre: Array,
    rarity: Array,
    *,
    noise: float,
    decrement: float = _DECREMENT,
    longest: float = _LONGEST_STEP,
    most_steps: int | None = None,
) -> Top:
    """Climb to the mode under a normal prior of that centre and precision.

    Parameters
    ----------
    name
        Of the model, for an error.
    look
        Maps parameters and places near the integrands' modes to the log marginal likelihood, the nodes it was
        integrated on, and the posterior mean places.
    integrate
        The same with gradient and Hessian, on given nodes.
    noise
        Nats by which the value may fail to rise without harm, since nodes move with the parameters; infinite where
        whatever was reached will do.
    decrement
        Newton's estimate of twice the distance to the top at which to stop, nats.
    longest
        Step of one parameter at most.
    most_steps
        After which to be content with what was reached.

    Raises
    ------
    BenchfillError
        No convergence, or figures beyond what a computer holds.
    """

    def posterior(at: Array, near: Array) -> tuple[float, Nodes, Array]:
        value, nodes, means = look(at, near)
        off = at - centre
        return value - 0.5 * float(off @ rarity @ off), nodes, means

    with _named(name):
        value, nodes, places = posterior(phi, places)
        for step_at in range(_STEPS):
            integral = integrate(phi, nodes)
            gradient = integral.gradient - rarity @ (phi - centre)
            bend, turn = np.linalg.eigh(rarity - integral.hessian)
            bend = np.maximum(np.abs(bend), 1e-6)
            along = turn.T @ gradient
            # Of each direction by itself: where there is next to no curvature a step would have no end.
            reach = longest / np.abs(turn).max(axis=0)
            step = turn @ np.clip(along / bend, -reach, reach)
            promise = float(gradient @ step)
            top = Top(phi, places, (turn / bend) @ turn.T, nodes)
            if promise < decrement or step_at == most_steps:
                return top
            tries = [step * 0.5**halving for halving in range(_HALVINGS)]
            # Where curvature misleads, ever more of the gradient's own direction.
            tries += [turn @ (along / (bend + share * bend.max())) for share in _DAMPINGS]
            for attempt in tries:
                found = posterior(phi + attempt, places)
                if found[0] > value + _GAIN * decrement:
                    step = attempt
                    break
            else:
                if promise < noise:
                    return top
                break
            phi, (value, nodes, places) = phi + step, found
    raise BenchfillError(
        f"The fit of the item model {name} did not converge.",
        "Its answers may hold too little for so many parameters; simpler models stand apart from it.",
    )


@contextlib.contextmanager
def _named(model: str) -> Iterator[None]:
    """What linear algebra cannot go on with is an error of that model."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise BenchfillError(f"The fit of the item model {model} broke down: {error}.") from None
