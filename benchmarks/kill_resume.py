"""Stop a run at random moments, resume it each time, and compare with the uninterrupted run.

    python -m benchmarks.kill_resume --kills 25 --terms 5 --seed 1

First by SIGKILL, then by SIGTERM. Prints when each signal came, how many requests the endpoint saw again after it, by
its own count, and whether accepted items, difficulties and export are the same bytes. Everything in it is simulated.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CONCURRENCY = 16


@dataclass(frozen=True)
class Outcome:
    """What a killed and resumed run left behind."""

    export: bytes
    requests: int
    repeated: int
    kills: int
    moments: tuple[float, ...]
    repeats: tuple[int, ...]


def benchfill(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "benchfill", *arguments]


def environment(home: Path) -> dict[str, str]:
    # A test's coverage tracer, which doubles the time, does not follow into the run.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    return {**kept, "BENCHFILL_HOME": str(home)}


def export(home: Path, run: str) -> bytes:
    out = home / "export.jsonl"
    subprocess.run(
        benchfill("export", run, "--out", str(out)),
        env=environment(home),
        check=True,
        capture_output=True,
    )
    return out.read_bytes()


def requests_of(home: Path, run: str) -> tuple[int, int]:
    """How many requests reached the endpoint, and how many of them it had seen before."""
    log = home / "runs" / run / "requests.log"
    seen = collections.Counter(log.read_text().split()) if log.exists() else collections.Counter()
    return sum(seen.values()), sum(count - 1 for count in seen.values())


def kill_and_resume(
    home: Path,
    run: str,
    first: list[str],
    *,
    moments: Sequence[float],
    signum: int = signal.SIGKILL,
    patience: float = 600.0,
) -> Outcome:
    """Start with ``first``, stop it at each of the moments, resume it each time, at last to its end.

    Parameters
    ----------
    moments
        Ascending; one below 1 is a number of seconds after the start times 100, in which the fit is still at work;
        any other is the number of requests that the endpoint has seen in all. A few milliseconds more or less decide
        whether a call is out, its reply committed, or its node's checkpoint written.
    patience
        Seconds a start may take to reach its moment, and the last one to end.
    """
    command, kept, repeats = first, [], [0]
    for moment in (*moments, None):
        process = subprocess.Popen(
            command,
            env=environment(home),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        if _ended_before(process, home, run, moment, patience):
            _, said = process.communicate()
            if process.returncode not in (0, 4):
                raise RuntimeError(f"the run ended with {process.returncode}: {said.decode()[-2000:]}")
            break
        os.kill(process.pid, signum)
        process.communicate()
        kept.append(float(moment or 0.0))
        repeats.append(requests_of(home, run)[1])
        # Killed before there was anything: what is not there cannot be resumed, it is started.
        command = benchfill("resume", run) if (home / "runs" / run).exists() else first
    total, repeated = requests_of(home, run)
    repeats.append(repeated)
    # What a stop makes repeated is repeated by the session behind it.
    after = tuple(later - earlier for earlier, later in itertools.pairwise(repeats[1:]))
    return Outcome(export(home, run), total, repeated, len(kept), tuple(kept), after)


def _ended_before(
    process: subprocess.Popen[bytes], home: Path, run: str, moment: float | None, patience: float
) -> bool:
    """Wait for the moment; True when the run ended first."""
    log, began = home / "runs" / run / "requests.log", time.monotonic()
    # A line is the hex of a sha256 and its line end.
    while process.poll() is None:
        waited = time.monotonic() - began
        seen = log.stat().st_size // 65 if log.exists() else 0
        if moment is not None and (waited >= 100 * moment if moment < 1 else seen >= moment):
            return False
        if waited > patience:
            process.kill()
            raise RuntimeError(f"the run was not at {moment} within {patience:.0f} s")
        time.sleep(0.003)
    return True


def random_moments(rng: random.Random, kills: int, requests: int) -> list[float]:
    """Two kills within the first fifteen seconds (imports and fit), the others anywhere in the search."""
    early = sorted(rng.uniform(0.002, 0.15) for _ in range(min(2, kills)))
    return [*early, *sorted(float(rng.randint(1, requests - 1)) for _ in range(kills - len(early)))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--terms", type=int, default=5)
    parser.add_argument("--gaps", type=int, default=3)
    parser.add_argument("--tolerance", type=float, help="a wide one makes the search short")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        run = ["run", "--gaps", str(options.gaps), "--seed", str(options.seed), "--name", "kill", "--json"]
        if options.tolerance is not None:
            run += ["--tolerance", str(options.tolerance)]
        plain_home = Path(folder, "plain")
        began = time.monotonic()
        subprocess.run(benchfill(*run), env=environment(plain_home), check=True, stdout=subprocess.DEVNULL)
        took = time.monotonic() - began
        plain = export(plain_home, "kill")
        total, repeated = requests_of(plain_home, "kill")
        print(f"uninterrupted (simulated): {took:.0f} s, {total} requests, {repeated} repeated", flush=True)
        fine = True
        for name, signum, stops in (
            ("SIGKILL", signal.SIGKILL, options.kills),
            ("SIGTERM", signal.SIGTERM, options.terms),
        ):
            outcome = kill_and_resume(
                Path(folder, name),
                "kill",
                benchfill(*run),
                moments=random_moments(rng, stops, total),
                signum=signum,
            )
            fine &= _print(name, outcome, plain, allowed=CONCURRENCY if signum == signal.SIGKILL else 0)
    if not fine:
        sys.exit(1)


def _print(name: str, outcome: Outcome, plain: bytes, *, allowed: int) -> bool:
    print(f"{name} (simulated): at (seconds, or requests seen) | requests repeated after it")
    for moment, repeated in zip(outcome.moments, outcome.repeats, strict=True):
        at = f"{100 * moment:.1f} s" if moment < 1 else f"{moment:.0f}"
        print(f"  {at:>8} | {repeated}")
    same = outcome.export == plain
    print(
        f"  {outcome.kills} times: {outcome.requests} requests, {outcome.repeated} repeated, at most "
        f"{max(outcome.repeats, default=0)} after one; export byte-identical: {same}",
        flush=True,
    )
    return same and max(outcome.repeats, default=0) <= allowed


if __name__ == "__main__":
    main()
