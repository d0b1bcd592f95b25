"""Before the search: read what the user brings, fit and freeze the scale, choose the gaps. Each step once a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from benchfill.calibration.fit import Fit, fit_1pl
from benchfill.calibration.scale import Scale, minmax_scale
from benchfill.errors import GateRefused, InputError
from benchfill.graph.benchmark import Benchmark, read_benchmark
from benchfill.graph.gap_check import with_p_empty
from benchfill.graph.plan import GapRequest, plan_gaps
from benchfill.memory.pool import Pool
from benchfill.memory.records import Estimate, ScaleRow
from benchfill.settings import Settings
from benchfill.worlds.settings import ReplaySettings, SimulatedSettings, read_settings
from benchfill.worlds.simulated.language import read_question
from benchfill.worlds.simulated.respondents import RESPONDENTS

__all__ = ["Inputs", "freeze_scale", "make_plan", "read_inputs", "world_config"]

SCALE_ID = "frozen"
WORLD_SETTINGS = {"simulated": SimulatedSettings, "replay": ReplaySettings}
# Draws of the abilities that are kept: more change a posterior by less than their own Monte Carlo error.
KEPT_DRAWS = 200


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a run starts from; `world` is empty where the endpoints of the settings are asked."""

    world: str
    benchmark: Benchmark
    bank: Benchmark | None = None
    notes: list[str] = field(default_factory=list)


def read_inputs(
    *,
    world: str,
    items: Path | None,
    responses: Path | None,
    bank_items: Path | None,
    bank_responses: Path | None,
    mapping: dict[str, str] | None = None,
    min_attempts: int = 16,
) -> Inputs:
    """Read the files of a run, or the packaged sample where none is named.

    Parameters
    ----------
    world
        ``simulated`` or ``replay``; empty for the endpoints of the settings.
    min_attempts
        Replay: models with fewer logged attempts on a bank item are left out and named in the notes.

    Raises
    ------
    InputError
        A file is unusable, or the files named do not belong to the world.
    """
    if world == "simulated":
        return Inputs(world, _simulated_benchmark(items, responses, bank_items, bank_responses, mapping))
    if world and world not in WORLD_SETTINGS:
        raise InputError(f"There is no world {world!r}.", f"Choose from {', '.join(WORLD_SETTINGS)}.")
    if not world:
        return _inputs_of_endpoints(items, responses, mapping)
    named = {
        "--items": items,
        "--responses": responses,
        "--bank-items": bank_items,
        "--bank-responses": bank_responses,
    }
    missing = [flag for flag, path in named.items() if path is None]
    if missing or items is None or responses is None or bank_items is None or bank_responses is None:
        raise InputError(
            f"The replay world needs {', '.join(missing)}.", "It replays logged answers to real items."
        )
    benchmark = read_benchmark(items.stem, items, responses, mapping)
    bank = read_benchmark(bank_items.stem, bank_items, bank_responses, mapping)
    return _replay_inputs(benchmark, bank, min_attempts)


def _simulated_benchmark(
    items: Path | None,
    responses: Path | None,
    bank_items: Path | None,
    bank_responses: Path | None,
    mapping: dict[str, str] | None,
) -> Benchmark:
    """The packaged sample, or what was merged from it: the simulated models read no other questions."""
    sample = Path(str(files("benchfill.worlds.simulated") / "sample"))
    if items is None and responses is None and bank_items is None and bank_responses is None:
        return read_benchmark("sample", sample / "items.jsonl", sample / "responses.csv")
    if items is not None and responses is not None and bank_items is None and bank_responses is None:
        benchmark = read_benchmark("sample", items, responses, mapping)
        unread = [item.id for item in benchmark.items if read_question(item.question) is None]
        strangers = [model for model in benchmark.log.models if model not in RESPONDENTS]
        if not unread and not strangers:
            return benchmark
    raise InputError(
        "The simulated models know only the sample benchmark, and what was merged from it.",
        "Leave --items and --responses away, or use --world replay with a bank of answered items.",
    )


def _inputs_of_endpoints(
    items: Path | None, responses: Path | None, mapping: dict[str, str] | None
) -> Inputs:
    if items is None and responses is None:
        raise InputError(
            "The endpoints of benchfill.toml need --items and --responses.",
            "Name the items of your benchmark, or try the sample: --world simulated.",
        )
    if responses is None:
        raise InputError(
            "There is no response log: --responses names none.",
            f"The pool makes one: benchfill answer {items} --attempts 8 --out responses.jsonl",
            kind="no_log",
        )
    return Inputs("", read_benchmark((items or responses).stem, items, responses, mapping))


def _replay_inputs(benchmark: Benchmark, bank: Benchmark, min_attempts: int) -> Inputs:
    """Both logs over the models that they share and that have attempts enough in the bank."""
    shared = [model for model in benchmark.log.models if model in set(bank.log.models)]
    fewest = {model: int(bank.log.attempts[bank.log.models.index(model)].min()) for model in shared}
    models = [model for model in shared if fewest[model] >= min_attempts]
    left_out = sorted(set(benchmark.log.models) - set(models))
    notes = [*benchmark.notes, *bank.notes]
    if left_out:
        reasons = ", ".join(f"{model} ({fewest.get(model, 0)})" for model in left_out)
        notes.append(
            f"Left out, with fewer than {min_attempts} logged attempts on some bank item: {reasons}."
        )
    if len(models) == 1:
        raise InputError(
            f"Only one model, {models[0]}, has enough logged attempts: difficulty needs models that differ.",
            "Give logs of several models.",
            kind="no_models",
        )
    if not models:
        raise InputError("No model has enough logged attempts in the bank.", notes[-1], kind="no_models")
    both = set(benchmark.log.items) & set(bank.log.items)
    if both:
        raise InputError(
            f"{len(both)} items stand in the benchmark and in the bank, first {min(both)!r}.",
            "Split them: a bank item may not be in the benchmark.",
            kind="duplicate_item",
        )
    return Inputs(
        "replay",
        replace(benchmark, log=benchmark.log.select_models(models)),
        replace(bank, log=bank.log.select_models(models)),
        notes,
    )


def world_config(inputs: Inputs, settings: Settings) -> dict[str, Any]:
    """The document the embedded endpoint is started with.

    Raises
    ------
    InputError
        A setting of the world is unknown or impossible.
    """
    read_settings(WORLD_SETTINGS[inputs.world], settings.world.given())
    config: dict[str, Any] = {"world": inputs.world, "settings": settings.world.given()}
    if inputs.bank is not None:
        for name, part in (("benchmark", inputs.benchmark), ("bank", inputs.bank)):
            config[f"{name}_items"] = [
                {
                    "id": item.id,
                    "question": item.question,
                    "answer": item.answer,
                    "solution": item.solution,
                    "choices": list(item.choices),
                    "answer_type": item.answer_type,
                }
                for item in part.items
            ]
            config[f"{name}_responses"] = [
                [model, item, *part.responses()[item][row]]
                for item in part.log.items
                for row, model in enumerate(part.log.models)
            ]
    return config


def freeze_scale(
    pool: Pool, benchmark: Benchmark, *, seed: int, progress: Callable[[float, str], None]
) -> Fit:
    """Fit the log, refuse a failed fit, keep the frozen scale and the originals' places on it.

    Raises
    ------
    GateRefused
        The fit did not pass.
    """
    guessing = np.asarray([item.guessing for item in benchmark.items])
    fit = fit_1pl(benchmark.log, engine="nuts", guessing=guessing, seed=seed, progress=progress)
    if not fit.gate.passed:
        raise GateRefused(
            f"The fit of the response log failed its gate: {' '.join(fit.gate.reasons)}",
            "`benchfill diagnose` shows it in full.",
        )
    scale = minmax_scale(fit)
    step = np.linspace(0, len(fit.theta_draws) - 1, min(KEPT_DRAWS, len(fit.theta_draws))).round().astype(int)
    row = ScaleRow(
        id=SCALE_ID,
        name=scale.name,
        lo=scale.lo,
        hi=scale.hi,
        engine=fit.engine,
        seed=fit.seed,
        models=list(fit.models),
        theta=fit.theta.tolist(),
        theta_draws=fit.theta_draws[step].tolist(),
        gate={
            "rhat_max": fit.gate.rhat_max,
            "ess_min": fit.gate.ess_min,
            "divergences": fit.gate.divergences,
            "passed": fit.gate.passed,
        },
        versions=dict(fit.versions),
        mu_b_draws=fit.mu_b_draws[step].tolist(),
        sigma_b_draws=fit.sigma_b_draws[step].tolist(),
    )
    attempts = benchmark.log.attempts.sum(axis=0)
    estimates = [
        Estimate(
            item=item,
            scale=SCALE_ID,
            source="offline",
            b=float(fit.b[index]),
            b_sd=float(fit.b_sd[index]),
            z=float(scale.to_z(fit.b[index])),
            z_sd=float(fit.b_sd[index] / scale.width),
            z_lo90=float(scale.to_z(fit.b_lo90[index])),
            z_hi90=float(scale.to_z(fit.b_hi90[index])),
            attempts=int(attempts[index]),
        )
        for index, item in enumerate(fit.items)
    ]
    pool.save_scale(row, estimates)
    return fit


def make_plan(pool: Pool, request: GapRequest, settings: Settings, *, models: Sequence[str]) -> None:
    """Choose the gaps from the frozen places and keep them.

    Parameters
    ----------
    models
        Those that will be asked: what a gap takes depends on their abilities.
    """
    row = pool.scale()
    if row is None:
        raise LookupError("the scale is not frozen yet")
    z = original_places(pool)
    scale = Scale(row.name, row.lo, row.hi)
    theta = np.asarray(
        [theta for model, theta in zip(row.models, row.theta, strict=True) if model in set(models)]
    )
    rows = plan_gaps(z, request, scale=scale, theta=theta, settings=settings.search)
    pool.save_gaps(with_p_empty(pool, rows))


def original_places(pool: Pool) -> list[float]:
    """z of the original items, by id."""
    return [estimate.z for estimate in pool.estimates().values() if estimate.source == "offline"]
