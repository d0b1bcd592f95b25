"""The folder an import writes: whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import shutil
import string
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchfill.errors import InputError
from benchfill.item import Item
from benchfill.logs.harness.exported import ATTEMPT_HEADER, MISSING_HEADER
from benchfill.logs.model_names import format_models

if TYPE_CHECKING:
    from benchfill.logs.importing import Imported

__all__ = ["check_free", "write_import"]

_COUNT_HEADER = ("model", "item_id", "correct", "count")


def check_free(folder: Path, *, force: bool) -> None:
    """Refuse a place where something else stands.

    Raises
    ------
    InputError
        ``exists``: there is a file, a folder that no import wrote, or any folder with content without ``force``.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not folder.is_dir() or not (folder / "report.json").is_file():
        raise InputError(
            f"{folder} exists and is not the folder of an import.",
            "Name another with --out.",
            kind="exists",
            path=str(folder),
        )
    if not force:
        raise InputError(
            f"{folder} holds an earlier import.",
            "Name another folder with --out, or replace it with --force.",
            kind="exists",
            path=str(folder),
        )


def write_import(imported: Imported, folder: Path, *, force: bool = False) -> None:
    """Write ``items.jsonl``, ``responses.csv``, ``missing.csv``, ``models.csv`` and ``report.json``.

    Parameters
    ----------
    folder
        Appears when all files are complete. ``force`` replaces an earlier import.

    Raises
    ------
    InputError
        ``exists`` (see `check_free`) or ``unwritable``.
    """
    check_free(folder, force=force)
    responses, missing = _tables(imported)
    files = {
        "items.jsonl": "".join(_json_line(_item_row(item)) for item in imported.items),
        "responses.csv": responses,
        "missing.csv": missing,
        "models.csv": format_models(sorted(imported.report.names().items())),
        "report.json": json.dumps(imported.report.document(), ensure_ascii=False, indent=1, allow_nan=False)
        + "\n",
    }
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written: {error.strerror}.", kind="unwritable", path=str(folder)
        ) from error
    try:
        building.chmod(0o755)
        for name, text in files.items():
            (building / name).write_bytes(text.encode("utf-8", "surrogatepass"))
        _put_in_place(building, folder)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written: {error.strerror}.", kind="unwritable", path=str(folder)
        ) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _put_in_place(building: Path, folder: Path) -> None:
    if folder.exists():
        # The old folder steps aside first: a folder with content cannot be replaced in one step.
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
        folder.rename(aside / folder.name)
        try:
            building.rename(folder)
        except OSError:
            (aside / folder.name).rename(folder)
            raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    else:
        building.rename(folder)


def _tables(imported: Imported) -> tuple[str, str]:
    """Responses and missing attempts: a row an attempt, or a row a cell where a log has only counts."""
    responses: list[Sequence[Any]] = []
    missing: list[Sequence[Any]] = []
    counted = any(each.counts for answers in imported.answers.values() for each in answers)
    for (model, item), answers in sorted(imported.answers.items()):
        right = asked = 0
        for number, answer in enumerate(answers, 1):
            if answer.counts:
                right, asked = right + answer.counts[0], asked + answer.counts[1]
            elif answer.correct is None:
                missing.append((model, item, "" if counted else number, answer.reason))
            else:
                right, asked = right + answer.correct, asked + 1
            if not counted:
                # A missing attempt keeps its number and its row; the empty cell is what makes it missing.
                score = "" if answer.correct is None else int(answer.correct)
                responses.append((model, item, number, score))
        if counted:
            responses.append((model, item, right if asked else "", asked))
    header = _COUNT_HEADER if counted else ATTEMPT_HEADER
    return _csv_text(header, responses), _csv_text(MISSING_HEADER, missing)


def _csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def _json_line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def _item_row(item: Item) -> dict[str, Any]:
    row: dict[str, Any] = {"id": item.id, "question": item.question, "answer": item.answer}
    if item.choices:
        # Letters name the options where a key such as "A" could also be the text of one.
        letters = string.ascii_uppercase[: len(item.choices)]
        lettered = any(option.strip() in {*letters, *letters.lower()} for option in item.choices)
        row["choices"] = dict(zip(letters, item.choices, strict=True)) if lettered else list(item.choices)
    row["answer_type"] = item.answer_type
    if item.solution:
        row["solution"] = item.solution
    if item.tolerance is not None:
        row["tolerance"] = item.tolerance
    return row | {name: value for name, value in item.extra.items() if name not in row}
