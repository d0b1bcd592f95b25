"""The words of a review: the fields of its form, the verdicts, and the reasons for not approving."""

from __future__ import annotations

from typing import get_args

from benchfill.memory.reviews import Verdict

__all__ = ["FORM_FIELDS", "REASONS", "VERDICTS"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
REASONS = ("key_wrong", "ambiguous", "unsolvable", "style", "skill", "copy", "harm", "other")
# In the order of the form: a reviewer answers before the key is met. Nothing else of an item ever leaves.
FORM_FIELDS = (
    "blind_id",
    "item_hash",
    "reviewer",
    "question",
    "answer",
    "key",
    "verdict",
    "reasons",
    "comment",
    "seconds",
)
