"""What is true of items in these worlds, exactly: chances of success and the difficulty they amount to.

For tests and benchmarks only; nothing that searches may look here.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchfill.worlds.peak import likelihood_peak
from benchfill.worlds.simulated.respondents import RESPONDENTS, success_probability

__all__ = ["success_probability", "true_difficulty", "true_z"]


def true_difficulty(theta: Sequence[float], question: str, models: Sequence[str] | None = None) -> float:
    """The difficulty an item has under frozen abilities: the maximum of its expected likelihood.

    Parameters
    ----------
    theta
        Abilities in logits, one a respondent, in the order of ``models``.
    question
        The item's text.
    models
        Respondents; by default all of them, sorted by name.

    Returns
    -------
    float
        Logits; the root in b of sum_j (p_j - sigmoid(theta_j - b)), with p_j the exact chance of success.

    Raises
    ------
    ValueError
        The question is not understood by this world, or ``theta`` has another length than ``models``.
    """
    names = sorted(RESPONDENTS) if models is None else list(models)
    chances = [success_probability(name, question) for name in names]
    known = [chance for chance in chances if chance is not None]
    if len(known) != len(names):
        raise ValueError("this world does not understand the question")
    return likelihood_peak(theta, known)


def true_z(
    theta: Sequence[float], question: str, lo: float, hi: float, models: Sequence[str] | None = None
) -> float:
    """`true_difficulty` on a frozen axis whose 0 and 1 lie at ``lo`` and ``hi`` logits."""
    return (true_difficulty(theta, question, models) - lo) / (hi - lo)
