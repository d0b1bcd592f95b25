"""Second reader for what the strict parser refuses: math-verify, with sympy underneath, inside a child process."""

from __future__ import annotations

import re
from typing import Literal

from benchfill.tools.grading.latex import LONGEST_MATH

__all__ = ["SANDBOX_IMPORTS", "compare_by_library"]

SANDBOX_IMPORTS = ("math_verify", "latex2sympy2_extended")

# Words that math-verify would multiply letter by letter, or drop in favour of the one number beside them.
_WORDS = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{4,}")


def compare_by_library(key: str, answer: str) -> Literal["equal", "different", "unreadable"]:
    """Task of the sandbox: compare two formulas by math-verify.

    Both must be read whole and without a timer (its timers need signals; the sandbox has its own limits); texts
    with words are not given to it.
    """
    import logging

    from math_verify import LatexExtractionConfig, parse, verify

    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    read = []
    for text in (key, answer):
        formula = text.strip().strip("$").strip()[:LONGEST_MATH]
        bare = re.sub(r"\\(?:text|mathrm|operatorname|mbox)\s*\{[^{}]*\}", "", formula)
        if not formula or _WORDS.search(re.sub(r"\\[a-zA-Z]+", "", bare)):
            return "unreadable"
        found = parse(
            f"\\boxed{{{formula}}}",
            extraction_config=[LatexExtractionConfig(boxed_match_priority=0)],
            fallback_mode="no_fallback",
            parsing_timeout=None,
        )
        if not found or isinstance(found[0], str):
            return "unreadable"
        read.append(found[0])
    equal = verify([read[0]], [read[1]], float_rounding=15, timeout_seconds=None)
    return "equal" if equal else "different"
