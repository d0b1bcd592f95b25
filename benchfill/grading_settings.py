"""What a grader accepts where reasonable people differ; every field is explained in docs/grading.md."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["GradingSettings"]


class GradingSettings(BaseModel):
    """Choices of a grader."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    percent_sign_optional: bool = Field(
        default=True, description='"28" matches the key "28%", and "60%" the key "60"'
    )
    percent_as_fraction: bool = Field(
        default=True, description='"0.2" matches the key "20%", and "20%" the key "0.2"'
    )
    rounding: Literal["exact", "key", "both"] = Field(
        default="key",
        description="exact: decimals count as printed; key: a decimal key of at least significant_digits digits is "
        "also matched by what rounds to it; both: such a decimal response matches a key that rounds to it, too",
    )
    significant_digits: int = Field(
        default=3, ge=1, le=1000, description="digits below which a decimal is never taken as rounded"
    )
    form: Literal["value", "same"] = Field(
        default="value",
        description="value: equal values are equal answers; same: fractions, roots and products are written as in "
        "the key, up to spacing and the spelling of LaTeX commands",
    )
    base_optional: bool = Field(
        default=True, description='"52" matches the key "52_8" (the question names the base)'
    )
    unit_optional: bool = Field(
        default=True, description='"864" matches the key "864 inches^2", and "60" the key "60°"'
    )
    convert_units: bool = Field(default=True, description='"3000 m" matches the key "3 km"')
    ordinals: bool = Field(default=True, description='"12th" matches the key "12"')
    inequality_as_interval: bool = Field(
        default=True, description='"0 < x < 12.5" matches the key "(0, 12.5)" and the other way round'
    )
    hedged: Literal["wrong", "ungraded"] = Field(
        default="wrong", description="verdict of an answer that offers several values where one is asked for"
    )
    undeclared: Literal["last_value", "none"] = Field(
        default="last_value",
        description="last_value: a response that declares no answer is read by its last value; none: it has none",
    )
    cut_run_on: bool = Field(default=True, description="a new question behind an answer ends the response")
    unclosed_box: bool = Field(
        default=False,
        description="a last box that was never closed is read to the end of the text, instead of no_answer",
    )
    join_boxes: bool = Field(
        default=True,
        description="neighbouring boxes are the parts of one answer where the key has several parts",
    )
    instructions: Literal["strict", "loose"] = Field(
        default="strict",
        description="loose: a constraint is also kept when it is without the first or last line or asterisks",
    )
    seconds: float = Field(
        default=5.0, gt=0, le=3600, description="CPU time of one comparison before it is ungraded"
    )
