"""Logs of benchmarks as ``diagnose``, ``quality`` and ``select`` take them: their names, and their models' families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.calibration.response_log import ResponseLog
    from benchfill.logs.importing import ImportOptions

__all__ = ["Benchmark", "benchmark_names", "merge_families", "read_benchmark"]

# Names of files that say nothing of the benchmark: their folder does.
_BARE_NAMES = frozenset({"responses", "responses_long", "responses_wide", "log", "results", "samples"})
MODELS_FILE = "models.csv"


class Benchmark(NamedTuple):
    """A log whose identical repeats count once, family and size of its models, and notes.

    ``stated`` are the models whose family and size a table states; those of the others are read off their names.
    """

    log: ResponseLog
    families: dict[str, tuple[str, float | None]]
    stated: frozenset[str]
    notes: tuple[str, ...]


def benchmark_names(paths: Sequence[Path]) -> list[str]:
    """Names of the benchmarks after their files or, where these say nothing or are alike, their folders."""
    names = []
    for path in paths:
        stem = path.name.split(".")[0]
        bare = not path.is_dir() and (stem in _BARE_NAMES or not stem)
        names.append(path.absolute().parent.name if bare else path.absolute().name if path.is_dir() else stem)
    return [
        f"{path.absolute().parent.name}/{name}" if names.count(name) > 1 else name
        for path, name in zip(paths, names, strict=True)
    ]


def read_benchmark(paths: Sequence[Path], options: ImportOptions) -> Benchmark:
    """Read one benchmark from one or several logs.

    Families and sizes are those of ``options.models``, else of a ``models.csv`` beside the first log, else of the
    names. Mixtures of experts have no size whatever a table says: it stands for no rung of a ladder.
    """
    from dataclasses import replace

    from benchfill.calibration.data_checks import collapse_repeats, find_repeats
    from benchfill.logs.importing import load_responses
    from benchfill.logs.model_names import parse_model_name, read_models
    from benchfill.logs.text import listing

    beside = paths[0].absolute().parent / MODELS_FILE
    if options.models is None and not paths[0].is_dir() and beside.is_file():
        options = replace(options, models=beside)
    found = load_responses(paths, options)
    # Texts are of no use here, so their absence is no news.
    report = replace(found.report, without_text={}, identical_repeats=[])
    notes = report.warnings()
    repeats = [each.model for each in find_repeats(found.log)]
    log = collapse_repeats(found.log, repeats)
    if repeats:
        notes.append(f"Repeats are identical in every cell: one attempt, not several: {listing(repeats)}.")
    families = {model: (each.family, each.size_b) for model, each in found.report.names().items()}
    mixtures = [
        model for model, (_, size) in families.items() if size is not None and parse_model_name(model).mixture
    ]
    families |= {model: (families[model][0], None) for model in mixtures}
    if mixtures:
        notes.append(f"Mixtures of experts are on no ladder of sizes: {listing(mixtures)}.")
    stated = frozenset() if options.models is None else frozenset(read_models(options.models))
    return Benchmark(log, families, stated, tuple(notes))


def merge_families(benchmarks: Mapping[str, Benchmark]) -> dict[str, tuple[str, float | None]]:
    """Family and size of every model; what a table states goes before what a name says.

    Raises
    ------
    InputError
        Two tables differ (kind ``family_conflict``).
    """
    merged: dict[str, tuple[str, float | None]] = {}
    stated: dict[str, str] = {}
    for name, found in benchmarks.items():
        for model, family in found.families.items():
            if model not in found.stated:
                merged.setdefault(model, family)
            elif stated.setdefault(model, name) == name or merged[model] == family:
                merged[model] = family
            else:
                raise InputError(
                    f"Family and size of model {model!r} differ between the tables of {stated[model]} and {name}.",
                    "Name one table for all with --models.",
                    kind="family_conflict",
                )
    return merged
