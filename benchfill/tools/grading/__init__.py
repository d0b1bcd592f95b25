"""Grading: is a response right? Verdicts, the settings behind them, and the types of answers."""

from __future__ import annotations

from benchfill.tools.grading.cleaning import extract_code
from benchfill.tools.grading.grader import Grade, Grader, Verdict
from benchfill.tools.grading.kinds import infer_answer_type
from benchfill.tools.grading.settings import GradingSettings, read_settings
from benchfill.tools.grading.shuffle import may_reorder, option_order, shown_item

__all__ = [
    "Grade",
    "Grader",
    "GradingSettings",
    "Verdict",
    "extract_code",
    "infer_answer_type",
    "may_reorder",
    "option_order",
    "read_settings",
    "shown_item",
]
