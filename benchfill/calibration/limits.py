"""What the figures of a diagnosis do not say, in plain words; and whether its gaps are real."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["limits_of", "resolution_of"]

_FEW_MODELS = 20
_ITEMS_A_TOTAL = 4


def resolution_of(document: Mapping[str, Any], most_totals: int | None) -> dict[str, Any] | None:
    """How many of the examined gaps are resolved, and that in words; None where no gap was examined.

    Parameters
    ----------
    document
        With ``gaps``, ``n_items``, ``n_models`` and ``n_attempts``.
    most_totals
        Into how many totals the design can sort its items, at most: ``1 + sum of attempts`` where every item was asked
        alike and guessing is nil (only the total of an item counts under the 1PL); None for other designs.
    """
    examined = [gap for gap in document["gaps"] if gap["p_empty"] is not None]
    if not examined:
        return None
    known = all(gap["resolved"] is not None for gap in examined)
    resolved = sum(bool(gap["resolved"]) for gap in examined)
    design = f"{document['n_models']:,} models, {document['n_attempts']:,} attempts"
    which = "the widest gap" if len(examined) == 1 else f"the {len(examined)} widest gaps"
    open_ = [str(place) for place, gap in enumerate(examined, 1) if not gap["resolved"]]
    if not known:
        text = f"A preview does not say which of {which} are real: use the engine nuts or laplace."
    elif resolved == len(examined):
        text = f"Resolved: {which}."
    elif resolved:
        one = len(open_) == 1
        text = (
            f"{resolved} of {which} {'is' if resolved == 1 else 'are'} resolved. "
            f"{'Gap' if one else 'Gaps'} {', '.join(open_)} {'is' if one else 'are'} not resolvable with this "
            f"design ({design})."
        )
    else:
        text = f"Not resolvable with this design ({design}): none of {which} is known to be empty of items."
    # Where items are several to a total, its steps are what the picture shows.
    coarse = most_totals is not None and _ITEMS_A_TOTAL * most_totals <= document["n_items"]
    if known and coarse and resolved < len(examined):
        text += (
            f" An item has one of {most_totals:,} totals here, so that {document['n_items']:,} items show gaps "
            "wherever they truly lie."
        )
    return {
        "examined": len(examined),
        "resolved": resolved if known else None,
        "most_totals": most_totals,
        "sentence": text,
    }


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
    wider = "more than" if found["wider"] == "pool" else "less than"
    text += (
        f", which is {wider} what the number of attempts leaves open ({found['median_posterior_sd']:.3f})."
    )
    own = {name: found[f"own_{key}_wider"] for key, name in (("ddm", "DDM"), ("max_gap", "Max Gap"))}
    moved = [name for name, which in own.items() if which == "pool"]
    return f"{text} For {' and '.join(moved)} too the pool is the wider uncertainty." if moved else text


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
        "Shape: each item carries little information for how near its neighbours are, so the intervals of DDM, Max Gap "
        "and the gap sum depend on the assumed shape of difficulties: smooth, and learned only as far as answers tell."
    ]


def _gaps(document: Mapping[str, Any]) -> list[str]:
    resolution = document["resolution"]
    if resolution is None:
        return []
    return [
        f"Gaps: a gap between estimates is a gap between true difficulties only where it is resolved. "
        f"{resolution['sentence']} p_chance is another matter: how often a benchmark of this size without any gap "
        "would show one as wide."
    ]
