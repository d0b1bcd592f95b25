"""One score of a log as a right, wrong or missing answer. What is none of these is refused, never rounded."""

from __future__ import annotations

import math

__all__ = ["BAD", "MISSING", "ScoreTable", "remedy_for"]

# Codes beside 1 (right) and 0 (wrong).
MISSING = -1
BAD = -2

_WORDS = {
    "": MISSING,
    "na": MISSING,
    "n/a": MISSING,
    "nan": MISSING,
    "null": MISSING,
    "none": MISSING,
    "true": 1,
    "false": 0,
    # Letters of Inspect logs: correct, incorrect, no answer (which it counts as 0). P, partial, is refused.
    "c": 1,
    "i": 0,
    "n": 0,
}


class ScoreTable(dict[str, int]):
    """Code of each score text, worked out once a distinct text.

    Parameters
    ----------
    threshold
        Scores strictly between 0 and 1 count as right from here on; None refuses them.
    """

    def __init__(self, threshold: float | None = None) -> None:
        super().__init__()
        self._threshold = threshold
        self.used: set[str] = set()

    def __missing__(self, text: str) -> int:
        code = self._read(text.strip())
        self[text] = code
        return code

    def _read(self, text: str) -> int:
        word = text.casefold()
        if word in _WORDS:
            self.used.add(word)
            return _WORDS[word]
        try:
            value = float(text)
        except ValueError:
            return BAD
        if value in (0.0, 1.0):
            return int(value)
        if self._threshold is not None and 0.0 < value < 1.0:
            self.used.add("threshold")
            return int(value >= self._threshold)
        return BAD

    def notes(self) -> list[str]:
        """What was read other than as 0, 1 or an empty cell."""
        notes = []
        if "n" in self.used:
            notes.append("N (no answer) counts as wrong, as in Inspect logs.")
        words = sorted(word for word in self.used if word and _WORDS.get(word) == MISSING)
        if words:
            notes.append(f"Read as missing: {', '.join(words)}.")
        if "threshold" in self.used:
            notes.append(f"Scores between 0 and 1 count as right from {self._threshold:g} on.")
        return notes


def remedy_for(text: str) -> str:
    """What to do about a score that is not 0 or 1."""
    try:
        value = float(text)
    except ValueError:
        return "Scores are 0, 1 or empty."
    if 0.0 < value < 1.0:
        return "Partial credit needs a stated threshold (--threshold)."
    if value == -1.0:
        return "Leave the cell empty where a model was not asked."
    if 1.0 < value <= 100.0:
        return "Scores are 0 or 1; for k right of n attempts write long rows model,item_id,correct,count."
    return "Scores are 0, 1 or empty." if math.isfinite(value) else "An infinite score says nothing."
