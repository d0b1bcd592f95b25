"""Run folders under BENCHFILL_HOME: one folder a run, one process at a time in it."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from benchfill.errors import InputError

__all__ = ["RunFolder", "find_run", "list_runs", "make_run_folder", "run_name_from_seed", "try_lock"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

ADJECTIVES = ("amber", "brisk", "calm", "clear", "deep", "even", "fair", "firm", "keen", "level", "lucid", "plain",
              "quiet", "sharp", "sound", "steady", "still", "terse", "true", "vivid")  # fmt: skip
NOUNS = ("anchor", "axis", "beacon", "bridge", "caliper", "compass", "gauge", "ladder", "lens", "lever", "meter",
         "plumb", "prism", "ruler", "scale", "sextant", "span", "tally", "vernier", "weight")  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where everything of one run lies."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def memory(self) -> Path:
        return self.path / "memory.sqlite"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints.sqlite"

    @property
    def world(self) -> Path:
        return self.path / "world.json"

    @property
    def source(self) -> Path:
        """The item file that the run began with."""
        return self.path / "source"

    @property
    def requests(self) -> Path:
        """Hashes of the requests that reached the embedded endpoint, one a line."""
        return self.path / "requests.log"

    def in_use(self) -> bool:
        """Whether a process holds the lock."""
        try:
            with self.lock():
                return False
        except InputError:
            return True

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder for this process; the lock ends with the process, however it ends.

        Raises
        ------
        InputError
            Another process works in it (kind ``run_in_use``).
        """
        try:
            handle = (self.path / "lock").open("a")
        except OSError as error:
            raise InputError(
                f"The lock of run {self.name} cannot be opened: {error.strerror}.",
                f"Look at {self.path / 'lock'}.",
                kind="unwritable",
                path=str(self.path),
            ) from None
        with handle:
            if not try_lock(handle):
                raise InputError(
                    f"Run {self.name} is in use by another process.",
                    "Wait for it, or stop it with Ctrl-C; `benchfill runs` lists the runs.",
                    kind="run_in_use",
                    path=str(self.path),
                )
            yield


def try_lock(handle: IO[str]) -> bool:
    """Lock an open file for this process without waiting; False when another one holds it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def run_name_from_seed(home: Path, seed: int) -> str:
    """Make up a name that no run has yet: two words and, when they are taken, a number."""
    number = (seed * 2654435761) % (len(ADJECTIVES) * len(NOUNS))
    base = f"{ADJECTIVES[number % len(ADJECTIVES)]}-{NOUNS[number // len(ADJECTIVES)]}"
    name, count = base, 1
    while (home / "runs" / name).exists():
        count += 1
        name = f"{base}-{count}"
    return name


@contextlib.contextmanager
def make_run_folder(home: Path, name: str) -> Iterator[RunFolder]:
    """Make the folder of a new run, readable by its owner only. It has its name once the block ends without error.

    Until then it is a hidden one: a process killed in between leaves nothing that looks like a run.

    Raises
    ------
    InputError
        The name is unusable or taken, or the folder cannot be made.
    """
    if not NAME.fullmatch(name):
        raise InputError(
            f"A run cannot be called {name!r}.",
            "Use up to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit.",
            kind="run_name",
        )
    path = home / "runs" / name
    unfinished = path.with_name(f".{name}.unfinished")
    try:
        # Each by itself: the mode holds for the last folder only, and the ledger lies in the first.
        for folder in (home, path.parent):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists():
            raise InputError(
                f"There is a run {name} already.",
                f"Go on with it: benchfill resume {name}; or choose another --name.",
                kind="run_exists",
                path=str(path),
            )
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        yield RunFolder(unfinished)
        unfinished.rename(path)
    except OSError as error:
        raise InputError(
            f"The run folder {path} cannot be made: {error.strerror}.",
            "Set BENCHFILL_HOME to a folder you can write to.",
            kind="unwritable",
            path=str(path),
        ) from None


def list_runs(home: Path) -> list[RunFolder]:
    """All runs, the one touched last at the end."""
    folder = home / "runs"
    if not folder.is_dir():
        return []
    # Hidden folders were never finished.
    found = [RunFolder(path) for path in folder.iterdir() if NAME.fullmatch(path.name) and path.is_dir()]
    return sorted(found, key=lambda run: (_touched(run), run.name))


def _touched(run: RunFolder) -> float:
    # The WAL holds the newest writes until SQLite folds it into the file.
    files = (run.memory, run.memory.with_name(run.memory.name + "-wal"))
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)


def find_run(home: Path, name: str | None) -> RunFolder:
    """The run of that name, or the one touched last.

    Raises
    ------
    InputError
        There is none (kind ``unknown_run``).
    """
    runs = list_runs(home)
    if name is None:
        if runs:
            return runs[-1]
        raise InputError("There is no run yet.", "Start one: benchfill run --gaps 3", kind="unknown_run")
    for run in runs:
        if run.name == name:
            return run
    known = ", ".join(run.name for run in runs[-5:]) or "none"
    raise InputError(f"There is no run {name}.", f"The latest runs: {known}.", kind="unknown_run")
