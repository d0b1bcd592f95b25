"""``benchfill power``: which gains a benchmark can see, of what width, with how many attempts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchfill.commands.axis_options import (
    AcceptOption,
    EngineOption,
    ItemsOption,
    JsonOption,
    MapOption,
    RowsOption,
    SeedOption,
    ThresholdOption,
    fit_axis,
    read_log,
    read_places,
)
from benchfill.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from benchfill.calibration.fit import Fit

__all__ = ["power"]


def power(
    log: Annotated[
        Path | None, typer.Argument(metavar="[LOG]", help="Response log; or name --difficulties.")
    ] = None,
    difficulties: Annotated[
        list[Path] | None,
        typer.Option("--difficulties", help="Places of items: diagnose --json, or export beside it."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Model of the log; without it the one in the middle.")
    ] = None,
    theta: Annotated[
        float | None, typer.Option("--theta", help="Ability in logits, instead of a model of the log.")
    ] = None,
    accuracy: Annotated[
        float | None, typer.Option("--accuracy", help="Or its mean success, from which the ability follows.")
    ] = None,
    width: Annotated[float | None, typer.Option("--width", help="Width of the lift in z.")] = None,
    lift: Annotated[float, typer.Option("--lift", help="How much success rises inside the width.")] = 0.4,
    attempts: Annotated[
        int, typer.Option("--attempts", min=1, help="Attempts on every item, before and after.")
    ] = 16,
    level: Annotated[float, typer.Option("--level", min=0.0001, max=0.5, help="Level of the tests.")] = 0.05,
    wanted: Annotated[
        float, typer.Option("--power", min=0.01, max=0.999, help="The power that counts as seen.")
    ] = 0.8,
    simulations: Annotated[
        int, typer.Option("--simulations", min=20, help="Simulated pairs of logs for each power.")
    ] = 200,
    items: ItemsOption = None,
    map_: MapOption = None,
    rows: RowsOption = None,
    threshold: ThresholdOption = None,
    engine: EngineOption = "nuts",
    seed: SeedOption = 1,
    accept_unconverged: AcceptOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say what a benchmark can see: the power against a lift of a width, wherever on the axis it lies.

    Examples:

      benchfill power responses.csv --width 0.15 --lift 0.4 --attempts 16

      benchfill power --difficulties diagnosis.json --accuracy 0.35 --width 0.1
    """
    import json

    import numpy as np

    from benchfill.calibration.power import (
        Design,
        attempts_needed,
        check_lift,
        items_needed,
        smallest_width,
        worst_case,
    )
    from benchfill.display.detection import power_document, print_power
    from benchfill.display.diagnosis import FitProgress

    notes: list[str] = []
    fit: Fit | None = None
    if (log is None) == (not difficulties):
        raise InputError(
            "Name a response log, or places with --difficulties.", "For example: benchfill power log.csv"
        )
    check_lift(lift, width, attempts)
    if log is not None:
        found = read_log(log, items=items, mapping=map_, rows=rows, threshold=threshold)
        if model is not None and model not in found.log.models:
            raise InputError(f"The response log has no model {model!r}.", kind="unknown_id")
        fit, scale = fit_axis(
            found.log,
            engine=engine,
            seed=seed,
            guessing=found.guessing,
            accept_unconverged=accept_unconverged,
        )
        notes += [*found.notes, *fit.notes]
        z, b, chance = scale.to_z(fit.b), fit.b, fit.guessing
    else:
        places = read_places(difficulties or [])
        if places.ends is None:
            raise InputError(
                "The difficulty files do not say how long the axis is in logits.",
                "Use the document of benchfill diagnose LOG --json.",
                kind="no_axis",
            )
        z = np.array([places.z[item] for item in sorted(places.z)])
        b = places.ends[0] + z * (places.ends[1] - places.ends[0])
        chance = np.zeros(b.size)
    ability, who = _ability(fit, model, theta, accuracy, b, chance)
    success = chance + (1.0 - chance) / (1.0 + np.exp(b - ability))
    design = Design(z, success, lift, level, simulations, seed)
    with FitProgress() as progress:
        worst = None if width is None else worst_case(design, width, attempts)
        needed = None if width is None else attempts_needed(design, width, wanted, progress)
        widths = smallest_width(design, attempts, wanted, progress)
    document = power_document(
        design,
        worst,
        widths,
        needed,
        items_needed=None if width is None else items_needed(z, width),
        model={"name": who, "theta": ability, "accuracy": float(success.mean())},
        asked={"width": width, "attempts": attempts, "power": wanted},
        notes=notes,
    )
    if as_json:
        typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
    else:
        print_power(document)


def _ability(
    fit: Fit | None,
    model: str | None,
    theta: float | None,
    accuracy: float | None,
    b: NDArray[np.float64],
    chance: NDArray[np.float64],
) -> tuple[float, str | None]:
    """Ability in logits, and the model that has it where it is one of the log."""
    import numpy as np
    from scipy.optimize import brentq

    if sum(each is not None for each in (model, theta, accuracy)) > 1:
        raise InputError("Name one of --model, --theta and --accuracy.")
    if theta is not None:
        if not np.isfinite(theta):
            raise InputError("--theta is a finite number of logits.")
        return theta, None
    if accuracy is not None:

        def excess(ability: float) -> float:
            return float(np.mean(chance + (1.0 - chance) / (1.0 + np.exp(b - ability)))) - accuracy

        lo, hi = float(b.min()) - 30.0, float(b.max()) + 30.0
        if not (0.0 < accuracy < 1.0 and excess(lo) < 0.0 < excess(hi)):
            raise InputError(
                f"No ability has a mean success of {accuracy:g} on these items.",
                "Name a number between the guessing rate and 1.",
            )
        return float(brentq(excess, lo, hi)), None
    if fit is None:
        raise InputError(
            "The difficulties alone name no model.", "Say how able it is: --accuracy 0.35 or --theta 0.5"
        )
    if model is None:
        middle = sorted(range(len(fit.models)), key=lambda row: (fit.theta[row], fit.models[row]))
        row = middle[(len(middle) - 1) // 2]
    else:
        row = fit.models.index(model)
    return float(fit.theta[row]), fit.models[row]
