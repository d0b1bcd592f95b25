"""How real the figures are: resolved gaps, and intervals by halves of the pool beside those of the posterior."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

from benchfill.display.text import interval, number, plain_text

__all__ = ["POOL_HEADERS", "pool_rows", "residual_lines", "resolved_of"]

POOL_HEADERS = ("", "estimate", "posterior", "halves", "own axis", "wider")
_FIGURES = (("ddm", "DDM"), ("max_gap", "Max Gap"), ("top5_sum", "Top-5"))
LEVEL = 0.01  # of `benchfill.calibration.item_fit`
_NORMAL_95 = 1.6448536269514722


def pool_rows(document: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Cells under `POOL_HEADERS`, all in z: the median item, the figures, and the widths of the widest gaps.

    Parameters
    ----------
    document
        As `benchfill.calibration.report_document` makes it, with ``pool_dependence``.
    """
    pool = document["pool_dependence"]
    yield (
        "item z",
        "",
        _half_width(pool["median_posterior_sd"]),
        _half_width(pool["median_z_sd"]),
        "",
        pool["wider"] or "",
    )
    for key, title in _FIGURES:
        own = f"own_{key}"
        # What is published next is published on an axis of its own: that is the interval to compare.
        yield (
            title,
            number(document[key]),
            interval(document[f"{key}_lo90"], document[f"{key}_hi90"]),
            interval(pool[f"{key}_lo90"], pool[f"{key}_hi90"]),
            interval(pool[f"{own}_lo90"], pool[f"{own}_hi90"]),
            pool[f"{own}_wider"] or "",
        )
    for place, gap in enumerate(pool["gaps"], 1):
        yield (
            f"gap {place}",
            number(gap["width"]),
            interval(gap["width_posterior_lo90"], gap["width_posterior_hi90"]),
            interval(gap["width_lo90"], gap["width_hi90"]),
            f"{100 * gap['stays_empty']:.0f} % empty",
            gap["width_wider"] or "",
        )


def resolved_of(resolution: Mapping[str, Any] | None) -> str:
    """How many of the examined gaps are resolved; a dash where that is not known."""
    if resolution is None or resolution["resolved"] is None:
        return "-"
    return f"{resolution['resolved']} of {resolution['examined']}"


def residual_lines(document: Mapping[str, Any], *, shown: int = 5) -> Iterator[str]:
    """Residual misfit in logits: the median item and model, and those that stray the most.

    Of the items only those that stray further than chance explains: a rarely solved item's figure is mostly noise.
    """
    for key in ("items", "models"):
        found = [each for each in document[key] if each.get("residual") is not None]
        if not found:
            continue
        line = (
            f"Residual misfit of {key}: median {number(median(each['residual'] for each in found), 2)} logits"
        )
        beyond = [
            each
            for each in found
            if each["residual"] > 0.0 and (key == "models" or (each["p_adjusted"] or 0.0) < LEVEL)
        ]
        if beyond:
            beyond.sort(key=lambda each: (-each["residual"], each["id"]))
            named = [f"{plain_text(each['id'])} {number(each['residual'], 2)}" for each in beyond[:shown]]
            line += f"; largest {', '.join(named)}"
        yield f"{line}."


def _half_width(sd: float | None) -> str:
    return "" if sd is None else f"+- {_NORMAL_95 * sd:.3f}"
