"""Which orders of two models would change under the target: a matrix of all pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchfill.display.text import number
from benchfill.report.svg import WIDTH, Plot

__all__ = ["VERDICTS", "rank_matrix"]

VERDICTS = {
    "guaranteed": "guaranteed by the bound",
    "kept": "kept",
    "possibly_reversed": "possibly reversed",
    "likely_reversed": "likely reversed",
    "tied": "tied on the benchmark",
}
_LEFT = 250.0


def rank_matrix(document: Mapping[str, Any], name: str) -> str:
    """One cell a pair: rows the higher, columns the lower score on the benchmark."""
    success = {each["id"]: each["success"] or 0.0 for each in document["models"]}
    models = sorted(success, key=lambda each: (-success[each], each))
    place = {model: at for at, model in enumerate(models)}
    count = len(models)
    step = min(22.0, (WIDTH - _LEFT - 12.0) / count)
    plot = Plot(
        name,
        (0.0, float(count)),
        (float(count), 0.0),
        height=step * count,
        left=_LEFT,
        width=_LEFT + step * count + 12.0 if step < 22.0 else WIDTH,
    )
    for pair in document["rank_stability"]["pairs"]:
        # Pairs are of common items, so the stronger of a pair is not always higher in the whole order.
        row, column = sorted((place[pair["stronger"]], place[pair["weaker"]]))
        tip = (
            f"{pair['stronger']} over {pair['weaker']}: difference {number(pair['d_benchmark'])}, under the target"
            f" {number(pair['d_target'])}, chance of the other order {number(pair['p_reversed'])}"
        )
        plot.rect(column, column + 1, row, row + 1, f"pair {pair['verdict']}", tip)
    for row, model in enumerate(models):
        plot.row_label(row + 0.5, model, size=max(6.0, min(11.0, step * 0.9)))
    return plot.render("Pairs of models and whether their order would change under the target.")
