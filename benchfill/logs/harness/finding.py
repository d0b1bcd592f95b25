"""Logs at the paths a user names: files, folders that are one log, and folders of logs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchfill.errors import InputError
from benchfill.logs.harness.record import LogFormat
from benchfill.logs.harness.registry import detect_format, named_format
from benchfill.logs.harness.source import Source

__all__ = ["content_mark", "find_logs"]


def find_logs(
    paths: Sequence[Path | str], formats: Sequence[LogFormat], forced: LogFormat | None, skipped: list[str]
) -> Iterator[tuple[Source, LogFormat]]:
    """Logs in a fixed order; a named file that is no log is refused, one in a folder is listed."""
    seen: set[Path] = set()
    for path in sorted({Path(each) for each in paths}, key=str):
        if not path.exists():
            raise InputError(f"There is no file or folder {path}.", kind="missing_file", path=str(path))
        whole = Source(path)
        found = forced if forced and not whole.is_folder else detect_format(whole, formats)
        if found is None and {".csv", ".tsv"} & set(path.suffixes):
            # The reader of tables says best what is wrong with one.
            found = named_format("table", formats)
        if found is None and not whole.is_folder:
            # Names what is wrong with it, when something is.
            _ = whole.text
            raise InputError(
                f"{path} is no log of a known format.",
                f"--format names one of {', '.join(each.name for each in formats)}.",
                kind="unknown_format",
                path=str(path),
            )
        candidates = [whole] if found else _walk(path, formats, skipped, set())
        for source in candidates:
            resolved = source.path.resolve()
            if resolved in seen:
                continue
            seen.add(resolved)
            claimed = found or detect_format(source, (forced,) if forced else formats)
            if claimed is None:
                skipped.append(source.shown)
            elif forced is None or claimed is forced:
                yield source, claimed


def content_mark(source: Source) -> str:
    """What tells a log from a copy of it: the content of a file, the place of a folder."""
    if source.is_folder:
        return str(source.path.resolve())
    return hashlib.sha256(source.path.read_bytes()).hexdigest()


def _walk(
    folder: Path, formats: Sequence[LogFormat], skipped: list[str], entered: set[Path]
) -> Iterator[Source]:
    """Files and folders below that may be logs, sorted; a folder that is one log is not entered."""
    # A link may lead back to a folder above.
    if folder.resolve() in entered:
        return
    entered.add(folder.resolve())
    try:
        inside = sorted(folder.iterdir(), key=lambda each: each.name)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be read: {error.strerror}.", kind="unreadable", path=str(folder)
        ) from error
    for path in inside:
        if path.name.startswith("."):
            continue
        source = Source(path)
        if not source.is_folder:
            if source.may_be_log:
                yield source
            else:
                skipped.append(source.shown)
        elif detect_format(source, formats):
            yield source
        else:
            yield from _walk(path, formats, skipped, entered)
