"""What the memory hands out and takes in: one dataclass a table, plain values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "AttemptRow",
    "Candidate",
    "CandidateStatus",
    "ConfirmationRow",
    "Estimate",
    "GapCheckRow",
    "GapRow",
    "GapStatus",
    "HitRow",
    "ItemFitRow",
    "JudgementRow",
    "RecheckRow",
    "RunRow",
    "ScaleRow",
]

CandidateStatus = Literal[
    "submitted", "no_submission", "refused", "rejected", "not_judged", "calibrating", "dropped", "accepted"
]
GapStatus = Literal["open", "filled", "accepted_outside_tolerance", "unfilled", "skipped", "refused"]


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run: what was asked for, under which seed and settings, and how it ended."""

    id: str
    seed: int
    world: str
    version: str
    settings: Mapping[str, Any]
    request: Mapping[str, Any]
    status: str = "prepared"
    world_version: str | None = None
    summary: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """The frozen scale: two constants in logits, and the frozen abilities with draws of their posterior."""

    id: str
    name: str
    lo: float
    hi: float
    engine: str
    seed: int
    models: Sequence[str]
    theta: Sequence[float]
    theta_draws: Sequence[Sequence[float]]
    gate: Mapping[str, Any]
    versions: Mapping[str, str]
    mu_b_draws: Sequence[float] | None = None
    sigma_b_draws: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """Where an item lies: posterior of its difficulty in logits (b) and on the frozen scale (z).

    Of a confirmed item the place is told by the fresh attempts alone, and the expected deviation by all.
    """

    item: str
    scale: str
    source: Literal["offline", "online"]
    b: float
    b_sd: float
    z: float
    z_sd: float
    z_lo90: float
    z_hi90: float
    attempts: int
    b_ml: float | None = None
    expected_deviation: float | None = None
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """One rewrite with its lineage, whatever became of it.

    Of an item written by hand the rewriter is "", the target that of the gap it belongs to, and ``replaces`` the item
    in whose place it stands, None where it stands in nobody's.
    """

    id: str
    item: str | None
    gap: int
    round: int
    writer: int
    target: float
    parent: str
    reference_ids: Sequence[str]
    status: CandidateStatus
    rewriter: str
    judge: str
    prompt_version: str
    prompt_hashes: Mapping[str, str]
    rationale: str = ""
    reason: str = ""
    calls: int = 0
    refusals: Sequence[Mapping[str, str]] = field(default_factory=list)
    prior_center: float | None = None
    prior_scale: float | None = None
    by_hand: Literal["", "edited", "added"] = ""
    replaces: str | None = None


@dataclass(frozen=True, slots=True)
class JudgementRow:
    """What the judge found; None is "it did not say"."""

    candidate: str
    status: Literal["accepted", "rejected", "not_judged"]
    blind_answer: str | None
    blind_agrees: bool | None
    valid: bool | None
    problems: Sequence[str]
    reason: str
    calls: int = 0


@dataclass(frozen=True, slots=True)
class ConfirmationRow:
    """Fresh attempts at a chosen candidate, numbered from ``first`` to ``stop - 1``, and what they said (z)."""

    candidate: str
    first: int
    stop: int
    tolerance: float
    verdict: Literal["confirmed", "refused"]
    z: float
    z_sd: float
    z_lo90: float
    z_hi90: float
    expected_deviation: float


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt of one model at one item; a missing one has its reason and counts nowhere."""

    item: str
    model: str
    attempt: int
    outcome: Literal["correct", "wrong", "missing"]
    reason: str
    extracted: str | None


@dataclass(frozen=True, slots=True)
class GapRow:
    """A gap that the run was asked to fill, and what became of it.

    Searches of one ``wave`` do not see each other: they begin with what was known before it. None before a search.
    """

    gap: int
    lo: float
    hi: float
    target: float
    tolerance: float
    expected_attempts: int | None
    status: GapStatus = "open"
    accepted: str | None = None
    rounds: int = 0
    p_empty: float | None = None
    wave: int | None = None


@dataclass(frozen=True, slots=True)
class RecheckRow:
    """An original item that was asked again, by attempts ``first`` to ``stop - 1`` of every model.

    Its place is told by all answers, those of the log and the new ones, and replaces that of the fit.
    """

    item: str
    first: int
    stop: int
    b: float
    b_sd: float
    z: float
    z_sd: float
    z_lo90: float
    z_hi90: float
    attempts: int


@dataclass(frozen=True, slots=True)
class GapCheckRow:
    """The check of a run's gaps: as they were first planned, what it may take, and whether it has ended."""

    id: str
    before: Sequence[Mapping[str, Any]]
    attempts_limit: int
    done: bool = False


@dataclass(frozen=True, slots=True)
class ItemFitRow:
    """How an accepted item's answers fit the frozen pool, as `calibration.predictive_fit` has it."""

    item: str
    p: float
    residual: float
    own_residual: float
    correlation: float | None
    own_correlation: float | None
    misfits: bool


@dataclass(frozen=True, slots=True)
class HitRow:
    """Where an item of an earlier run by the same rewriter landed (z), as `calibration.rewriter_record.Hit` has it."""

    run: str
    candidate: str
    target: float
    parent: float
    landed: float
    error: float
