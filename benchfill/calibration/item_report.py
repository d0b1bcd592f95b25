"""The hierarchical 4PL of one or several logs as a document: benchmarks, items, suspects, and what is only prior."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from benchfill.calibration.folds import join_logs
from benchfill.calibration.four_parameter import (
    NOT_IDENTIFIED,
    PARAMETERS,
    FourParameterFit,
    fit_four_parameter,
)
from benchfill.calibration.item_diagnostics import (
    AMBIGUOUS,
    SHORTCUT,
    ItemFigures,
    benchmark_figures,
    item_figures,
    suspects,
)
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import BenchfillError

__all__ = ["RESERVATIONS", "item_document", "item_rows"]

RESERVATIONS = (
    "A suspect is an item to be read, not a verdict: a shortcut, contamination, an ambiguous question and a wrong key "
    "leave the same trace as any other reason for which answers to an item do not follow ability.",
    "An estimate whose share of prior is 0.5 or more is more the population of items than this item: not identified.",
)


def item_document(
    names: Sequence[str],
    logs: Sequence[ResponseLog],
    *,
    high_guessing: float,
    low_feasibility: float,
    top: int,
) -> tuple[dict[str, Any], FourParameterFit | None]:
    """Fit one 4PL to all logs, so that their figures share a scale, and describe each.

    Returns
    -------
    document, fit
        Plain Python values; and the fit, whose items are those of the logs in turn. Where it failed there are no
        benchmarks, ``item_model`` holds the reason, and the fit is None.
    """
    whole, _, columns = join_logs(logs)
    try:
        fit = fit_four_parameter(whole)
    except BenchfillError as error:
        return {
            "item_model": {"model": "4pl", "failure": str(error)},
            "benchmarks": [],
            "reservations": [],
        }, None
    curves = fit.curves()
    found = suspects(fit, high_guessing=high_guessing, low_feasibility=low_feasibility)
    place = {item: at for at, item in enumerate(whole.items)}
    benchmarks = []
    for name, log, at in zip(names, logs, columns, strict=True):
        share = fit.prior_share[at]
        listed: dict[str, list[dict[str, Any]]] = {SHORTCUT: [], AMBIGUOUS: []}
        for each in found:
            if at[0] <= place[each.item] <= at[-1]:
                item = log.items[place[each.item] - int(at[0])]
                listed[each.reason].append(
                    {"item": item, "value": each.value, "probability": each.probability}
                )
        benchmarks.append(
            {
                "name": name,
                "n_items": len(log.items),
                "n_models": len(log.models),
                "figures": asdict(benchmark_figures(curves, at)),
                "prior_share": dict(zip(PARAMETERS, share.mean(axis=0).tolist(), strict=True)),
                "not_identified": dict(
                    zip(PARAMETERS, (share >= NOT_IDENTIFIED).mean(axis=0).tolist(), strict=True)
                ),
                "suspects": [
                    {"reason": reason, "n": len(items), "limit": limit, "first": items[:top]}
                    for (reason, items), limit in zip(
                        listed.items(), (high_guessing, low_feasibility), strict=True
                    )
                ],
            }
        )
    order = sorted(range(len(whole.models)), key=lambda at: (-fit.theta[at], whole.models[at]))
    document = {
        "item_model": {
            "model": "4pl",
            "failure": "",
            "log_likelihood": fit.log_likelihood,
            "n_parameters": fit.n_parameters,
            "highest": whole.models[order[0]],
            "abilities": [{"model": whole.models[at], "theta": float(fit.theta[at])} for at in order],
            "population": [
                {"parameter": name, "mean": float(mean), "sd": float(sd)}
                for name, (mean, sd) in zip(PARAMETERS, fit.population.T, strict=True)
            ],
        },
        "benchmarks": benchmarks,
        "reservations": list(RESERVATIONS),
    }
    return document, fit


def item_rows(names: Sequence[str], logs: Sequence[ResponseLog], fit: FourParameterFit) -> str:
    """Every item's figures and shares of prior as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    figures = [each.name for each in fields(ItemFigures)]
    writer.writerow(["benchmark", "item_id", *figures, *(f"prior_share_{name}" for name in PARAMETERS)])
    ids = [(name, item) for name, log in zip(names, logs, strict=True) for item in log.items]
    for (name, item), row, share in zip(ids, item_figures(fit.curves()), fit.prior_share, strict=True):
        writer.writerow([name, item, *(f"{each:.6g}" for each in (*row, *share))])
    return text.getvalue()
