"""The quality of benchmarks as one JSON document: plain values, undefined is None, intervals ``x_lo95``, ``x_hi95``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchfill.calibration.benchmark_quality import Agreement, BenchmarkQuality, Estimate, QualityRules
from benchfill.calibration.report_document import fingerprint, plain

__all__ = ["quality_document"]

DOCUMENT_VERSION = 1
_FIGURES = ("cbrc", "ds", "cad", "bqs", "stability")


def quality_document(
    qualities: Sequence[BenchmarkQuality],
    agreements: Sequence[Agreement],
    names: Mapping[str, tuple[str, float | None]],
    rules: QualityRules,
    *,
    pool: str,
    worst: int,
    seed: int,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything that was found.

    Parameters
    ----------
    names
        Family and size by model id, as they were used.
    pool
        ``common`` or ``own``: whose models each benchmark was judged by.
    worst
        How many items with the largest mean inversion to name a benchmark.
    """
    models = sorted({model for each in qualities for model in each.log.models})
    document = {
        "v": DOCUMENT_VERSION,
        "settings": {
            "epsilon": rules.epsilon,
            "lambda": rules.steepness,
            "weights": dict(zip(("cbrc", "ds", "cad"), rules.weights, strict=True)),
            "draws": rules.draws,
            "pool": pool,
        },
        "seed": seed,
        "benchmarks": [_benchmark(each, worst) for each in qualities],
        "agreements": [
            {
                "first": each.first,
                "second": each.second,
                "shared": each.shared,
                **_estimate("tau_b", each.tau),
            }
            for each in agreements
        ],
        "models": [
            {
                "id": model,
                "family": names.get(model, ("", None))[0] or None,
                "size_b": names.get(model, ("", None))[1],
                "scores": {
                    each.name: float(each.scores[each.log.models.index(model)])
                    for each in qualities
                    if model in each.log.models
                },
            }
            for model in models
        ],
        "ladder_pairs": sorted({pair for each in qualities for pair in each.pairs}),
        "notes": list(notes),
    }
    return dict(plain(document))


def _estimate(name: str, found: Estimate) -> dict[str, float | None]:
    return {name: found.value, f"{name}_lo95": found.lo95, f"{name}_hi95": found.hi95}


def _benchmark(found: BenchmarkQuality, worst: int) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name in _FIGURES:
        figures |= _estimate(name, getattr(found, name))
    reasons = {name: getattr(found, name).reason for name in _FIGURES}
    return {
        "name": found.name,
        "n_items": len(found.log.items),
        "n_models": len(found.log.models),
        "n_attempts": int(found.log.attempts.sum()),
        "n_missing_cells": int((found.log.attempts == 0).sum()),
        "fingerprint": fingerprint(found.log),
        "mean_score": float(found.scores.mean()),
        "separated_pairs": found.separated,
        **figures,
        "not_defined": {name: reason for name, reason in reasons.items() if reason},
        "n_ladder_pairs": len(found.pairs),
        "mean_inversion": found.inverted.mean,
        "mean_inversion_1pl": None if found.expected is None else found.expected.mean,
        "cad_1pl": found.expected_cad,
        "worst_items": _worst(found, worst),
    }


def _worst(found: BenchmarkQuality, count: int) -> list[dict[str, Any]]:
    mean = found.inverted.of_items
    expected = np.full(mean.shape, np.nan) if found.expected is None else found.expected.of_items
    known = np.flatnonzero(np.isfinite(mean)).tolist()
    order = sorted(known, key=lambda at: (-round(float(mean[at]), 12), found.log.items[at]))
    rows = []
    for at in order[:count]:
        stronger, weaker = found.pairs[found.inverted.worst[at]]
        rows.append(
            {
                "id": found.log.items[at],
                "inversion": mean[at],
                "inversion_1pl": expected[at],
                "stronger": stronger,
                "weaker": weaker,
                "pair_inversion": found.inverted.worst_value[at],
            }
        )
    return rows
