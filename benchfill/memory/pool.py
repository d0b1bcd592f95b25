"""The memory of one run: items with their difficulties, candidates with their lineage, attempts, gaps."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from benchfill.errors import InputError
from benchfill.item import Item
from benchfill.memory.database import Database, open_copy, open_database
from benchfill.memory.migrations import apply_migrations
from benchfill.memory.pool_schema import POOL_MIGRATIONS
from benchfill.memory.records import (
    AttemptRow,
    Candidate,
    ConfirmationRow,
    Estimate,
    GapCheckRow,
    GapRow,
    HitRow,
    ItemFitRow,
    JudgementRow,
    RecheckRow,
    RunRow,
    ScaleRow,
)
from benchfill.memory.rows import (
    ITEM_COLUMNS,
    KEYS,
    Row,
    item_of_row,
    json_text,
    pack_row,
    row_of_item,
    unpack_rows,
)

__all__ = ["Pool"]

Kept = TypeVar("Kept")


class Pool:
    """The SQLite file of one run.

    Parameters
    ----------
    source
        The file, made with its tables when absent; or the content of one, for a copy that ends with this process.
    create
        False: an absent file is an `InputError`.

    Notes
    -----
    Writes are upserts under deterministic ids, so that a node may run twice.
    """

    def __init__(self, source: Path | bytes, *, create: bool = True) -> None:
        self.database: Database = (
            open_copy(source) if isinstance(source, bytes) else open_database(source, create=create)
        )
        apply_migrations(self.database, POOL_MIGRATIONS)
        # The benchmark and its places as they were fitted: tens of thousands of rows that every node asks for and that
        # never change in a run. They are read again where they did, by this process or by another.
        self._as_read: dict[str, Any] = {}
        self._version = 0

    def close(self) -> None:
        self.database.close()

    # -- rows of every kind -------------------------------------------------------------------------

    def _save(self, table: str, rows: Iterable[Row]) -> None:
        keys = KEYS[table]
        packed = [pack_row(table, row) for row in rows]
        if not packed:
            return
        with self.database.transaction():
            self.database.tables[table].upsert_all(packed, pk=keys if len(keys) > 1 else keys[0])
        if table == "estimates":
            self._as_read.pop(table, None)

    def _rows(self, kind: type[Row], table: str, where: str = "", values: Sequence[Any] = ()) -> list[Row]:
        names = [field.name for field in dataclasses.fields(kind)]
        sql = f"SELECT {', '.join(names)} FROM {table} {where}"  # noqa: S608 - names are our own constants
        return unpack_rows(table, kind, names, self.database.connection.execute(sql, values))

    def _read_once(self, name: str, read: Callable[[], Kept]) -> Kept:
        """What was read before, unless another process has written since; callers take copies."""
        version = self.database.connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._as_read.clear()
            self._version = version
        if name not in self._as_read:
            self._as_read[name] = read()
        kept: Kept = self._as_read[name]
        return kept

    # -- runs, benchmark, scale ---------------------------------------------------------------------

    def save_run(self, run: RunRow) -> None:
        self._save("runs", [run])

    def run(self) -> RunRow:
        """The run of this file.

        Raises
        ------
        InputError
            The file holds none: its run was stopped before anything began (kind ``empty_run``).
        """
        rows = self._rows(RunRow, "runs")
        if not rows:
            raise InputError("This run was stopped before it began.", "Start a new one.", kind="empty_run")
        return rows[0]

    def save_benchmark(
        self,
        fingerprint: str,
        name: str,
        items: Iterable[Item],
        models: Sequence[str],
        responses: Mapping[str, Sequence[Sequence[int]]],
    ) -> None:
        """Keep the benchmark as it was read: original items and the response log by item."""
        with self.database.transaction():
            for item in items:
                self._upsert_item(item, "original")
            self.database.tables["benchmarks"].upsert(
                {
                    "id": fingerprint,
                    "name": name,
                    "models": json_text(list(models)),
                    "responses": json_text(
                        {item: [list(cell) for cell in cells] for item, cells in responses.items()}
                    ),
                },
                pk="id",
            )
        self._as_read.clear()

    def benchmark_outline(self) -> tuple[str, list[str], int] | None:
        """Name, models and number of items, without the log, which takes seconds where it is large."""
        row = self.database.connection.execute(
            "SELECT name, models, (SELECT count(*) FROM items WHERE origin = 'original') FROM benchmarks"
        ).fetchone()
        return None if row is None else (row[0], json.loads(row[1]), row[2])

    def benchmark(self) -> tuple[str, str, list[str], dict[str, list[list[int]]]] | None:
        """Fingerprint, name, models and ``{item: [[correct, attempts] a model]}``; None before it is saved."""
        row = self.database.connection.execute(
            "SELECT id, name, models, responses FROM benchmarks"
        ).fetchone()
        return None if row is None else (row[0], row[1], json.loads(row[2]), json.loads(row[3]))

    def save_scale(self, scale: ScaleRow, estimates: Iterable[Estimate]) -> None:
        """Freeze the scale and the original items' places on it, together."""
        with self.database.transaction():
            self._save("scales", [scale])
            self._save("estimates", estimates)

    def scale(self) -> ScaleRow | None:
        rows = self._rows(ScaleRow, "scales")
        return rows[0] if rows else None

    # -- items and where they lie -------------------------------------------------------------------

    def _upsert_item(self, item: Item, origin: str) -> None:
        self.database.tables["items"].upsert(row_of_item(item, origin), pk="id")

    def items(self, origin: Literal["original", "candidate", "hand"] | None = None) -> list[Item]:
        """Items by id, of one origin or all."""
        if origin == "original":
            return list(self._read_once("originals", lambda: self._items("WHERE origin = ?", origin)))
        return self._items("") if origin is None else self._items("WHERE origin = ?", origin)

    def _items(self, where: str, *values: str) -> list[Item]:
        sql = f"SELECT {', '.join(ITEM_COLUMNS)} FROM items {where} ORDER BY id"  # noqa: S608 - our own names
        return [item_of_row(row) for row in self.database.connection.execute(sql, values)]

    def item(self, item_id: str) -> Item | None:
        found = self._items("WHERE id = ?", item_id)
        return found[0] if found else None

    def save_estimates(self, estimates: Iterable[Estimate]) -> None:
        self._save("estimates", estimates)

    def estimates(self, *, as_fitted: bool = False) -> dict[str, Estimate]:
        """By item id, in the order of ids: the originals and every candidate that was calibrated.

        Parameters
        ----------
        as_fitted
            Originals as the fit of the log has them, whatever was asked again since.
        """
        fitted = self._read_once("estimates", lambda: self._estimates("source = 'offline'"))
        added = self._estimates("source != 'offline'")
        found = dict(sorted({**fitted, **added}.items())) if added else dict(fitted)
        for again in [] if as_fitted else self.rechecks():
            # What a recheck knows is part of an estimate, but for the numbers of its attempts.
            known = {
                field.name: getattr(again, field.name)
                for field in dataclasses.fields(again)
                if field.name not in ("first", "stop")
            }
            found[again.item] = dataclasses.replace(found[again.item], **known)
        return found

    def _estimates(self, which: str) -> dict[str, Estimate]:
        return {row.item: row for row in self._rows(Estimate, "estimates", f"WHERE {which} ORDER BY item")}

    def estimate(self, item: str) -> Estimate | None:
        """Where one new item lies; None where it was not calibrated."""
        rows = self._rows(Estimate, "estimates", "WHERE item = ?", (item,))
        return rows[0] if rows else None

    def save_rechecks(self, rows: Iterable[RecheckRow], attempts: Iterable[AttemptRow]) -> None:
        """Keep new answers to original items, and where these lie by all answers, together."""
        with self.database.transaction():
            self._save("attempts", attempts)
            self._save("rechecks", rows)

    def rechecks(self) -> list[RecheckRow]:
        """Original items that were asked again, by id."""
        return self._rows(RecheckRow, "rechecks", "ORDER BY item")

    def z_ml(self, estimate: Estimate) -> float | None:
        """Where maximum likelihood alone puts an item; None where it has no maximum (all right, all wrong)."""
        scale = self.scale()
        if scale is None or estimate.b_ml is None:
            return None
        return (estimate.b_ml - scale.lo) / (scale.hi - scale.lo)

    # -- candidates ---------------------------------------------------------------------------------

    def save_candidate(self, candidate: Candidate, item: Item | None = None) -> None:
        """Keep a rewrite, with its item when something usable was submitted.

        Writers of a round may write the same text from parents of other answer types: the item is the first writer's,
        whoever is done first.
        """
        with self.database.transaction():
            if item is not None and not self._written_before(candidate):
                self._upsert_item(item, "hand" if candidate.by_hand else "candidate")
            self._save("candidates", [candidate])

    def _written_before(self, candidate: Candidate) -> bool:
        """Whether the search has the item of an earlier writer."""
        earlier = self.database.connection.execute(
            "SELECT 1 FROM candidates WHERE item = ? AND by_hand = '' AND (gap, round, writer) < (?, ?, ?)",
            (candidate.item, candidate.gap, candidate.round, candidate.writer),
        )
        return not candidate.by_hand and earlier.fetchone() is not None

    def candidate(self, candidate_id: str) -> Candidate:
        return self._rows(Candidate, "candidates", "WHERE id = ?", (candidate_id,))[0]

    def candidates(self, gap: int | None = None, round: int | None = None) -> list[Candidate]:
        """Of the search, in the order of gap, round and writer; what was written by hand is none of it."""
        wanted = [(name, value) for name, value in (("gap", gap), ("round", round)) if value is not None]
        where = "".join(f" AND {name} = ?" for name, _ in wanted)
        return self._rows(
            Candidate,
            "candidates",
            f"WHERE by_hand = ''{where} ORDER BY gap, round, writer",
            [value for _, value in wanted],
        )

    def written_by_hand(self) -> list[Candidate]:
        """Edited and added items, in the order they were written."""
        return self._rows(Candidate, "candidates", "WHERE by_hand != '' ORDER BY writer")

    def save_judgement(self, judgement: JudgementRow) -> None:
        self._save("judgements", [judgement])

    def judgements(self) -> dict[str, JudgementRow]:
        return {row.candidate: row for row in self._rows(JudgementRow, "judgements", "ORDER BY candidate")}

    # -- attempts -----------------------------------------------------------------------------------

    def save_attempts(self, attempts: Iterable[AttemptRow]) -> None:
        self._save("attempts", attempts)

    def attempts(self, item: str, below: int | None = None) -> list[AttemptRow]:
        """Attempts at one item by model and number; only those numbered under ``below`` when given."""
        where, values = "WHERE item = ?", [item, *([] if below is None else [below])]
        if below is not None:
            where += " AND attempt < ?"
        return self._rows(AttemptRow, "attempts", f"{where} ORDER BY model, attempt", values)

    def attempted(self) -> dict[str, int]:
        """Number of attempts at each item that has any."""
        return dict(self.database.connection.execute("SELECT item, count(*) FROM attempts GROUP BY item"))

    def save_confirmation(self, confirmation: ConfirmationRow) -> None:
        self._save("confirmations", [confirmation])

    def confirmations(self, candidate: str) -> list[ConfirmationRow]:
        """Of one candidate, in the order they were asked."""
        return self._rows(
            ConfirmationRow, "confirmations", "WHERE candidate = ? ORDER BY first", (candidate,)
        )

    def save_item_fit(self, fit: ItemFitRow) -> None:
        self._save("item_fits", [fit])

    def item_fit(self, item: str) -> dict[str, Any] | None:
        """How the answers to an accepted item fit, as reports and exports have it; None where it is not known."""
        rows = self._rows(ItemFitRow, "item_fits", "WHERE item = ?", (item,))
        return (
            {name: value for name, value in dataclasses.asdict(rows[0]).items() if name != "item"}
            if rows
            else None
        )

    # -- gaps ---------------------------------------------------------------------------------------

    def save_gaps(self, gaps: Iterable[GapRow]) -> None:
        self._save("gaps", gaps)

    def gaps(self) -> list[GapRow]:
        return self._rows(GapRow, "gaps", "ORDER BY gap")

    def plan_gaps_anew(self, gaps: Iterable[GapRow], check: GapCheckRow) -> None:
        """Put these gaps in the place of those that were planned, and say how the check of them stands."""
        with self.database.transaction() as connection:
            connection.execute("DELETE FROM gaps")
            self._save("gaps", gaps)
            self._save("gap_checks", [check])

    def gap_check(self) -> GapCheckRow | None:
        """The check of the gaps; None before it began, or where none is made."""
        rows = self._rows(GapCheckRow, "gap_checks")
        return rows[0] if rows else None

    def save_known_hits(self, hits: Iterable[HitRow]) -> None:
        self._save("known_hits", hits)

    def known_hits(self) -> list[HitRow]:
        """What earlier runs had learned of the rewriter when this one began, in one order."""
        return self._rows(HitRow, "known_hits", "ORDER BY run, candidate")

    def gap(self, number: int) -> GapRow:
        return self._rows(GapRow, "gaps", "WHERE gap = ?", (number,))[0]
