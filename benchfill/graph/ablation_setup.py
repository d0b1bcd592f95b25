"""What an ablation starts from: the benchmark, its frozen scale, and the gaps that are searched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.new_item_fit import lowest_slope
from benchfill.calibration.scale import minmax_scale
from benchfill.calibration.search_loop import Frozen
from benchfill.calibration.strategy import GapGoal
from benchfill.errors import GateRefused
from benchfill.graph.ablation import Ablation
from benchfill.graph.benchmark import Benchmark
from benchfill.graph.plan import GapRequest, plan_gaps
from benchfill.graph.prepare import read_inputs, world_config
from benchfill.settings import Settings

__all__ = ["ablation_of", "prepare_ablation"]

# Draws of the abilities each search carries; a run keeps 200.
DRAWS = 60


def prepare_ablation(
    *,
    world: str,
    items: Path | None,
    responses: Path | None,
    bank_items: Path | None,
    bank_responses: Path | None,
    gaps: int,
    settings: Settings,
    fixed_attempts: int,
    fixed_tau: float,
) -> Ablation:
    """Read the benchmark, fit it (engine ``laplace``), choose the widest gaps.

    Raises
    ------
    InputError
        A file is unusable.
    GateRefused
        The fit failed its gate.
    """
    inputs = read_inputs(
        world=world, items=items, responses=responses, bank_items=bank_items, bank_responses=bank_responses
    )
    return ablation_of(
        inputs.benchmark,
        world_config(inputs, settings),
        gaps=gaps,
        settings=settings,
        fixed_attempts=fixed_attempts,
        fixed_tau=fixed_tau,
    )


def ablation_of(
    benchmark: Benchmark,
    config: dict[str, Any],
    *,
    gaps: int,
    settings: Settings,
    fixed_attempts: int = 16,
    fixed_tau: float = 0.01,
) -> Ablation:
    """An ablation on a benchmark that is there already.

    Parameters
    ----------
    config
        Of the world that answers.

    Raises
    ------
    GateRefused
        The fit failed its gate.
    """
    guessing = np.asarray([item.guessing for item in benchmark.items])
    fit = fit_1pl(benchmark.log, engine="laplace", guessing=guessing, seed=0)
    if not fit.gate.passed:
        raise GateRefused(
            f"The fit of the response log failed its gate: {' '.join(fit.gate.reasons)}",
            "`benchfill diagnose` shows it in full.",
        )
    scale = minmax_scale(fit)
    places = dict(zip(fit.items, np.asarray(scale.to_z(fit.b)).tolist(), strict=True))
    step = np.linspace(0, len(fit.theta_draws) - 1, min(DRAWS, len(fit.theta_draws))).round().astype(int)
    rows = plan_gaps(
        list(places.values()), GapRequest(count=gaps), scale=scale, theta=fit.theta, settings=settings.search
    )
    return Ablation(
        config=config,
        items=benchmark.items,
        places=places,
        models=fit.models,
        frozen=Frozen(
            scale,
            fit.theta,
            fit.theta_draws[step],
            lowest_slope(fit.theta, benchmark.log.correct, benchmark.log.attempts, guessing),
        ),
        gaps=tuple(GapGoal(row.lo, row.hi, row.target, row.tolerance) for row in rows),
        settings=settings.search,
        fixed_attempts=fixed_attempts,
        fixed_tau=fixed_tau,
    )
