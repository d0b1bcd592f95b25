"""``benchfill detect``: has a model gained between two logs, and could the benchmark have seen it?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchfill.commands.axis_options import (
    AcceptOption,
    EngineOption,
    JsonOption,
    RowsOption,
    SeedOption,
    ThresholdOption,
    fit_axis,
    read_log,
    read_places,
)
from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.calibration.pairing import Pairing
    from benchfill.calibration.response_log import ResponseLog

__all__ = ["detect"]


def detect(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="Response log of the earlier model.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Response log of the later model.")],
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME|BEFORE=AFTER", help="Model in both logs, or its name in each."),
    ] = None,
    difficulties: Annotated[
        list[Path] | None,
        typer.Option("--difficulties", help="Places of items: diagnose --json, export, or CSV item_id,z."),
    ] = None,
    axis: Annotated[
        Path | None, typer.Option("--axis", help="Response log of a pool of models, to lay the axis with.")
    ] = None,
    added: Annotated[
        str | None, typer.Option("--added", metavar="IDS", help="Added items: ids with commas, or a file.")
    ] = None,
    width: Annotated[
        float | None, typer.Option("--width", help="Width in z of the lift you want to see.")
    ] = None,
    level: Annotated[float, typer.Option("--level", min=0.0001, max=0.5, help="Level of the tests.")] = 0.05,
    randomisations: Annotated[
        int, typer.Option("--randomisations", min=19, help="Number of re-deals.")
    ] = 9999,
    greedy: Annotated[
        bool, typer.Option("--greedy", help="Repeats are copies of one answer: count them once.")
    ] = False,
    rows: RowsOption = None,
    threshold: ThresholdOption = None,
    engine: EngineOption = "nuts",
    seed: SeedOption = 1,
    accept_unconverged: AcceptOption = False,
    as_json: JsonOption = False,
) -> None:
    """Test whether a model gained between two logs, and say what the benchmark could have seen.

    The attempts of each item are re-dealt between before and after: a test of the mean gain, and a scan of
    windows along the difficulty axis. Original and added items are always reported separately as well.

    Examples:

      benchfill detect step-1000.csv step-2000.csv --difficulties diagnosis.json

      \b
    benchfill detect step-1000.csv step-2000.csv --axis pool.csv \\
      --added new-items.jsonl --width 0.1
    """
    import json

    from benchfill.calibration.detection import check_question
    from benchfill.calibration.detection import detect as run_tests
    from benchfill.calibration.pairing import one_attempt_each, pair_logs
    from benchfill.display.detection import detection_document, print_detection
    from benchfill.display.diagnosis import FitProgress
    from benchfill.logs.item_lines import read_item_ids

    if difficulties and axis is not None:
        raise InputError("The axis comes from --difficulties or from --axis, not from both.")
    sides = [read_log(path, rows=rows, threshold=threshold) for path in (before, after)]
    logs = [one_attempt_each(side.log) if greedy else side.log for side in sides]
    pairing = pair_logs(logs[0], logs[1], _pairs(model, logs[0], logs[1]))
    notes = [*dict.fromkeys(note for side in sides for note in side.notes), *_pairing_notes(pairing)]
    new = read_item_ids(added) if added is not None else ()
    check_question(pairing, new, width)
    options: dict[str, Any] = {"engine": engine, "seed": seed, "accept_unconverged": accept_unconverged}
    if difficulties:
        places, source = read_places(difficulties).z, "difficulties"
    elif axis is not None:
        places, source = _pool_places(
            read_log(axis, rows=rows, threshold=threshold).log, pairing, notes, options
        )
    else:
        places, source = _own_places(pairing, notes, options)
    missing = [item for item in pairing.items if item not in places]
    if missing:
        notes.append(
            f"{len(missing)} of {len(pairing.items)} items have no place on the axis: they count in the mean test, not "
            f"in the scan or the gap; first {missing[0]!r}. --difficulties places added items too (benchfill export)."
        )
    with FitProgress() as progress:
        result = run_tests(
            pairing,
            places,
            added=new,
            width=width,
            randomisations=randomisations,
            seed=seed,
            progress=progress,
        )
    document = detection_document(result, pairing, source, level, notes)
    if as_json:
        typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
    else:
        print_detection(document)


def _pairs(named: list[str] | None, before: ResponseLog, after: ResponseLog) -> list[tuple[str, str]] | None:
    if not named:
        return None
    pairs = []
    for name in named:
        first, mark, second = name.partition("=")
        if not mark or (name in before.models and name in after.models):
            first = second = name
        pairs.append((first, second))
    return pairs


def _pairing_notes(pairing: Pairing) -> list[str]:
    from benchfill.calibration.pairing import identical_repeats

    notes = [
        f"{len(items)} items were asked only {side} and drop out; first {items[0]!r}."
        for side, items in (("before", pairing.only_before), ("after", pairing.only_after))
        if items
    ]
    for side, log in (("before", pairing.before), ("after", pairing.after)):
        names = [pairing.models[row][side == "after"] for row in identical_repeats(log)]
        if names:
            notes.append(
                f"All repeats of {', '.join(names)} {side} agree on every item, as under greedy decoding or a shared "
                "seed: they are one attempt, not several, and the p-values are far too small. Use --greedy."
            )
    if all(
        (getattr(pairing.before, name) == getattr(pairing.after, name)).all()
        for name in ("correct", "attempts")
    ):
        notes.append("Before and after are the same counts: is it the same file twice?")
    return notes


def _pool_places(
    pool: ResponseLog, pairing: Pairing, notes: list[str], options: dict[str, Any]
) -> tuple[dict[str, float], str]:
    """Places from the pool without the tested models, whose answers must not choose where the scan looks."""
    tested = {name for pair in pairing.models for name in pair}
    others = [name for name in pool.models if name not in tested]
    if not others:
        raise InputError("The log of --axis holds none but the tested models.", "Use the log of a pool.")
    left_out = len(pool.models) - len(others)
    if left_out:
        which = "The tested model is" if left_out == 1 else f"{left_out} tested models are"
        notes.append(f"{which} left out of the axis, which must not depend on the gain.")
    fit, scale = fit_axis(pool.select_models(others), **options)
    return dict(zip(fit.items, scale.to_z(fit.b).tolist(), strict=True)), "pool"


def _own_places(pairing: Pairing, notes: list[str], options: dict[str, Any]) -> tuple[dict[str, float], str]:
    """Places from both sides together; none where the items do not differ."""
    from benchfill.calibration.pairing import pooled_log

    notes.append(
        "The axis comes from these two logs taken together, which re-dealing does not change: the tests stay exact, "
        "but few models and attempts place items coarsely. --difficulties or a pool's log (--axis) place them better."
    )
    try:
        fit, scale = fit_axis(pooled_log(pairing), **options)
    except InputError as error:
        if error.kind != "no_variation":
            raise
        notes.append("The items do not differ in these logs: there is no axis, and no scan along it.")
        return {}, "none"
    return dict(zip(fit.items, scale.to_z(fit.b).tolist(), strict=True)), "both_logs"
