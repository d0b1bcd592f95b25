"""Settings of a world: rates and noises, checked when the server starts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from benchfill.errors import InputError

__all__ = ["FaultSettings", "ReplaySettings", "SimulatedSettings", "read_settings"]


@dataclass(frozen=True, slots=True)
class FaultSettings:
    """What the endpoint does wrong on purpose, for trying out what a search makes of it.

    Parameters
    ----------
    fault_rate
        Share of requests that go wrong, whatever the role.
    fault_rate_rewriter, fault_rate_judge, fault_rate_pool
        The same for one role; the larger of both counts.
    fault_heals_after
        Number of tries after which a call goes through; 0: a call that goes wrong does so for ever.
    fault_kinds
        Names of faults to draw from, separated by commas; empty: all that a server may recover from.
    fault_seconds
        How long a reply hangs or drips.
    fault_seed
        Seed of the draws.
    fault_bodies
        File of JSON lines ``{"status": 200, "type": "application/json", "body": "..."}`` to draw from instead.
    """

    fault_rate: float = 0.0
    fault_rate_rewriter: float = 0.0
    fault_rate_judge: float = 0.0
    fault_rate_pool: float = 0.0
    fault_heals_after: int = 2
    fault_kinds: str = ""
    fault_seconds: float = 3600.0
    fault_seed: int = 0
    fault_bodies: str = ""


@dataclass(frozen=True, slots=True)
class SimulatedSettings(FaultSettings):
    """Settings of the simulated world.

    Parameters
    ----------
    wrong_key, copy, damaged_json, nothing
        Rates at which a submission of the rewriter has a wrong key, repeats the parent word for word, goes out
        as broken JSON, or is left out.
    look_up
        Rate at which the rewriter looks up a reference beside its first calculation.
    aim_sd, aim_bias
        Spread and bias of the rewriter's aim, on the 0-10 scale of its prompt.
    aim_growth
        Growth of that spread with the distance of the parent from the target, in units of it.
    judge_error
        Rate at which the judge errs, half of it in the blind answer and half in the verdict.
    judge_obeys_text
        Whether text in front of an item is obeyed by the judge as if it were an instruction.
    no_answer
        Rate at which a respondent names no number.
    latency_ms
        Milliseconds every reply waits.
    """

    wrong_key: float = 0.05
    copy: float = 0.03
    damaged_json: float = 0.03
    nothing: float = 0.02
    look_up: float = 0.2
    aim_sd: float = 0.2
    aim_bias: float = 0.0
    aim_growth: float = 0.0
    judge_error: float = 0.02
    judge_obeys_text: bool = False
    no_answer: float = 0.0
    latency_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ReplaySettings(FaultSettings):
    """Settings of the replay world.

    Parameters
    ----------
    guess_correlation
        Correlation of the rewriter's guess of an item's difficulty with its success rate (logit, sign changed).
    judge_error
        Rate at which the judge errs, half of it in the blind answer and half in the verdict.
    seed
        Seed of the noise of the guesses.
    latency_ms
        Milliseconds every reply waits.
    """

    guess_correlation: float = 0.9
    judge_error: float = 0.02
    seed: int = 0
    latency_ms: float = 0.0


_RATES = {
    "wrong_key",
    "copy",
    "damaged_json",
    "nothing",
    "look_up",
    "judge_error",
    "no_answer",
    "guess_correlation",
    "fault_rate",
    "fault_rate_rewriter",
    "fault_rate_judge",
    "fault_rate_pool",
}
S = TypeVar("S", SimulatedSettings, ReplaySettings)


def _value(name: str, given: Any, default: Any) -> Any:
    """A setting of the default's type; numbers may come as text, as environment variables do."""
    value = given
    if isinstance(default, str):
        if not isinstance(given, str):
            raise InputError(f"the setting {name} of the world must be a text, not {given!r}.")
        return given
    if isinstance(given, str):
        try:
            value = json.loads(given)
        except ValueError:
            value = None
    if isinstance(default, bool):
        fits = isinstance(value, bool)
    elif isinstance(default, int):
        fits = isinstance(value, int) and not isinstance(value, bool)
    else:
        fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not fits:
        raise InputError(f"the setting {name} of the world must be like {default!r}, not {given!r}.")
    return value


def read_settings(kind: type[S], given: Mapping[str, Any]) -> S:
    """Settings of a world from a mapping, absent ones at their defaults.

    Raises
    ------
    InputError
        A setting is unknown, of the wrong type, negative, or a rate above 1.
    """
    known = {field.name: field for field in fields(kind)}
    values = {}
    for name, raw in given.items():
        if name not in known:
            raise InputError(f"unknown setting of the world: {name}.", f"Known are {', '.join(known)}.")
        value = values[name] = _value(name, raw, known[name].default)
        if name in _RATES and not 0 <= value <= 1:
            raise InputError(f"the setting {name} of the world must lie between 0 and 1, not {value}.")
        if name != "aim_bias" and not isinstance(value, str) and value < 0:
            raise InputError(f"the setting {name} of the world must not be negative.")
    return kind(**values)
