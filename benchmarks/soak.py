"""A search while thirty in a hundred requests of every role go wrong. Everything in it is simulated.

    python -m benchmarks.soak --seed 1

Searches of the same gaps on the same frozen scale: without faults, with faults that heal within the tries of the
client, and with faults that never heal, of every role and of the pool alone. The first two must give the same bytes;
the others end or pause, name what is missing, and what they accept lies where they say by the world's own truth. A
last one has half the calls it needs as its budget. Waits between tries are shortened.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.kill_resume import benchfill, environment, export, requests_of

RATE = 0.3
PLENTY = "100000000"
# Of these none takes the time of a hanging connection; hanging and dripping ones are tried one by one in the tests.
KINDS = "rate_limit,rate_limit_after,server_error,loading,reset,page,error_in_200,null_choices,no_choices,cut"
HEALING = {"fault_rate": RATE, "fault_heals_after": 3, "fault_kinds": KINDS}
LASTING = {"fault_rate": RATE, "fault_heals_after": 0, "fault_kinds": KINDS}
# A round in which no writer or judge can be reached pauses the run; with faults of the pool alone it goes on.
LASTING_POOL = {"fault_rate_pool": RATE, "fault_heals_after": 0, "fault_kinds": KINDS}
# The client with a fiftieth of its waits, so that hours of waiting become minutes.
SHORT = """
import functools
from benchfill.tools import client, limits
client.FIRST_WAIT, client.LONGEST_WAIT = 0.01, 0.1
client.Breaker = limits.Breaker = functools.partial(client.Breaker, cool_down=0.1, longest=1.0)
from benchfill.cli import main
main()
"""


@dataclass(frozen=True)
class Placed:
    """An accepted item: where it was to lie, where it was measured, where it truly lies."""

    target: float
    tolerance: float
    lo90: float
    hi90: float
    true: float


@dataclass(frozen=True)
class Leg:
    """What one search left behind.

    Parameters
    ----------
    code
        Exit code of its last session.
    requests, calls
        Requests that reached the endpoint, and different ones among them.
    missing
        Missing attempts, by model and reason, as the summary names them; of a search without one from its memory.
    """

    code: int
    export: bytes
    requests: int
    calls: int
    seconds: float
    missing: dict[str, dict[str, int]]
    accepted: tuple[Placed, ...]


def search(
    home: Path,
    run: str,
    faults: Mapping[str, Any],
    *arguments: str,
    variables: Mapping[str, str] | None = None,
) -> Leg:
    """Go on with a run whose scale is frozen, at an endpoint with these faults, until it ends or pauses again."""
    folder = home / "runs" / run
    config = json.loads((folder / "world.json").read_text())
    config["settings"] = {**config.get("settings", {}), **faults}
    (folder / "world.json").write_text(json.dumps(config))
    began = time.monotonic()
    command = [sys.executable, "-c", SHORT, "resume", run, "--json", *arguments]
    done = subprocess.run(
        command, env=variables or environment(home), capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 3, 4, 5):
        raise RuntimeError(f"the search ended with {done.returncode}: {done.stderr[-2000:]}")
    total, repeated = requests_of(home, run)
    return Leg(
        done.returncode,
        export(home, run),
        total,
        total - repeated,
        time.monotonic() - began,
        *_found(folder / "memory.sqlite"),
    )


def _found(memory: Path) -> tuple[dict[str, dict[str, int]], tuple[Placed, ...]]:
    from benchfill.graph.summary import missing_attempts
    from benchfill.memory.pool import Pool
    from benchfill.worlds.simulated.truth import true_z

    pool = Pool(memory, create=False)
    scale, estimates, placed = pool.scale(), pool.estimates(), []
    for gap in pool.gaps():
        if gap.accepted is None or scale is None:
            continue
        item = pool.item(str(pool.candidate(gap.accepted).item))
        if item is None:
            raise LookupError(gap.accepted)
        where = estimates[item.id]
        true = true_z(scale.theta, item.question, scale.lo, scale.hi, scale.models)
        placed.append(Placed(gap.target, gap.tolerance, where.z_lo90, where.z_hi90, true))
    missing = missing_attempts(pool)
    pool.close()
    return missing, tuple(placed)


def report(name: str, leg: Leg) -> None:
    missing = sum(sum(reasons.values()) for reasons in leg.missing.values())
    print(
        f"{name} (simulated): exit {leg.code}, {leg.seconds:.0f} s, {leg.calls} calls in {leg.requests} requests, "
        f"{missing} attempts missing of {len(leg.missing)} models, {len(leg.accepted)} items accepted"
    )
    for item in leg.accepted:
        inside = item.lo90 <= item.true <= item.hi90
        print(
            f"  true z {item.true:.4f}, target {item.target:.4f}: off by {abs(item.true - item.target):.4f}, "
            f"tolerance {item.tolerance:.4f}; {'in' if inside else 'outside of'} its 90% interval"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gaps", type=int, default=3)
    options = parser.parse_args()
    from tests.end_to_end.conftest import Finished, copy_after_the_fit

    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder, "first")
        # The fit is all that is wanted of it: it stops at its first call.
        given = ["run", "--gaps", str(options.gaps), "--seed", str(options.seed), "--name", "reference"]
        begun = [*given, "--max-calls", "0", "--json"]
        subprocess.run(benchfill(*begun), env=environment(first), check=False, stdout=subprocess.DEVNULL)
        made = Finished(first, 0, [], "")
        legs = {}
        for name, faults in (
            ("without faults", {}),
            ("healing", HEALING),
            ("lasting", LASTING),
            ("lasting, pool", LASTING_POOL),
        ):
            home = copy_after_the_fit(made, Path(folder, name.replace(" ", "-").replace(",", "")))
            legs[name] = search(home, "reference", faults, "--max-calls", PLENTY)
            report(name, legs[name])
        limit = legs["healing"].requests // 2
        home = copy_after_the_fit(made, Path(folder, "budget"))
        limited = search(home, "reference", HEALING, "--max-calls", str(limit))
        report(f"healing, at most {limit} requests", limited)
    same = legs["healing"].export == legs["without faults"].export
    print("export with healing faults byte-identical:", same)
    if not same or legs["healing"].missing or limited.code != 3 or limited.requests > limit:
        sys.exit(1)


if __name__ == "__main__":
    main()
