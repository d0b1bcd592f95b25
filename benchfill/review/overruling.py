"""The maintainer's decision on an item, with what reviewers had made of it: it overrules that and nothing later."""

from __future__ import annotations

from typing import Literal

from benchfill.memory.decisions import MaintainerDecision, decide, note_review
from benchfill.memory.pool import Pool
from benchfill.review.outcome import review_outcomes

__all__ = ["overrule"]


def overrule(
    pool: Pool, item: str, verdict: Literal["accept", "reject"], *, reason: str, who: str
) -> MaintainerDecision:
    """Accept or reject a new item in view of its review.

    Raises
    ------
    InputError
        As `benchfill.memory.decisions.decide`.
    """
    with pool.database.transaction():
        made = decide(pool, item, verdict, reason=reason, who=who)
        # An item that was rejected before has an outcome again only now that it stands.
        review = review_outcomes(pool).get(item)
        return note_review(pool, made, "" if review is None else review.outcome)
