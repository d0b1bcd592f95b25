"""Kill a run at random moments, resume it each time, and compare with the uninterrupted run.

    python -m benchmarks.kill_resume --kills 20 --seed 1

Prints, for every kill, when it came and how many requests had reached the endpoint, and at the end whether accepted
items, difficulties and export are the same bytes and how many requests the endpoint saw twice. Everything in it is
simulated.
"""

from __future__ import annotations

import argparse
import collections
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


def benchfill(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "benchfill", *arguments]


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "BENCHFILL_HOME": str(home)}


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
    home: Path, run: str, first: list[str], *, moments: Sequence[float], patience: float = 600.0
) -> Outcome:
    """Start with ``first``, kill it at each of the moments, resume it each time, at last to its end.

    Parameters
    ----------
    moments
        Seconds after each start; a run that ends before its moment was not killed, and was the last one.
    """
    command, kept = first, []
    for moment in (*moments, patience):
        process = subprocess.Popen(
            command,
            env=environment(home),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            _, said = process.communicate(timeout=moment)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            kept.append(moment)
            # Killed before there was anything: what is not there cannot be resumed, it is started.
            started = (home / "runs" / run).exists()
            command = benchfill("resume", run) if started else first
            continue
        if process.returncode not in (0, 4):
            raise RuntimeError(f"the run ended with {process.returncode}: {said.decode()[-2000:]}")
        break
    else:
        raise RuntimeError(f"the run did not end within {patience:.0f} s")
    total, repeated = requests_of(home, run)
    return Outcome(export(home, run), total, repeated, len(kept), tuple(kept))


def random_moments(rng: random.Random, kills: int, took: float) -> list[float]:
    """One kill in the first third (imports and fit), one that leaves the fit behind, the others within a short while.

    A start alone takes some seconds: with all moments drawn over the whole run, few kills would be needed to end it.
    """
    early, late = rng.uniform(0.2, took / 3), rng.uniform(took / 3, took / 2)
    return [early, late, *(rng.uniform(1.0, took / 8) for _ in range(kills - 2))][:kills]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        run = ["run", "--gaps", "3", "--seed", str(options.seed), "--name", "kill", "--json"]
        plain_home, killed_home = Path(folder, "plain"), Path(folder, "killed")
        began = time.monotonic()
        subprocess.run(benchfill(*run), env=environment(plain_home), check=True, stdout=subprocess.DEVNULL)
        took = time.monotonic() - began
        plain = export(plain_home, "kill")
        total, repeated = requests_of(plain_home, "kill")
        print(f"uninterrupted (simulated): {took:.0f} s, {total} requests, {repeated} repeated")
        outcome = kill_and_resume(
            killed_home,
            "kill",
            benchfill(*run),
            moments=random_moments(rng, options.kills, took),
        )
        print("kills at seconds after a start:", " ".join(f"{moment:.1f}" for moment in outcome.moments))
        print(
            f"killed {outcome.kills} times (simulated): {outcome.requests} requests, {outcome.repeated} repeated, "
            f"at most {CONCURRENCY * outcome.kills} were in flight at the kills"
        )
        print("export byte-identical:", outcome.export == plain)
        if outcome.export != plain or outcome.repeated > CONCURRENCY * outcome.kills:
            sys.exit(1)


if __name__ == "__main__":
    main()
