"""Settings of a search: flags > environment (BENCHFILL_*) > benchfill.toml > defaults, and where runs live."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from benchfill.endpoint_settings import (
    EndpointSettings,
    PoolEntry,
    refuse_plain_http,
    refuse_twins,
    refuse_two_limits,
)
from benchfill.errors import InputError
from benchfill.grading_settings import GradingSettings
from benchfill.settings_file import explained

__all__ = [
    "AnswerSettings",
    "BudgetSettings",
    "QualitySettings",
    "SearchSettings",
    "Settings",
    "TracingSettings",
    "WorldSettings",
    "benchfill_home",
    "load_settings",
]

SETTINGS_FILE = "benchfill.toml"


NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SearchSettings(_Section):
    """How a gap is searched."""

    candidates: int = Field(default=4, ge=1, le=64, description="candidates a round, written in parallel")
    rounds: int = Field(
        default=10, ge=1, le=1000, description="rounds a gap before the closest candidate is taken"
    )
    references: int = Field(
        default=16, ge=2, le=200, description="references shown, half below and half above the target"
    )
    reference_sd: float = Field(
        default=0.03, gt=0, description="children serve as references up to this posterior sd of z"
    )
    tolerance: float | None = Field(
        default=None,
        gt=0,
        le=0.5,
        description="expected |z - z*| that fills a gap; default min(0.02, 0.05 x gap width)",
    )
    floor_attempts: int = Field(
        default=1, ge=1, description="attempts of every model at every judged candidate"
    )
    max_block: int = Field(
        default=8, ge=1, description="largest batch: attempts of every model at one candidate"
    )
    max_attempts: int = Field(
        default=256, ge=1, description="attempts of one model at one candidate, at most"
    )
    prior_scale: float = Field(
        default=0.15, gt=0, description="scale (z) of the Student t (4 df) prior of a candidate"
    )
    strategy: Literal["adaptive", "fixed"] = Field(
        default="adaptive", description="how attempts are bought; fixed: the same for every candidate"
    )
    fixed_attempts: int = Field(
        default=16, ge=1, description="fixed strategy: attempts of every model at every candidate"
    )
    fixed_tau: float = Field(
        default=0.01, gt=0, description="fixed strategy: distance of an estimate from the target that will do"
    )
    relative_tolerance: bool = Field(
        default=False,
        description="where the pool is too blind for the tolerance within max_attempts, fill at what it can tell, "
        "up to a sixth of the gap's width",
    )
    until_max_gap: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="go on with the widest gap left until none is wider than this (z)",
    )
    at_once: int = Field(
        default=1,
        ge=1,
        le=1024,
        description="gaps that are searched at the same time; they do not learn from each other",
    )
    confirm: bool = Field(
        default=True, description="confirm a chosen candidate by fresh attempts of all models"
    )
    confirm_gaps: bool = Field(
        default=False,
        description="before writing for a gap that is not resolved, ask the original items again that may lie in it",
    )
    check_limit: float = Field(
        default=4.0,
        ge=0,
        description="answers that this may take at most, in units of the attempts that the plan expects of a search",
    )
    resolved_only: bool = Field(default=False, description="search only gaps that are resolved")
    record: bool | None = Field(
        default=None,
        description="begin with where this rewriter's items of earlier runs landed, and hand on where they land; "
        "unset: with models of your own, not in the embedded worlds",
    )
    near_duplicate: float = Field(
        default=0.92, gt=0, le=1, description="similarity from which a text counts as a copy"
    )
    max_turns: int = Field(default=6, ge=2, description="model turns of one rewrite")
    max_refusals: int = Field(
        default=2, ge=0, description="refused submissions that are returned to the rewriter"
    )
    concurrency: int = Field(default=16, ge=1, le=1024, description="calls in flight at one endpoint")
    timeout: float = Field(default=120.0, gt=0, description="seconds for one call")
    prompts: Path | None = Field(
        default=None, description="folder of prompt files that override the built-in ones"
    )
    anchors: int = Field(
        default=5,
        ge=0,
        description="items of the log re-asked before a search, to see whether a model changed",
    )
    anchor_attempts: int = Field(default=8, ge=1, description="attempts of every model at every anchor")
    accept_drift: bool = Field(
        default=False, description="go on although an ability has moved by more than its error"
    )


def _seconds(value: Any) -> Any:
    """A duration as people write it, e.g. "90m" or "1.5h", in seconds; numbers are seconds already."""
    if not isinstance(value, str):
        return value
    match = DURATION.fullmatch(value.strip().lower())
    if match is None:
        raise PydanticCustomError("duration", "this is no duration; write seconds or e.g. 90m, 8h, 2d")
    return float(match[1]) * UNITS[match[2] or "s"]


DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class BudgetSettings(_Section):
    """What a run may spend in all; unset is without limit."""

    max_calls: int | None = Field(default=None, ge=0, description="requests sent, repeated ones included")
    max_tokens: int | None = Field(default=None, ge=0, description="tokens sent and received")
    max_cost: float | None = Field(
        default=None, ge=0, description="in the currency of the prices; every endpoint then needs them"
    )
    max_time: Annotated[float | None, BeforeValidator(_seconds)] = Field(
        default=None, gt=0, description="seconds, or e.g. 90m, 8h, 2d"
    )


class AnswerSettings(_Section):
    """How replies of the pool are counted, and how small it may become."""

    no_answer: Literal["missing", "wrong"] = Field(
        default="missing",
        description="how a finished reply without an answer, or one cut off at max_tokens, counts",
    )
    min_models: int = Field(
        default=6, ge=2, description="with fewer models left, or fewer than half, a run pauses"
    )
    shuffle_options: bool = Field(
        default=True, description="options of an item in another order at every attempt, where it allows that"
    )


class QualitySettings(_Section):
    """What ``quality`` and ``select`` take from Benchmark^2; defaults are the paper's."""

    epsilon: float = Field(
        default=0.02, ge=0, lt=1, description="DS: scores that differ by more are told apart"
    )
    steepness: float = Field(
        default=12.0,
        gt=0,
        allow_inf_nan=False,
        description="lambda of CAD, which is exp(-lambda x mean inversion)",
    )
    weights: tuple[NonNegative, NonNegative, NonNegative] = Field(
        default=(0.3, 0.3, 0.4), description="weights of CBRC, DS and CAD in BQS"
    )
    keep: float = Field(
        default=0.35, gt=0, description="what `select` keeps: a share below 1, or a number of items"
    )
    draws: int = Field(default=1000, ge=2, description="bootstrap samples of `quality`")


class TracingSettings(_Section):
    """Tracing of calls by LangSmith, with the user's own LANGSMITH_* variables."""

    enabled: bool = Field(
        default=False, description="send prompts and replies to LangSmith; never by a variable alone"
    )


class WorldSettings(_Section):
    """Settable rates of the embedded endpoint; unset ones are the world's own defaults."""

    model_config = ConfigDict(extra="allow", frozen=True)

    def given(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class Settings(_Section):
    """Everything that can be set, in one model."""

    search: SearchSettings = SearchSettings()
    world: WorldSettings = WorldSettings()
    rewriter: EndpointSettings | None = None
    judge: EndpointSettings | None = None
    grader: EndpointSettings | None = Field(
        default=None, description="asked only where the comparison of an answer with its key cannot tell"
    )
    pool: tuple[PoolEntry, ...] = ()
    budget: BudgetSettings = BudgetSettings()
    answer: AnswerSettings = AnswerSettings()
    grading: GradingSettings = GradingSettings()
    quality: QualitySettings = QualitySettings()
    tracing: TracingSettings = TracingSettings()
    allow_http: bool = Field(
        default=False, description="let texts and keys go to other machines without encryption"
    )
    fresh: bool = Field(default=False, description="take no replies that other runs paid for from the ledger")

    @model_validator(mode="after")
    def _together(self) -> Settings:
        """What can only be said of all endpoints at once."""
        everyone = list(self.endpoints())
        if not self.allow_http:
            refuse_plain_http(everyone)
        refuse_twins(self.pool)
        refuse_two_limits(everyone)
        return self

    def endpoints(self) -> Iterator[tuple[tuple[str | int, ...], EndpointSettings]]:
        """Every endpoint with its place in the settings."""
        if self.rewriter is not None:
            yield ("rewriter",), self.rewriter
        if self.judge is not None:
            yield ("judge",), self.judge
        if self.grader is not None:
            yield ("grader",), self.grader
        for number, entry in enumerate(self.pool):
            yield ("pool", number), entry


class _Sources(BaseSettings, Settings):
    """The settings as flags, environment and file give them together."""

    model_config = SettingsConfigDict(
        env_prefix="BENCHFILL_", env_nested_delimiter="__", extra="forbid", toml_file=SETTINGS_FILE
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def load_settings(**flags: Any) -> Settings:
    """Read the settings; a bad value or an unknown key is one line that names it, and its line in the file.

    Parameters
    ----------
    flags
        What was given on the command line, e.g. ``search={"rounds": 3}``.

    Raises
    ------
    InputError
        kind ``settings``.
    """
    try:
        return Settings.model_validate(_Sources(**flags).model_dump())
    except ValidationError as error:
        raise explained(error, Settings, flags, SETTINGS_FILE) from None
    except (SettingsError, UnicodeDecodeError) as error:
        raise InputError(
            f"The settings cannot be read: {str(error).splitlines()[0]}.",
            "See benchfill.toml and the variables BENCHFILL_*.",
            kind="settings",
        ) from None
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        raise InputError(
            f"{SETTINGS_FILE} is not TOML: {error}.",
            kind="settings",
            path=SETTINGS_FILE,
            lines=(int(at[1]),) if at else (),
        ) from None


def benchfill_home() -> Path:
    """The folder of runs and of the ledger: BENCHFILL_HOME, else the platform's data folder of the user."""
    named = os.environ.get("BENCHFILL_HOME")
    if named:
        return Path(named).expanduser().resolve()
    import platformdirs

    return Path(platformdirs.user_data_path("benchfill"))
