"""The folder of an extended benchmark: written beside its name, checked by reading it back, and moved there whole."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchfill.calibration.fit import Engine
from benchfill.errors import BenchfillError, InputError
from benchfill.graph.item_like import item_like
from benchfill.item import Item
from benchfill.logs.extended_items import ExtendedItems, ItemToAdd, extend_items, refuse_other_items
from benchfill.logs.items import read_items
from benchfill.logs.responses import read_responses
from benchfill.memory.ledger import Ledger
from benchfill.memory.ledger_uses import ledger_digest
from benchfill.memory.pool import Pool
from benchfill.memory.runs import RunFolder
from benchfill.memory.source import LINEAGE_NAME, Source, kept_source
from benchfill.merge.card import card_markdown
from benchfill.merge.document import card_document
from benchfill.merge.effects import OnlinePlace, effects_of
from benchfill.merge.lineage import earlier_rows, lineage_lines, parents_of
from benchfill.merge.plain_items import plain_source
from benchfill.merge.response_logs import MergedLogs, log_bytes, merged_logs
from benchfill.merge.selection import Selection, choose_items

__all__ = ["MergeRequest", "merge_run"]

RESPONSES, CARD, README = "responses.csv", "card.json", "README.md"


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """What is asked for.

    Parameters
    ----------
    out
        A folder that is not there yet, or is empty.
    unreviewed
        Merge also what nobody has reviewed.
    items, mapping
        The item file of the run where it did not keep it, and how its fields are named.
    engine, seed
        Of the fits before and after.
    licence
        Of the added items, where the item file states none.
    """

    out: Path
    unreviewed: bool = False
    items: Path | None = None
    mapping: Mapping[str, str] | None = None
    engine: Engine = "nuts"
    seed: int = 1
    licence: str | None = None


def merge_run(
    folder: RunFolder, ledger_path: Path, request: MergeRequest, progress: Callable[[float, str], None]
) -> dict[str, Any]:
    """Write the extended benchmark of a run.

    Parameters
    ----------
    ledger_path
        The file of paid calls, whose hash goes into the card.

    Returns
    -------
    dict
        The card, with ``files``: the path of each file that was written.

    Raises
    ------
    InputError
        Nothing may be merged, the source is not that of the run, or the folder cannot be written.
    GateRefused
        A fit did not pass its gate. Nothing is left behind.
    """
    pool = Pool(folder.memory, create=False)
    try:
        with (
            _whole_folder(request.out) as unfinished,
            tempfile.TemporaryDirectory(prefix="benchfill-") as scratch,
        ):
            selection = choose_items(pool, unreviewed=request.unreviewed)
            source = _source(folder, pool, request, Path(scratch))
            added = [_to_add(pool, each.item) for each in selection.items]
            extended = extend_items(source.path, added, mapping=source.mapping)
            logs = merged_logs(pool, selection, extended.ids)
            files = {
                "items": _item_name(source.name),
                "responses": RESPONSES,
                "lineage": LINEAGE_NAME,
                "card": CARD,
            }
            (unfinished / files["items"]).write_bytes(extended.content)
            (unfinished / RESPONSES).write_bytes(log_bytes(logs.after))
            _read_back(unfinished, files, source, selection, extended, logs)
            card = _card(pool, ledger_path, request, source, selection, extended, logs, unfinished, progress)
            text = json.dumps(card, ensure_ascii=False, allow_nan=False, indent=1)
            (unfinished / CARD).write_text(text + "\n", encoding="utf-8")
            (unfinished / README).write_text(card_markdown(card, files), encoding="utf-8")
    finally:
        pool.close()
    return {
        **card,
        "files": {name: str(request.out / file) for name, file in {**files, "readme": README}.items()},
    }


def _card(
    pool: Pool,
    ledger_path: Path,
    request: MergeRequest,
    source: Source,
    selection: Selection,
    extended: ExtendedItems,
    logs: MergedLogs,
    unfinished: Path,
    progress: Callable[[float, str], None],
) -> dict[str, Any]:
    """Fit both benchmarks, write the lineage, and say it all."""
    frozen = pool.scale()
    if frozen is None:
        raise LookupError("the run has no scale")
    lineage = lineage_lines(
        pool,
        selection,
        extended.ids,
        earlier_rows(source.lineage, {item.id for item in pool.items("original")}),
    )
    lines = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in lineage)
    (unfinished / LINEAGE_NAME).write_text(lines, encoding="utf-8")
    estimates = pool.estimates()
    places = {}
    for each in selection.items:
        estimate, gap = estimates[each.item.id], each.exported["gap"]
        span = None if gap is None else (gap["lo"], gap["hi"])
        places[extended.ids[each.item.id]] = OnlinePlace(estimate.z, estimate.z_sd, span)
    with Ledger(ledger_path) as ledger:
        digest = ledger_digest(ledger, pool.run().id)
    return card_document(
        pool,
        selection,
        extended,
        logs,
        effects=effects_of(logs, frozen, places, engine=request.engine, seed=request.seed, progress=progress),
        lineage=lineage,
        ledger=digest,
        source={
            "name": source.name,
            "sha256": hashlib.sha256(source.path.read_bytes()).hexdigest(),
            "n_items": len(logs.before.items),
        },
        licence=request.licence,
        unreviewed=request.unreviewed,
    )


def _source(folder: RunFolder, pool: Pool, request: MergeRequest, scratch: Path) -> Source:
    """The item file: the one that is named, the one the run kept, or one made of the items that came with a log."""
    originals = pool.items("original")
    if request.items is not None:
        lineage = request.items.with_name(LINEAGE_NAME)
        source = Source(
            request.items,
            request.items.name,
            request.mapping or {},
            lineage if lineage.is_file() else None,
        )
    else:
        source = kept_source(folder) or plain_source(originals, scratch)
    refuse_other_items(source.path, source.mapping, originals)
    return source


def _to_add(pool: Pool, item: Item) -> ItemToAdd:
    """An item with the original one that it came from or, written from nothing, that it is written like."""
    originals = pool.items("original")
    known = {each.id for each in originals}
    parent = next((each for each in parents_of(pool, item.id) if each in known), "")
    return ItemToAdd(item, parent, "" if parent else item_like(originals, item).id)


def _item_name(name: str) -> str:
    """The name of the source, unless a file of the merge is called that."""
    return f"items-{name}" if name in (RESPONSES, CARD, README, LINEAGE_NAME) else name


def _read_back(
    folder: Path,
    files: Mapping[str, str],
    source: Source,
    selection: Selection,
    extended: ExtendedItems,
    logs: MergedLogs,
) -> None:
    """What was written is read as it was meant, or nothing is delivered."""
    items = {item.id: item for item in read_items(folder / files["items"], mapping=source.mapping).items}
    for each in selection.items:
        found = items.get(extended.ids[each.item.id])
        if found is None or (found.question, found.answer, found.choices, found.guessing) != (
            each.item.question,
            each.item.answer,
            each.item.choices,
            each.item.guessing,
        ):
            raise BenchfillError(
                f"{each.item.id} cannot be written in the form of {source.name}: it reads back as another item.",
                "`benchfill export` writes it in a form of its own.",
            )
    log = read_responses(folder / files["responses"]).log
    asked = logs.after.select_items([item for item in logs.after.items if item in set(log.items)])
    if (log.items, log.correct.tolist()) != (asked.items, asked.correct.tolist()):
        raise BenchfillError("The extended response log reads back as another one.")


@contextlib.contextmanager
def _whole_folder(out: Path) -> Iterator[Path]:
    """A hidden folder beside the one that is wanted, which takes its name once everything is in it."""
    out = out.resolve()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(
            f"{out} is there already and not empty.",
            "Name a new folder: --out DIR.",
            kind="exists",
            path=str(out),
        )
    unfinished = out.with_name(f".{out.name}.unfinished")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        yield unfinished
        for file in unfinished.iterdir():
            with file.open("rb") as handle:
                os.fsync(handle.fileno())
        if out.is_dir():
            out.rmdir()
        unfinished.rename(out)
    except OSError as error:
        raise InputError(
            f"{out} cannot be written: {error.strerror}.",
            "Name a folder you can write to.",
            kind="unwritable",
            path=str(out),
        ) from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
