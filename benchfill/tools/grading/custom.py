"""Graders of installed packages: what is run inside a child process, and how its answer is read.

A package names a callable in the entry point group ``benchfill.graders``; the entry point's name is the answer type.
The callable takes the item and the response and returns what :func:`call_grader` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any

from benchfill.item import GRADER_GROUP
from benchfill.tools.grading.verdicts import VERDICTS

__all__ = ["call_grader"]

LONGEST_REASON = 200


def call_grader(name: str, item: dict[str, Any], response: str) -> tuple[str, str | None, str]:
    """Task of the sandbox: let an installed grader grade a response.

    Parameters
    ----------
    name
        Answer type: name of the entry point.
    item
        Plain values: id, question, answer, solution, choices, tolerance, extra.
    response
        The whole response outside of its reasoning.

    Returns
    -------
    verdict, extracted, reason
        From what the callable returned: a bool, the name of a verdict, or a mapping with ``verdict`` and, if it
        likes, ``extracted`` and ``reason``.

    Raises
    ------
    LookupError
        No installed package has this grader, or several have.
    TypeError
        The callable returned something else.
    """
    returned = _loaded(name)(item, response)
    fields = returned if isinstance(returned, Mapping) else {"verdict": returned}
    verdict = fields.get("verdict")
    if isinstance(verdict, bool):
        verdict = "correct" if verdict else "wrong"
    if verdict not in VERDICTS:
        raise TypeError(f"the grader {name} returned {str(returned)[:80]!r}, which is no verdict")
    extracted = fields.get("extracted")
    reason = " ".join(str(fields.get("reason") or f"by the grader {name}").split())
    return str(verdict), None if extracted is None else str(extracted), reason[:LONGEST_REASON]


@lru_cache(maxsize=16)
def _loaded(name: str) -> Any:
    found = list(entry_points(group=GRADER_GROUP, name=name))
    if len({point.value for point in found}) != 1:
        raise LookupError(f"{'several' if found else 'no'} installed packages have a grader {name}")
    return found[0].load()
