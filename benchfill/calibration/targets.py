"""Target distributions of difficulty, and the exact distance of a benchmark to them.

With items ``z_(1) <= ... <= z_(n)`` and the target's quantile function Q,

    W1 = integral over (0, 1) of |F_n^-1(t) - Q(t)| dt,

which equals the integral of ``|F_n - F|`` over the real line. On the slice of t that belongs to one item its sign
changes once, at ``t = F(z)``, so the slice needs only ``F`` and ``integral_0^t Q``: a closed form for every target
here, nothing is sampled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv

from benchfill.errors import InputError

__all__ = ["Beta", "Histogram", "Sample", "Target", "Uniform", "distance", "parse_target"]

Array = NDArray[np.float64]


class Target(ABC):
    """A distribution on the axis z."""

    @property
    @abstractmethod
    def name(self) -> str:
        """As `parse_target` reads it."""

    @abstractmethod
    def cdf(self, z: Array) -> Array:
        """P(place <= z), any shape."""

    @abstractmethod
    def quantile(self, level: Array) -> Array:
        """Smallest z with ``cdf(z) >= level``, for levels in [0, 1], any shape."""

    @abstractmethod
    def partial_mean(self, level: Array) -> Array:
        """The integral of the quantile function from 0 to a level, any shape."""

    def integral_abs(self, z: Array, t0: Array, t1: Array) -> Array:
        """The integral of ``|z - Q(t)|`` over t from t0 to t1: shapes that broadcast, ``0 <= t0 <= t1 <= 1``."""
        z, t0, t1 = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in (z, t0, t1)))
        turn = np.clip(self.cdf(z), t0, t1)
        at_turn = self.partial_mean(turn)
        below = z * (turn - t0) - (at_turn - self.partial_mean(t0))
        above = (self.partial_mean(t1) - at_turn) - z * (t1 - turn)
        return np.asarray(np.maximum(below, 0.0) + np.maximum(above, 0.0))


@dataclass(frozen=True, slots=True)
class Uniform(Target):
    """The uniform distribution on [0, 1]."""

    @property
    def name(self) -> str:
        return "uniform"

    def cdf(self, z: Array) -> Array:
        return np.clip(z, 0.0, 1.0)

    def quantile(self, level: Array) -> Array:
        return np.asarray(level, dtype=np.float64)

    def partial_mean(self, level: Array) -> Array:
        return np.asarray(0.5 * level * level)


@dataclass(frozen=True, slots=True)
class Beta(Target):
    """The beta distribution on [0, 1].

    Parameters
    ----------
    a, b
        Its two shapes, positive.

    Raises
    ------
    InputError
        Kind ``bad_target``: a shape is not positive and finite.
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        if not all(np.isfinite(each) and each > 0.0 for each in (self.a, self.b)):
            raise InputError("The shapes of a beta target are positive numbers.", kind="bad_target")

    @property
    def name(self) -> str:
        return f"beta:{self.a:g},{self.b:g}"

    def cdf(self, z: Array) -> Array:
        return np.asarray(betainc(self.a, self.b, np.clip(z, 0.0, 1.0)))

    def quantile(self, level: Array) -> Array:
        return np.asarray(betaincinv(self.a, self.b, level))

    def partial_mean(self, level: Array) -> Array:
        # x times the density of Beta(a, b) is the density of Beta(a + 1, b) times the mean.
        return np.asarray(self.a / (self.a + self.b) * betainc(self.a + 1.0, self.b, self.quantile(level)))


@dataclass(frozen=True)
class Histogram(Target):
    """Piecewise uniform: masses over adjacent bins.

    Parameters
    ----------
    masses
        One a bin, not negative; they are divided by their sum.
    edges
        One more than masses, ascending; None divides [0, 1] into equal bins.

    Raises
    ------
    InputError
        Kind ``bad_target``.
    """

    masses: tuple[float, ...]
    edges: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        masses = np.array(self.masses, dtype=np.float64)
        if not masses.size or not np.isfinite(masses).all() or (masses < 0.0).any() or not masses.sum() > 0.0:
            raise InputError("A histogram target has masses of at least 0, not all 0.", kind="bad_target")
        edges = self._edges()
        if edges.size != masses.size + 1 or not np.isfinite(edges).all() or (np.diff(edges) <= 0.0).any():
            raise InputError(
                "A histogram target has one more edge than masses, ascending.", kind="bad_target"
            )

    def _edges(self) -> Array:
        if self.edges is None:
            return np.linspace(0.0, 1.0, len(self.masses) + 1)
        return np.array(self.edges, dtype=np.float64)

    def _levels(self) -> Array:
        """The distribution function at the edges."""
        total = np.cumsum(np.array(self.masses, dtype=np.float64))
        return np.concatenate([[0.0], total / total[-1]])

    @property
    def name(self) -> str:
        masses = ",".join(f"{each:g}" for each in self.masses)
        return f"histogram:{masses}" + (
            "" if self.edges is None else "@" + ",".join(f"{e:g}" for e in self.edges)
        )

    def cdf(self, z: Array) -> Array:
        return np.asarray(np.interp(z, self._edges(), self._levels()))

    def quantile(self, level: Array) -> Array:
        levels, edges = self._levels(), self._edges()
        place = np.searchsorted(levels[1:-1], level, side="left")
        share = (level - levels[place]) / np.maximum(levels[place + 1] - levels[place], 1e-300)
        return np.asarray(edges[place] + np.clip(share, 0.0, 1.0) * (edges[place + 1] - edges[place]))

    def partial_mean(self, level: Array) -> Array:
        levels, edges = self._levels(), self._edges()
        whole = np.concatenate([[0.0], np.cumsum(np.diff(levels) * 0.5 * (edges[1:] + edges[:-1]))])
        place = np.searchsorted(levels[1:-1], level, side="left")
        return np.asarray(
            whole[place] + (level - levels[place]) * 0.5 * (edges[place] + self.quantile(level))
        )


@dataclass(frozen=True, eq=False)
class Sample(Target):
    """The empirical distribution of a sample, such as the items of another benchmark on their own axis.

    Parameters
    ----------
    z
        Shape (m,). In any order.
    label
        What it is a sample of.

    Raises
    ------
    InputError
        Kind ``bad_target``: empty, or not finite.
    """

    z: Array
    label: str = ""

    def __post_init__(self) -> None:
        places = np.sort(np.asarray(self.z, dtype=np.float64).ravel())
        if not places.size or not np.isfinite(places).all():
            raise InputError("A sample target holds at least one place, all finite.", kind="bad_target")
        object.__setattr__(self, "z", places)

    @property
    def name(self) -> str:
        return f"sample:{self.label or self.z.size}"

    def cdf(self, z: Array) -> Array:
        return np.searchsorted(self.z, z, side="right") / self.z.size

    def quantile(self, level: Array) -> Array:
        # A level that is a multiple of 1/m up to rounding belongs to the lower place.
        place = np.ceil(np.asarray(level) * self.z.size - 1e-9).astype(np.int64) - 1
        return np.asarray(self.z[np.clip(place, 0, self.z.size - 1)])

    def partial_mean(self, level: Array) -> Array:
        levels = np.arange(self.z.size + 1) / self.z.size
        return np.asarray(np.interp(level, levels, np.concatenate([[0.0], np.cumsum(self.z)]) / self.z.size))


def distance(z: ArrayLike, target: Target) -> float:
    """DDM against any target: the exact 1-Wasserstein distance of the items' places to it.

    Parameters
    ----------
    z
        Shape (n,). In any order; places outside [0, 1] are kept.

    Raises
    ------
    InputError
        Kind ``no_data`` or ``not_finite``.
    """
    places = np.sort(np.asarray(z, dtype=np.float64).ravel())
    if not places.size:
        raise InputError("The benchmark holds no values.", kind="no_data")
    if not np.isfinite(places).all():
        raise InputError("The benchmark holds values that are not finite numbers.", kind="not_finite")
    levels = np.arange(places.size + 1) / places.size
    return float(target.integral_abs(places, levels[:-1], levels[1:]).sum())


def parse_target(text: str, read_sample: Callable[[str], ArrayLike] | None = None) -> Target:
    """Read a target as a command line writes it.

    Parameters
    ----------
    text
        ``uniform``; ``beta:2,3``; ``histogram:1,2,4,2`` (masses over equal bins of [0, 1]) or
        ``histogram:1,3@0,0.25,1`` (with edges); ``sample:NAME``.
    read_sample
        Gives the places of the sample of that name; None where the caller knows no samples.

    Raises
    ------
    InputError
        Kind ``bad_target``.
    """
    kind, _, rest = text.strip().partition(":")
    kind = kind.strip().lower()
    if kind == "uniform" and not rest:
        return Uniform()
    if kind == "beta":
        shapes = _numbers(rest, text)
        if len(shapes) == 2:
            return Beta(*shapes)
    if kind == "histogram":
        masses, at, edges = rest.partition("@")
        return Histogram(_numbers(masses, text), _numbers(edges, text) if at else None)
    if kind == "sample" and rest and read_sample is not None:
        return Sample(np.asarray(read_sample(rest), dtype=np.float64), rest)
    raise _unreadable(text)


def _numbers(text: str, whole: str) -> tuple[float, ...]:
    try:
        return tuple(float(each) for each in text.split(","))
    except ValueError:
        raise _unreadable(whole) from None


def _unreadable(text: str) -> InputError:
    return InputError(
        f"{text!r} is not a target distribution.",
        "Write uniform, beta:2,3, histogram:1,2,4,2 or sample:NAME.",
        kind="bad_target",
    )
