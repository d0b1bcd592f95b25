"""Grading: is a response right? Verdicts, the settings behind them, and the types of answers."""

from __future__ import annotations

from benchfill.grading_settings import GradingSettings
from benchfill.tools.grading.cleaning import extract_code
from benchfill.tools.grading.grader import Grader
from benchfill.tools.grading.kinds import infer_answer_type
from benchfill.tools.grading.self_check import failing_keys
from benchfill.tools.grading.shuffle import (
    in_original_letters,
    may_reorder,
    option_order,
    shown_item,
    shuffled_order,
)
from benchfill.tools.grading.verdicts import Grade, Verdict

__all__ = [
    "Grade",
    "Grader",
    "GradingSettings",
    "Verdict",
    "extract_code",
    "failing_keys",
    "in_original_letters",
    "infer_answer_type",
    "may_reorder",
    "option_order",
    "shown_item",
    "shuffled_order",
]
