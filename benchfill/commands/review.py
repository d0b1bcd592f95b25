"""``benchfill review``: packets for reviewers, a page to review on, their decisions, and where it all stands."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchfill.commands.groups import command_group
from benchfill.errors import InputError

if TYPE_CHECKING:
    from benchfill.memory.pool import Pool
    from benchfill.review.checking import Checked
    from benchfill.review.decision_files import FormRow

__all__ = ["review_app"]

review_app = command_group(
    no_args_is_help=True,
    help="Have people review the accepted items, double-blind.\n\n"
    "Examples:\n\n  benchfill review export my-run --reviewers 2 --out packets\n\n"
    "  benchfill review serve packets/r1\n\n  benchfill review import packets/r1 packets/r2 --run my-run\n\n"
    "  benchfill review status my-run",
)

RunArgument = Annotated[str | None, typer.Argument(help="Name of the run, else the one touched last.")]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@review_app.command("export")
def export(
    out: Annotated[Path, typer.Option("--out", help="Folder to write; one folder a reviewer within.")],
    run: RunArgument = None,
    reviewers: Annotated[
        int | None, typer.Option("--reviewers", min=1, max=50, help="How many: r1, r2, ... Default 2.")
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option("--reviewer", metavar="NAME", help="A reviewer by name, once for each."),
    ] = None,
    originals: Annotated[
        float, typer.Option("--originals", min=0, max=20, help="Original items mixed in for each new one.")
    ] = 1.0,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Of choice, order and blind ids; default the run's.")
    ] = None,
    adjudicate: Annotated[
        bool, typer.Option("--adjudicate", help="Only the disputed items, for somebody else to decide.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Hand out once more what was handed out, to others.")
    ] = False,
) -> None:
    """Write a packet a reviewer: a form (JSONL, CSV), tasks for Label Studio and Argilla, and one page of instructions.

    Original items are mixed in; order and ids are each reviewer's own. The sealed key stays with the run.

    Examples:

      benchfill review export my-run --reviewers 2 --out packets

      benchfill review export my-run --reviewer ada --reviewer emmy --out packets

      benchfill review export my-run --adjudicate --out third
    """
    from benchfill.memory.runs import find_run
    from benchfill.review.rounds import export_packets
    from benchfill.settings import benchfill_home

    chosen = _names(reviewers, names, adjudicate)
    folder = find_run(benchfill_home(), run)
    with _open(folder.memory) as pool:
        exported = export_packets(
            pool,
            folder.path,
            out,
            reviewers=chosen,
            originals=originals,
            seed=pool.run().seed if seed is None else seed,
            adjudicate=adjudicate,
            again=again,
        )
    for path in exported.packets.values():
        typer.echo(str(path))
    typer.echo(
        f"{exported.new} items to review and {exported.originals} original ones in each packet (round "
        f"{exported.round_.round}). Sealed key: {exported.key}",
        err=True,
    )
    typer.echo(f"SHA-256 of the key, to be kept or published now: {exported.round_.key_sha256}", err=True)
    if exported.telling:
        typer.echo(
            f"The text of {', '.join(exported.telling)} speaks of a rewrite: reviewers may guess its origin.",
            err=True,
        )


@review_app.command("serve")
def serve_page(
    packet: Annotated[Path, typer.Argument(metavar="PACKET", help="Folder of one reviewer's packet.")],
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port on the loopback; 0 is any free one.")
    ] = 0,
) -> None:
    """Review a packet on a page of your own machine, by keyboard; ends with Ctrl-C and goes on where it was.

    Every decision is saved at once, in decisions.jsonl of the packet: that file goes back.

    Example:

      benchfill review serve packets/r1
    """
    from benchfill.review.server import serve

    def ready(address: str) -> None:
        typer.echo(address)
        typer.echo("Open it in a browser. Ctrl-C ends; decisions are saved as they are made.", err=True)

    serve(packet, port=port, ready=ready)


@review_app.command("import")
def import_(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILES...", help="What came back: files, or folders of packets.")
    ],
    run: Annotated[
        str | None, typer.Option("--run", help="Name of the run, else the one touched last.")
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="A decision that differs from an earlier import takes its place."),
    ] = False,
) -> None:
    """Take in decisions: our forms, exports of Label Studio (JSON, JSON_MIN, CSV) and of Argilla (JSON).

    What cannot be counted is reported with its line, and nothing is guessed: exit code 1. The rest counts.

    Examples:

      benchfill review import packets/r1 packets/r2

      benchfill review import r1.csv project-3.json --run my-run
    """
    from benchfill.display.text import counted
    from benchfill.memory.runs import find_run
    from benchfill.review.decision_files import read_decision_files
    from benchfill.settings import benchfill_home

    rows = read_decision_files(files)
    folder = find_run(benchfill_home(), run)
    with _open(folder.memory) as pool:
        checked = _take_in(pool, rows, replace)
    for fault in checked.faults:
        typer.echo(str(fault), err=True)
    known = f", {checked.unchanged} known already" if checked.unchanged else ""
    typer.echo(
        f"{counted(len(checked.decisions), 'decision')} taken in{known} (run {folder.name}).", err=True
    )
    if any(not fault.harmless for fault in checked.faults):
        raise typer.Exit(1)


@review_app.command("status")
def status(
    run: RunArgument = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Show what became of each item, how far reviewers agree, how each did on the original items, and the seals.

    Example:

      benchfill review status my-run
    """
    import dataclasses
    import json

    from benchfill.memory.runs import find_run
    from benchfill.review.record import review_record
    from benchfill.review.seal import check_seals
    from benchfill.settings import benchfill_home

    folder = find_run(benchfill_home(), run)
    with _open(folder.memory) as pool:
        record, seals = review_record(pool), check_seals(pool, folder.path)
    document = {**dataclasses.asdict(record), "run": folder.name}
    for round_ in document["rounds"]:
        round_["seal"] = seals[round_["round"]]
    if as_json:
        typer.echo(json.dumps({"v": 1, **document}, ensure_ascii=False, allow_nan=False))
        return
    from benchfill.display.review import print_review

    print_review(document, sys.stdout)


@contextlib.contextmanager
def _open(path: Path) -> Iterator[Pool]:
    from benchfill.memory.pool import Pool

    pool = Pool(path, create=False)
    try:
        yield pool
    finally:
        pool.close()


def _names(count: int | None, names: list[str] | None, adjudicate: bool) -> list[str]:
    if names and count is not None:
        raise InputError("--reviewers and --reviewer say the same thing twice.", "Give one of them.")
    if not names:
        letter = "a" if adjudicate else "r"
        return [f"{letter}{number}" for number in range(1, (count or (1 if adjudicate else 2)) + 1)]
    for name in names:
        if not NAME.fullmatch(name):
            raise InputError(
                f"A reviewer cannot be called {name!r}.",
                "Use up to 64 letters, digits, '.', '_' and '-': it names a folder.",
            )
    if len({name.casefold() for name in names}) < len(names):
        raise InputError("Two reviewers have one name.", "Give each a name of their own.")
    return names


def _take_in(pool: Pool, rows: list[FormRow], replace: bool) -> Checked:
    from benchfill.memory.reviews import Reviews
    from benchfill.review.answers import compare_answers
    from benchfill.review.blinding import item_hash
    from benchfill.review.checking import check_decisions
    from benchfill.settings import load_settings
    from benchfill.tools.grading import Grader
    from benchfill.tools.sandbox import Sandbox

    reviews = Reviews(pool)
    handed = reviews.assignments()
    if not handed:
        raise InputError(
            "Nothing of this run was handed out.", "benchfill review export comes first.", kind="not_exported"
        )
    items = {row.item: item for row in handed if (item := pool.item(row.item)) is not None}
    current = {name: item_hash(item) for name, item in items.items()}
    checked = check_decisions(rows, handed, current, reviews.decisions(), replace=replace)
    given = {(row.reviewer, row.blind_id): items[row.item] for row in handed if row.item in items}
    with Sandbox() as sandbox:
        grader = Grader(sandbox, load_settings().grading)
        reviews.save_decisions(asyncio.run(compare_answers(checked.decisions, given, grader)))
    return checked
