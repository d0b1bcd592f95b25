"""The plots of a diagnosis, each from its JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchfill.display.text import interval, number
from benchfill.report.svg import Plot, ticks

__all__ = ["abilities", "distribution", "information", "item_fit", "places"]

Document = Mapping[str, Any]
_POINTS = 1500  # of one plot: more are thinned evenly by rank, which the eye does not see
_SEPARATE = 120  # items up to which each has its own interval line


def places(document: Document, name: str) -> str:
    """Items along the axis with intervals, the gaps examined shaded."""
    items = sorted(document["items"], key=lambda each: (each["z"], each["id"]))
    count = len(items)
    shown = _thinned(items)
    lo, hi = _reach(items)
    scale = document["scale"]
    logits = scale["lo"] is not None
    height = min(440.0, max(200.0, 9.0 * count))
    plot = Plot(name, (lo, hi), (0.0, count + 1.0), height=height, top=48.0 if logits else 26.0)
    plot.x_axis("difficulty z (0 easy, 1 hard)")
    plot.y_title("items by rank")
    if logits:
        width = scale["hi"] - scale["lo"]
        marks = ticks(scale["lo"] + lo * width, scale["lo"] + hi * width, 8)
        plot.top_axis("difficulty, logits", [((b - scale["lo"]) / width, f"{b:g}") for b in marks])
    _shade_gaps(plot, document, count + 1.0)
    ranked = [(rank + 1.0, item) for rank, item in shown]
    known = [(rank, item) for rank, item in ranked if item["z_lo90"] is not None]
    if count <= _SEPARATE:
        for rank, item in known:
            plot.segment(item["z_lo90"], rank, item["z_hi90"], rank, "interval")
    elif known:
        band = [(item["z_lo90"], rank) for rank, item in known]
        plot.area([*band, *((item["z_hi90"], rank) for rank, item in reversed(known))], "band")
    for rank, item in ranked:
        tip = f"{item['id']}: z {number(item['z'])} {interval(item['z_lo90'], item['z_hi90'])}"
        tip += f", solved {number(item['success'])}"
        plot.dot(
            item["z"],
            rank,
            "censored" if item["censored"] else "item",
            tip,
            radius=3.2 if count <= _SEPARATE else 1.6,
        )
    return plot.render("Items along the difficulty axis with 90 % intervals; the widest gaps are shaded.")


def distribution(document: Document, name: str) -> str:
    """Empirical against target distribution; the area between them is the DDM."""
    z = sorted(item["z"] for item in document["items"])
    lo, hi = min(-0.03, z[0]), max(1.03, z[-1])
    plot = Plot(name, (lo, hi), (0.0, 1.0), height=260.0)
    plot.x_axis("difficulty z")
    plot.y_axis("share of items")
    steps = [(lo, 0.0)]
    for at, place in enumerate(z):
        steps += [(place, at / len(z)), (place, (at + 1) / len(z))]
    steps.append((hi, 1.0))
    curve = document["target_curve"]
    target = [(lo, 0.0), *zip(curve["z"], curve["cdf"], strict=True), (hi, 1.0)]
    plot.area([*steps, *reversed(target)], "between")
    plot.line(target, "target")
    plot.line(steps, "curve")
    return plot.render("Distribution function of the items' places and of the target.")


def information(document: Document, name: str) -> str:
    """What one answer of the pool tells along the axis, items below, blind stretches shaded."""
    found = document["information"]
    most = max(found["efficiency"])
    plot = Plot(name, (-0.03, 1.03), (-0.08 * most, 1.12 * most), height=230.0, left=62.0)
    plot.x_axis("difficulty z")
    plot.y_axis("share of the most information")
    for blind in found["blind"]:
        plot.rect(blind["lo"], blind["hi"], -0.08 * most, 1.12 * most, "blind", "the pool is blind here")
    for _, item in _thinned(document["items"]):
        plot.segment(item["z"], -0.06 * most, item["z"], -0.01 * most, "rug")
    plot.line(zip(found["z"], found["efficiency"], strict=True), "curve")
    for gap in _examined(document):
        plot.segment(gap["target"], 0.0, gap["target"], 1.12 * most, "mark")
    return plot.render("Information of the pool along the difficulty axis.")


def abilities(document: Document, name: str) -> str:
    """Models from the strongest to the weakest with intervals, the axis' ends marked."""
    models = sorted(document["models"], key=lambda each: (-each["ability"], each["id"]))
    count = len(models)
    step = 16.0 if count <= 60 else 12.0
    ends = [
        each[key]
        for each in models
        for key in ("ability", "ability_lo90", "ability_hi90")
        if each[key] is not None
    ]
    pad = 0.04 * (max(ends) - min(ends)) or 1.0
    plot = Plot(
        name,
        (min(ends) - pad, max(ends) + pad),
        (count + 0.5, 0.5),
        height=step * count + 8.0,
        left=250.0,
    )
    plot.x_axis("ability, logits (mean of the pool at 0)")
    for row, model in enumerate(models, 1):
        plot.row_label(row, model["id"], size=11.0 if count <= 60 else 9.0)
        lo, hi = model["ability_lo90"], model["ability_hi90"]
        if lo is not None:
            plot.segment(lo, row, hi, row, "interval")
        tip = f"{model['id']}: ability {number(model['ability'], 2)} {interval(lo, hi, 2)}"
        plot.dot(model["ability"], row, "item", f"{tip}, solves {number(model['success'])}")
    return plot.render("Abilities of the models with 90 % intervals.")


def item_fit(document: Document, name: str) -> str:
    """Residual misfit of every item against its difficulty, the flagged ones named."""
    found = document["item_fit"]
    flagged = {each["id"] for each in found["flagged"] if "misfit" in each["reasons"]}
    items = [each for each in document["items"] if each["residual"] is not None]
    lo, hi = _reach(items)
    most = max([1.0, *(each["residual"] for each in items)]) * 1.08
    plot = Plot(name, (lo, hi), (-0.03 * most, most), height=260.0)
    plot.x_axis("difficulty z")
    plot.y_axis("residual misfit, logits a cell")
    if found["median_residual"] is not None:
        plot.segment(lo, found["median_residual"], hi, found["median_residual"], "mark")
    keep = [item for _, item in _thinned(sorted(items, key=lambda each: each["id"]))]
    named = sorted((each for each in items if each["id"] in flagged), key=lambda each: -each["residual"])[:8]
    for item in [*(each for each in keep if each["id"] not in flagged), *named]:
        tip = (
            f"{item['id']}: misfit {number(item['residual'], 2)} logits, infit {number(item['infit'], 2)}, "
            f"outfit {number(item['outfit'], 2)}, p {number(item['p_adjusted'])}"
        )
        style = "flagged" if item["id"] in flagged else "item"
        plot.dot(item["z"], item["residual"], style, tip, radius=3.2 if len(items) <= 300 else 2.0)
        if item["id"] in flagged:
            on_right = item["z"] > 0.8
            text = f"{item['id']} " if on_right else f" {item['id']}"
            plot.label(
                item["z"] + (-0.012 if on_right else 0.012),
                item["residual"],
                text,
                anchor="end" if on_right else "start",
            )
    return plot.render("Residual misfit of the items against their difficulty.")


def _examined(document: Document) -> list[Mapping[str, Any]]:
    return [gap for gap in document["gaps"] if gap["p_empty"] is not None]


def _shade_gaps(plot: Plot, document: Document, top: float) -> None:
    for place, gap in enumerate(_examined(document), 1):
        style = {True: "gap-yes", False: "gap-no", None: "gap-none"}[gap["resolved"]]
        tip = f"gap {place}: {number(gap['lo'])} to {number(gap['hi'])}, p empty {number(gap['p_empty'])}"
        plot.rect(gap["lo"], gap["hi"], 0.0, top, style, tip)
        plot.label(gap["target"], top * 0.03, str(place), "gap-label")


def _thinned(items: Sequence[Any]) -> list[tuple[int, Any]]:
    """Ranks and items, evenly thinned where there are too many to draw."""
    count = len(items)
    if count <= _POINTS:
        return list(enumerate(items))
    ranks = sorted({round(at * (count - 1) / (_POINTS - 1)) for at in range(_POINTS)})
    return [(rank, items[rank]) for rank in ranks]


def _reach(items: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """The stretch of z to draw: the axis, and intervals as far as a quarter of it outside."""
    los = [each["z_lo90"] if each["z_lo90"] is not None else each["z"] for each in items]
    his = [each["z_hi90"] if each["z_hi90"] is not None else each["z"] for each in items]
    return max(-0.25, min(-0.03, min(los) - 0.02)), min(1.25, max(1.03, max(his) + 0.02))
