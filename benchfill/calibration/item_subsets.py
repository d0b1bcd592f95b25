"""Choosing a part of a benchmark's items: by alignment and discriminability, by information, by places, at random.

    cad-ds     Benchmark^2's selective subset: of the items, twice as many as are kept with the least inversion
               (`benchfill.calibration.ladders`), of these the ones that add most to DS
    fisher     PSN-IRT's subset: the highest Fisher information at the abilities of interest, mean over these models
    quantile   the places on the difficulty axis nearest to the uniform measure (`benchfill.calibration.pruning`)
    random     every subset alike likely

What an item adds to ``DS = sigma / mean * share`` is taken to first order in its weight, the share left alone:
``cov(p_i, score) / sigma^2 - mean(p_i) / mean``, over models. The paper has no formula for it; this one is ours, and
so is the factor of two (there single answers of 11 models leave many items without any inversion).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.item_curves import ItemCurves
from benchfill.calibration.ladders import inversions, ladder_pairs
from benchfill.calibration.model_slopes import ItemModel, fit_item_model
from benchfill.calibration.prefit import success_rates
from benchfill.calibration.pruning import prune
from benchfill.calibration.ranking import mean_success
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import minmax_scale
from benchfill.errors import InputError

__all__ = ["Chooser", "Method", "added_discriminability", "top_models"]

Array = NDArray[np.float64]
Method = Literal["cad-ds", "fisher", "quantile", "random"]

ALIGNED = 2.0  # items that pass the first stage of cad-ds, over those that are kept


@dataclass(frozen=True)
class Chooser:
    """A rule that picks a number of items by a log.

    Parameters
    ----------
    method
        Which rule.
    keep
        Number of items.
    families
        Family and size by model id, for ``cad-ds``.
    top
        Models of interest for ``fisher``: the so many of the highest ability; None means all.
    model
        Item model that gives information.
    seed
        Of ``random``.
    """

    method: Method
    keep: int
    families: Mapping[str, tuple[str, float | None]] = field(default_factory=dict)
    top: int | None = None
    model: ItemModel = "2pl"
    seed: int = 0

    def __call__(self, log: ResponseLog, curves: ItemCurves | None = None) -> tuple[str, ...]:
        """Ids of the kept items, sorted.

        Parameters
        ----------
        curves
            Of the item model fitted to this log, where it is there already.

        Raises
        ------
        InputError
            Kind ``no_ladder``: cad-ds, and no family has two sizes.
        """
        if self.method == "random":
            generator = np.random.default_rng([self.seed, 3])
            chosen = generator.choice(len(log.items), self.keep, replace=False, shuffle=False)
            return tuple(sorted(log.items[at] for at in chosen))
        if self.method == "quantile":
            fit = fit_1pl(log, engine="mml")
            return prune(fit.items, minmax_scale(fit).to_z(fit.b), self.keep).kept
        if self.method == "fisher":
            found = curves or fit_item_model(log, self.model).curves()
            rows = top_models(found, self.top)
            return _best(
                found.items, found.information(found.theta[rows], found.slope[rows]).mean(axis=0), self.keep
            )
        pairs = ladder_pairs(log.models, self.families)
        if not pairs:
            raise InputError(
                "cad-ds needs models of one family in two sizes, and there are none.",
                "Name families and sizes with --models, or choose another way.",
                kind="no_ladder",
            )
        rates = success_rates(log)
        inverted = np.nan_to_num(inversions(rates, log.models, pairs).of_items, nan=np.inf)
        aligned = _best(log.items, -inverted, min(len(log.items), round(ALIGNED * self.keep)))
        part = np.isin(log.items, aligned)
        added = np.where(part, added_discriminability(rates, mean_success(log)), -np.inf)
        return _best(log.items, added, self.keep)


def added_discriminability(rates: Array, scores: Array) -> Array:
    """What each item adds to sigma / mean of the scores, to first order: shape (items,).

    Parameters
    ----------
    rates
        Shape (models, items), NaN where an item was not asked; such cells count as the model's score.
    scores
        Shape (models,).
    """
    known = np.isfinite(scores)
    score = scores[known]
    filled = np.where(np.isfinite(rates[known]), rates[known], score[:, None])
    spread, mean = score.var(), score.mean()
    if not spread > 0.0 or not mean > 0.0:
        return np.zeros(rates.shape[1])
    together = (score - mean) @ (filled - filled.mean(axis=0)) / score.size
    return np.asarray(together / spread - filled.mean(axis=0) / mean)


def top_models(curves: ItemCurves, top: int | None) -> NDArray[np.int64]:
    """Rows of the models of the highest ability, ties by id; None means all."""
    order = sorted(range(len(curves.models)), key=lambda at: (-curves.theta[at], curves.models[at]))
    return np.array(sorted(order[:top]), dtype=np.int64)


def _best(items: Sequence[str], value: Array, keep: int) -> tuple[str, ...]:
    """Ids with the highest values, ties by id; sorted."""
    order = np.lexsort((np.arange(len(items)), -np.round(value, 12)))
    return tuple(sorted(items[at] for at in order[:keep]))
