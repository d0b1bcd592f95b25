"""``benchfill answer``: a response log, by asking the pool the original items."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchfill.commands.budget_options import Money, money_flags
from benchfill.commands.keys import AcceptBadKeys, refuse_bad_keys
from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.graph.answer_items import LogRequest
    from benchfill.memory.records import AttemptRow
    from benchfill.settings import Settings
    from benchfill.tools.meter import Meter

__all__ = ["answer", "offer_log"]

# Of a log that a search lacks: abilities are then known well enough for most items of a pool of six and more.
OFFERED_ATTEMPTS = 8


@money_flags(answers=True)
def answer(
    items: Annotated[Path, typer.Argument(metavar="ITEMS", help="Items of the benchmark (JSONL).")],
    attempts: Annotated[
        int, typer.Option("--attempts", min=1, max=4096, help="Of every model at every item.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="LOG", help="Response log to write (CSV).")],
    money: Money,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ask anew what an earlier command asked already.")
    ] = False,
    accept_bad_keys: AcceptBadKeys = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would ask and cost, and ask nothing.")
    ] = False,
    map_: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="FIELD=PATH", help="Name of a field, e.g. question=doc.problem."),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", min=0, max=2**53 - 1, help="Sent where send_seed is set.", envvar="BENCHFILL_SEED"
        ),
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Ask every model of the pool every item, and write the answers as a response log.

    The prompt, the parameters, the grading, the ledger and the budget are those of a search. Stopped, the same
    command goes on where it was, and asks nothing twice; run again, it asks only what has failed. Without a [[pool]]
    in benchfill.toml the simulated models answer, which know the sample benchmark only.

    Examples:

      benchfill answer items.jsonl --attempts 8 --out responses.csv

      benchfill answer items.jsonl --attempts 8 --out responses.csv --dry-run
    """
    from benchfill.logs.items import parse_mapping, read_items
    from benchfill.settings import load_settings

    settings = load_settings(**money)
    _check_out(out)
    file = read_items(items, mapping=parse_mapping(map_ or []))
    for note in file.notes:
        typer.echo(f"Note: {note}", err=True)
    request = _request(file.items, items, attempts, out, seed=seed, fresh=fresh)
    if dry_run:
        _print_forecast(request, settings, as_json=as_json)
        return
    refuse_bad_keys(file.items, settings.grading, accept=accept_bad_keys)
    _make_and_show(request, settings, out, as_json=as_json)


def offer_log(items: Path, settings: Settings, mapping: list[str] | None, *, seed: int) -> Path:
    """Offer to make the log that a search lacks, with what it is expected to cost; the log, once it is made.

    Raises
    ------
    InputError
        Nobody is there to say yes, or no was said (kind ``no_log``): the command that makes it.
    """
    from benchfill.commands.budget_options import expected_totals
    from benchfill.display.text import amount, cost
    from benchfill.graph.answer_items import expected_calls
    from benchfill.logs.items import parse_mapping, read_items

    out = Path(f"{items.stem}-responses.csv")
    file = read_items(items, mapping=parse_mapping(mapping or []))
    request = _request(file.items, items, OFFERED_ATTEMPTS, out, seed=seed, fresh=False)
    _, totals = expected_totals(expected_calls(request, settings))
    tokens = totals["input_tokens"] + totals["output_tokens"]
    what = (
        f"{totals['calls']:,} calls, about {amount(tokens)} tokens, {cost(totals['cost'], totals['calls'])}"
    )
    if sys.stdin.isatty() and sys.stderr.isatty():
        typer.echo(f"There is no response log. The pool can make one: {what}.", err=True)
        if typer.confirm(f"Ask the pool now and write {out}?", err=True):
            _check_out(out)
            _make_and_show(request, settings, out, as_json=False)
            return out
    raise InputError(
        f"There is no response log (--responses). The pool can make one: {what}.",
        f"{request.go_on}; then --responses {out}",
        kind="no_log",
    )


def _make_and_show(request: LogRequest, settings: Settings, out: Path, *, as_json: bool) -> None:
    rows, meter = _make(request, settings)
    _write(out, rows, settings)
    document = _document(rows, meter, out)
    if as_json:
        typer.echo(json.dumps(document, ensure_ascii=False))
        return
    from benchfill.display.answering import print_answers

    print_answers(sys.stdout, document)
    missing = sum(sum(row["missing"].values()) for row in document["models"])
    again = f"; {missing:,} are missing, run the same command again to ask those" if missing else ""
    typer.echo(f"{out}: {len(rows):,} attempts{again}.", err=True)


def _request(
    items: Sequence[Any], path: Path, attempts: int, out: Path, *, seed: int, fresh: bool
) -> LogRequest:
    from benchfill.graph.answer_items import LogRequest

    token = _fresh_token(out) if fresh or _fresh_file(out).exists() else ""
    place = hashlib.sha256(str(out.resolve()).encode()).hexdigest()[:6]
    return LogRequest(
        items=tuple(items),
        benchmark=path.stem,
        attempts=attempts,
        seed=seed,
        label=f"answer-{out.stem}-{place}{token}",
        fresh=bool(token),
        go_on=f"benchfill answer {path} --attempts {attempts} --out {out}",
    )


def _fresh_file(out: Path) -> Path:
    """Holds the name of a fresh log until it is whole, so that it can be gone on with."""
    return out.with_name(f".{out.name}.fresh")


def _fresh_token(out: Path) -> str:
    file = _fresh_file(out)
    if not file.exists():
        file.write_text(f"-{secrets.token_hex(3)}", encoding="utf-8")
    return file.read_text(encoding="utf-8")


def _check_out(out: Path) -> None:
    """A log of somebody else's is never written over."""
    from benchfill.graph.answer_items import LOG_HEADER

    if not out.parent.is_dir():
        raise InputError(
            f"There is no folder {out.parent}.", "Make it first.", kind="unwritable", path=str(out)
        )
    if out.exists() and out.read_bytes().splitlines()[:1] != [",".join(LOG_HEADER).encode()]:
        raise InputError(
            f"{out} is there already and is no log of this command's.",
            "Choose another --out.",
            kind="file_exists",
            path=str(out),
        )


def _make(request: LogRequest, settings: Settings) -> tuple[list[AttemptRow], Meter]:
    from benchfill.display.answering import AnswerProgress
    from benchfill.graph.answer_items import make_log
    from benchfill.graph.stopping import Interrupted
    from benchfill.settings import benchfill_home
    from benchfill.tools.meter import Meter

    meter, done = Meter(), 0

    def spent() -> dict[str, Any]:
        return {
            "calls": meter.calls,
            "from_ledger": meter.from_ledger,
            "tokens_in": meter.input_tokens,
            "tokens_out": meter.output_tokens,
            "cost": meter.cost,
        }

    with AnswerProgress(sys.stderr, spent) as progress:

        def on_row(row: AttemptRow, total: int) -> None:
            nonlocal done
            done += 1
            progress.update(done, total)

        meter.on_notice = lambda endpoint, what: progress.say(f"{endpoint}: {what}")
        meter.on_wait = lambda endpoint, seconds, reason: progress.say(
            f"waiting {seconds:.0f} s for {endpoint}: {reason}"
        )
        try:
            rows = asyncio.run(
                make_log(
                    request,
                    settings,
                    ledger_path=benchfill_home() / "ledger.sqlite",
                    meter=meter,
                    on_row=on_row,
                    say=progress.say,
                )
            )
        except Interrupted as stop:
            progress.say(f"stopped after {done:,} attempts, all kept; go on with: {request.go_on}")
            raise typer.Exit(128 + stop.signum) from None
    return rows, meter


def _write(out: Path, rows: Sequence[AttemptRow], settings: Settings) -> None:
    from benchfill.atomic import write_whole
    from benchfill.graph.answer_items import log_bytes

    write_whole(out, log_bytes(rows, settings.answer.no_answer))
    _fresh_file(out).unlink(missing_ok=True)


def _document(rows: Sequence[AttemptRow], meter: Meter, out: Path) -> dict[str, Any]:
    """What came of it; an item's difficulty is the share of answers to it that are wrong."""
    from benchfill.graph.no_answer import no_answer_rates

    answered: dict[str, list[bool]] = {}
    for row in rows:
        if row.outcome != "missing":
            answered.setdefault(row.item, []).append(row.outcome == "wrong")
    models = []
    for model in sorted({row.model for row in rows}):
        own = [row for row in rows if row.model == model]
        right, wrong = (sum(row.outcome == what for row in own) for what in ("correct", "wrong"))
        reasons = Counter(row.reason for row in own if row.outcome == "missing")
        silent = reasons.pop("no_answer", 0)
        models.append(
            {
                "model": model,
                "attempts": len(own),
                "correct": right,
                "wrong": wrong,
                "no_answer": silent,
                "missing": dict(sorted(reasons.items())),
                "accuracy": right / (right + wrong) if right + wrong else None,
            }
        )
    return {
        "v": 1,
        "out": str(out),
        "attempts": len(rows),
        "models": models,
        "no_answer": no_answer_rates(rows, {item: sum(each) / len(each) for item, each in answered.items()}),
        "totals": {
            "calls": meter.calls,
            "from_ledger": meter.from_ledger,
            "tokens_in": meter.input_tokens,
            "tokens_out": meter.output_tokens,
            "cost": meter.cost,
        },
    }


def _print_forecast(request: LogRequest, settings: Settings, *, as_json: bool) -> None:
    from benchfill.commands.budget_options import print_forecast
    from benchfill.graph.answer_items import expected_calls

    print_forecast(expected_calls(request, settings), settings, as_json=as_json)
