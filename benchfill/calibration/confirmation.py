"""Confirmation of a chosen candidate by fresh attempts of all models, never used to choose it.

Choosing the closest of noisy estimates picks a lucky error, and a wrong prior does not notice. Fresh attempts know
nothing of the choice: their posterior under a flat prior says where the item lies, and whether that agrees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from benchfill.calibration.acceptance import SURPRISE, left_out
from benchfill.calibration.online import (
    CandidatePrior,
    ItemPosterior,
    attempts_needed,
    item_posterior,
)
from benchfill.calibration.rewriter_record import RewriterRecord
from benchfill.calibration.scale import Scale

__all__ = ["Confirmation", "confirm", "confirmation_attempts", "further_attempts"]

# Chance of lying within the tolerance, all attempts pooled, below which further attempts are better spent elsewhere.
WORTH_ASKING_ON = 0.5
# Fresh attempts at most, in units of those planned.
FURTHER = 2.0


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What the fresh attempts say.

    Parameters
    ----------
    verdict
        ``confirmed``: the fresh attempts do not speak against it and the pooled expected deviation is within the
        tolerance; ``refused``: ``|z_fresh - z*| > 2 sd_fresh + tolerance``, or it is off the target in all
        likelihood; ``unsettled``: neither yet.
    fresh
        Posterior under a flat prior of the fresh attempts alone: the place and the interval that are reported.
        When confirmed, the interval is that of items which were (`acceptance`).
    pooled
        Posterior of all attempts under the candidate's prior.
    expected_deviation
        Of the pooled posterior from the target (z).
    doubted_deviation
        The same in the light of how near to its targets this rewriter has ever come.
    """

    verdict: Literal["confirmed", "refused", "unsettled"]
    fresh: ItemPosterior
    pooled: ItemPosterior
    expected_deviation: float
    doubted_deviation: float

    def settled(self, *, asked: int, planned: int, dry: bool, settling: bool) -> Confirmation:
        """What stands when asking on no longer pays.

        Parameters
        ----------
        asked, planned
            Fresh attempts of every model so far, and as first planned: after twice as many it is not worth more.
        dry
            Whether most of the models no longer answer: then not refused is confirmed, at the deviation claimed.
        settling
            Whether this is the best that is left: the same. All rounds before have missed, so that the claim is
            the doubted one, where that is larger: an item of a rewriter that never hits would else end as a hit.
        """
        ends = self.verdict == "unsettled" and (dry or asked >= FURTHER * planned)
        found = self
        if settling or (ends and dry):
            claimed = max(self.expected_deviation, self.doubted_deviation)
            found = replace(self, expected_deviation=claimed)
        if not ends:
            return found
        return replace(found, verdict="confirmed" if dry or settling else "refused")


def confirmation_attempts(theta: ArrayLike, target: float, scale: Scale, tolerance: float) -> int:
    """Fresh attempts of every model that bring the fresh estimate alone to the tolerance.

    ``ceil(4 / (1.25 tol W)^2 / efficiency)`` of the whole pool (see `attempts_needed` without a prior), shared
    equally by its models, rounded up.

    Parameters
    ----------
    theta
        Abilities in logits (models).
    target, tolerance
        In z.
    """
    together = attempts_needed(theta, scale.to_b(target), scale, tolerance)
    return max(1, math.ceil(together / np.size(theta)))


def further_attempts(planned: int) -> int:
    """Of every model, as long as the fresh ones have neither confirmed nor refused: half of those planned."""
    return max(1, planned // 2)


def confirm(
    theta_draws: ArrayLike,
    scale: Scale,
    *,
    target: float,
    tolerance: float,
    fresh: tuple[ArrayLike, ArrayLike],
    everything: tuple[ArrayLike, ArrayLike],
    prior: CandidatePrior,
    record: RewriterRecord,
    guessing: float = 0.0,
) -> Confirmation:
    """Judge a chosen candidate by its fresh attempts.

    Parameters
    ----------
    theta_draws : (S, M)
        Draws of the abilities, logits.
    target, tolerance
        In z; the tolerance is the one the candidate was chosen for.
    fresh, everything
        (right answers, attempts), each (M,): of the fresh attempts, and of all.
    prior
        The candidate's, for the pooled posterior.
    record
        The rewriter's: the tolerance must be met in the light of how near it has ever come as well. The claim is
        without it, since it would be too large where rewriters do hit (but see `Confirmation.settled`).
    """
    alone = item_posterior(theta_draws, *fresh, scale, guessing=guessing)
    pooled = item_posterior(theta_draws, *everything, scale, prior=prior, guessing=guessing)
    deviation = pooled.expected_deviation(target)
    seen = record.kept(tolerance).seen(pooled, prior, target)
    doubted = seen.expected_deviation(target)
    verdict: Literal["confirmed", "refused", "unsettled"] = "confirmed"
    if abs(alone.mean - target) > SURPRISE * alone.sd + tolerance:
        verdict = "refused"
    elif max(deviation, doubted) > tolerance:
        likely = seen.chance_within(target, tolerance) >= WORTH_ASKING_ON
        verdict = "unsettled" if likely else "refused"
    else:
        right, asked = (np.asarray(everything[place]) - np.asarray(fresh[place]) for place in (0, 1))
        before = item_posterior(theta_draws, right, asked, scale, prior=prior, guessing=guessing)
        alone = replace(alone, tail=left_out(before, alone.sd, target=target, tolerance=tolerance))
    return Confirmation(verdict, alone, pooled, deviation, doubted)
