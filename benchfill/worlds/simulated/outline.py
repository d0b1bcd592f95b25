"""The structure of an item with continuous operand sizes, which is what can be changed to move its difficulty."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchfill.worlds.draws import Draws
from benchfill.worlds.simulated.chain import KINDS, Chain, Kind, Step

__all__ = ["Outline", "Part", "build", "draw_outline", "outline_of", "vary"]

# Least and greatest decimal size of the operands of a step.
_RANGES: dict[Kind, tuple[float, float]] = {
    "add": (0.4, 4.2),
    "sub": (0.4, 4.2),
    "mul": (0.35, 2.3),
    "div": (0.35, 1.7),
    "addprod": (0.35, 2.7),
    "subprod": (0.35, 2.7),
}
_START = (0.7, 4.0)
_MOST_PARTS = 8
_VALUE_LIMIT = 10**9


@dataclass(frozen=True, slots=True)
class Part:
    """A step with the decimal logarithms of its operands."""

    kind: Kind
    a: float
    b: float


@dataclass(frozen=True, slots=True)
class Outline:
    """A chain before its operands are rounded to whole numbers."""

    start: float
    parts: tuple[Part, ...]


def outline_of(chain: Chain) -> Outline:
    """The outline a chain came from, up to rounding."""
    parts = tuple(Part(step.kind, math.log10(step.a), math.log10(step.b)) for step in chain.steps)
    return Outline(math.log10(chain.start), parts)


def _whole(size: float) -> int:
    return max(2, round(math.pow(10.0, size)))


def _divisor(value: int, size: float) -> int | None:
    """The divisor of ``value`` in 2..60 whose size is nearest to the one wanted and that leaves at least 2."""
    options = [d for d in range(2, min(60, value // 2) + 1) if value % d == 0]
    return min(options, key=lambda d: (abs(math.log10(d) - size), d)) if options else None


def _step(part: Part, value: int) -> Step:
    """The step nearest to a part that leaves a whole, positive value of reasonable size."""
    a, b = _whole(part.a), _whole(part.b)
    if part.kind == "div" and (divisor := _divisor(value, part.a)) is not None:
        return Step("div", divisor)
    # What is taken away leaves a fifth at least, so that a story stays plausible.
    spare = value * 4 // 5
    if part.kind == "sub" and spare >= 2:
        return Step("sub", min(a, spare))
    if part.kind == "subprod" and spare // a >= 2:
        return Step("subprod", a, min(b, spare // a))
    if part.kind == "mul" and value * a <= _VALUE_LIMIT:
        return Step("mul", a)
    if part.kind == "addprod":
        return Step("addprod", a, b)
    return Step("add", a)


def build(outline: Outline) -> Chain:
    """Round an outline to a chain whose divisions are exact and whose values stay positive."""
    start = value = _whole(outline.start)
    steps = []
    for part in outline.parts:
        step = _step(part, value)
        steps.append(step)
        if step.kind == "div":
            value //= step.a
        elif step.kind == "mul":
            value *= step.a
        else:
            value += (1 if step.kind.startswith("add") else -1) * step.a * step.b
    return Chain(start, tuple(steps))


def _draw_part(draws: Draws) -> Part:
    kind = draws.pick(KINDS)
    low, high = _RANGES[kind]
    return Part(kind, low + (high - low) * draws.uniform(), low + (high - low) * draws.uniform())


def draw_outline(draws: Draws) -> Outline:
    """An outline out of nothing: one to eight parts, sizes uniform in their ranges."""
    low, high = _START
    parts = tuple(_draw_part(draws) for _ in range(1 + draws.below(_MOST_PARTS)))
    return Outline(low + (high - low) * draws.uniform(), parts)


def _clipped(size: float, bounds: tuple[float, float]) -> float:
    return min(max(size, bounds[0]), bounds[1])


def vary(outline: Outline, draws: Draws, *, edits: int, jitter: float) -> Outline:
    """A changed outline: ``edits`` steps added, removed or replaced, and all sizes moved by ``jitter`` (sd)."""
    parts = list(outline.parts)
    for _ in range(edits):
        place = draws.below(len(parts))
        change = draws.below(3)
        if change == 0 and len(parts) < _MOST_PARTS:
            parts.insert(place, _draw_part(draws))
        elif change == 1 and len(parts) > 1:
            del parts[place]
        else:
            parts[place] = _draw_part(draws)
    moved = tuple(
        Part(
            part.kind,
            _clipped(part.a + jitter * draws.normal(), _RANGES[part.kind]),
            _clipped(part.b + jitter * draws.normal(), _RANGES[part.kind]),
        )
        for part in parts
    )
    return Outline(_clipped(outline.start + jitter * draws.normal(), _START), moved)
