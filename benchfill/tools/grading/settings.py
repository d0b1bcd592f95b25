"""What a grader accepts where reasonable people differ; every field is explained in docs/grading.md."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_type_hints

from benchfill.errors import InputError

__all__ = ["GradingSettings", "read_settings"]


@dataclass(frozen=True, slots=True)
class GradingSettings:
    """Choices of a grader.

    Parameters
    ----------
    percent_sign_optional
        "28" matches the key "28%" and "60%" matches the key "60".
    percent_as_fraction
        "0.2" matches the key "20%", and "20%" the key "0.2".
    rounding
        ``exact``: decimals count as printed. ``key``: a key that is a decimal of at least
        ``significant_digits`` digits is also matched by a value that rounds to it. ``both``: also a response
        that is such a decimal matches a key that rounds to it.
    significant_digits
        Digits below which a decimal is never taken as rounded.
    form
        ``value``: equal values are equal answers. ``same``: fractions, roots and products must be written
        as in the key, up to spacing and the spelling of LaTeX commands.
    base_optional
        "52" matches the key "52_8" (the question names the base).
    unit_optional
        "864" matches the key "864 inches^2", "60" matches "60°".
    convert_units
        "3000 m" matches the key "3 km".
    ordinals
        "12th" matches the key "12".
    inequality_as_interval
        "0 < x < 12.5" matches the key "(0, 12.5)" and the other way round.
    hedged
        Verdict of an answer that offers several values where one is asked for.
    undeclared
        ``last_value``: a response that declares no answer is read by its last value; ``none``: it has no answer.
    cut_run_on
        A new question behind an answer ends the response.
    unclosed_box
        A last box that was never closed is read to the end of the text instead of giving ``no_answer``.
    join_boxes
        Neighbouring boxes are the parts of one answer where the key has several parts.
    seconds
        CPU time a single comparison may take before it is ``ungraded``.
    """

    percent_sign_optional: bool = True
    percent_as_fraction: bool = True
    rounding: Literal["exact", "key", "both"] = "key"
    significant_digits: int = 3
    form: Literal["value", "same"] = "value"
    base_optional: bool = True
    unit_optional: bool = True
    convert_units: bool = True
    ordinals: bool = True
    inequality_as_interval: bool = True
    hedged: Literal["wrong", "ungraded"] = "wrong"
    undeclared: Literal["last_value", "none"] = "last_value"
    cut_run_on: bool = True
    unclosed_box: bool = False
    join_boxes: bool = True
    seconds: float = 5.0


def read_settings(pairs: Iterable[str]) -> GradingSettings:
    """Settings from texts like ``rounding=both``.

    Raises
    ------
    InputError
        ``bad_setting``: there is no setting of that name, or the value is none of its values.
    """
    known = get_type_hints(GradingSettings)
    values: dict[str, Any] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        name, value = name.strip(), value.strip()
        if name not in known:
            names = ", ".join(field.name for field in fields(GradingSettings))
            raise InputError(
                f"There is no grading setting {name!r}.", f"Settings: {names}.", kind="bad_setting"
            )
        values[name] = _read_value(name, value, known[name])
    return GradingSettings(**values)


def _read_value(name: str, value: str, kind: Any) -> Any:
    allowed = get_args(kind) or (("true", "false") if kind is bool else ())
    if allowed:
        if value.lower() not in allowed:
            raise InputError(
                f"The grading setting {name} cannot be {value!r}.",
                f"One of: {', '.join(allowed)}.",
                kind="bad_setting",
            )
        return value.lower() == "true" if kind is bool else value.lower()
    try:
        number = kind(value)
    except ValueError:
        number = 0
    if not 0 < number < 1e6:
        raise InputError(
            f"The grading setting {name} needs a positive number, not {value!r}.", kind="bad_setting"
        )
    return number
