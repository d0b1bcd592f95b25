"""What the figures of a diagnosis do not say, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["limits_of"]

_FEW_MODELS = 20


def limits_of(document: Mapping[str, Any]) -> list[str]:
    """The limits of this diagnosis, one paragraph each.

    Parameters
    ----------
    document
        The rest of the document of `benchfill.calibration.report_document`.
    """
    return [
        _pool(document),
        _dimension(document),
        _censored(document),
        *_shape(document),
        *_gaps(document),
        "Attempts count as independent. Repeats decoded greedily or with one seed are one attempt, and intervals that "
        "count them as several are too narrow.",
        "A place on the axis is how often models fail, whatever the reason: wrong keys, leaked items and unclear "
        "questions look like difficulty, or like the lack of it.",
    ]


def _pool(document: Mapping[str, Any]) -> str:
    models, found = document["n_models"], document["pool_dependence"]
    text = f"Pool: difficulties and gaps are those of these {models} models; another pool moves them."
    if found is None:
        few = " So few models make that a large part." if models < _FEW_MODELS else ""
        return f"{text} The intervals do not include it (--pool-subsets measures it).{few}"
    text += f" Halves of the pool, refitted, move an item by {found['median_z_sd']:.3f} of z (standard error, median)"
    if found["wider"] is None:
        return f"{text}."
    wider = "wider than" if found["wider"] == "pool" else "less than"
    return f"{text}, which is {wider} what the number of attempts leaves open ({found['median_posterior_sd']:.3f})."


def _dimension(document: Mapping[str, Any]) -> str:
    text = (
        "One dimension: one difficulty an item and one ability a model are all there is here. Where models differ in "
        "what they are good at, one axis averages over it."
    )
    choice = document["model_choice"]
    return text if choice is None else f"{text} {choice['sentence']}"


def _censored(document: Mapping[str, Any]) -> str:
    count, items = document["n_censored"], document["n_items"]
    if not count:
        return "Censored items: none; every item was solved by some attempt and missed by another."
    return (
        f"Censored items: {count} of {items} were always or never solved. Their places come from the assumed shape of "
        "difficulties, not from answers; see the figures without them."
    )


def _shape(document: Mapping[str, Any]) -> list[str]:
    if not document["shape_dependent"]:
        return []
    return [
        "Shape: each item carries little information, so the intervals of DDM, Max Gap and the gap sum depend on the "
        "assumed shape of difficulties (normal). They hold where that is true."
    ]


def _gaps(document: Mapping[str, Any]) -> list[str]:
    examined = [gap for gap in document["gaps"] if gap["p_empty"] is not None]
    if not examined:
        return []
    text = (
        "Gaps: a gap between estimates is a gap between true difficulties only where it is resolved. p_chance is "
        "another matter: how often a benchmark of this size without any gap would show one as wide."
    )
    if not any(gap["resolved"] for gap in examined):
        text += " None of the gaps examined here is resolved."
    return [text]
