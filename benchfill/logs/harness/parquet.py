"""Parquet tables of responses, long or wide; needs the extra ``parquet`` (pyarrow)."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import Any

from benchfill.errors import InputError
from benchfill.logs.harness.record import LogRecord, ReadContext
from benchfill.logs.harness.source import Source
from benchfill.logs.harness.tabular import cell_records
from benchfill.logs.responses import parse_responses

__all__ = ["Parquet"]


class Parquet:
    name = "parquet"
    verified = True

    def detect(self, source: Source) -> bool:
        return source.magic == b"PAR1"

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        text = _as_csv(source)
        file = parse_responses(text, source.shown, rows=context.rows, threshold=context.threshold)
        yield from cell_records(file, source, context)


def _as_csv(source: Source) -> str:
    try:
        # A wheel without types; the calls are few.
        import pyarrow  # type: ignore[import-untyped,unused-ignore]
        from pyarrow import parquet  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise InputError(
            f"{source.shown} is a Parquet table, which needs pyarrow.",
            "Install it: pip install 'benchfill[parquet]'.",
            kind="missing_package",
            path=source.shown,
        ) from error
    try:
        table = parquet.read_table(source.path)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(
            f"{source.shown} is a Parquet table that is cut or damaged.",
            "Copy or download it again.",
            kind="corrupt_archive",
            path=source.shown,
        ) from error
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches():
        columns = [column.to_pylist() for column in batch.columns]
        writer.writerows([_cell(value) for value in row] for row in zip(*columns, strict=True))
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
