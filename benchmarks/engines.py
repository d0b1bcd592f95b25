"""The same work on processes of this machine and on a Ray cluster of three nodes on it.

    python -m benchmarks.engines same  --shared ../shared   # byte for byte the same?
    python -m benchmarks.engines kill                       # two nodes die while gaps are searched on them
    python -m benchmarks.engines cost                       # what starting, and one unit, take
    python -m benchmarks.engines speed                      # ablation with two workers against one
    python -m benchmarks.engines driver                     # what a call costs the process of the run

Needs the extra ``ray``. Everything but the replayed answers is simulated.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchfill.engines.opening import open_engine, run_all
from benchfill.engines.protocol import Failed, Unit
from benchmarks.kill_resume import benchfill, environment, export, requests_of
from benchmarks.replay import write_split

NODES = 2  # beside the head, which does no work


@contextlib.contextmanager
def cluster() -> Iterator[Any]:
    """A head and two nodes with a processor each."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False},
    )
    try:
        for _ in range(NODES):
            made.add_node(num_cpus=1)
        made.wait_for_nodes()
        yield made
    finally:
        made.shutdown()


def run(home: Path, *arguments: str) -> tuple[bytes, dict[str, Any], float]:
    """Export and summary of a run, and its seconds."""
    began = time.monotonic()
    done = subprocess.run(
        benchfill("run", "--name", "r", "--json", *arguments),
        env=environment(home),
        capture_output=True,
        text=True,
    )
    if done.returncode not in (0, 4):
        raise SystemExit(done.stderr[-2000:])
    return export(home, "r"), summary_of(done.stdout), time.monotonic() - began


def summary_of(events: str) -> dict[str, Any]:
    """The last event, without what time and the ledger do to it."""
    summary: dict[str, Any] = json.loads(events.splitlines()[-1])
    for name in ("calls", "from_ledger", "elapsed"):
        summary["totals"].pop(name)
    return summary


def same(options: argparse.Namespace) -> None:
    kinds = {"default run": ["--gaps", "3"], "default run, 3 at once": ["--gaps", "3", "--at-once", "3"]}
    with tempfile.TemporaryDirectory() as name, cluster() as nodes:
        folder = Path(name)
        if options.shared is not None:
            write_split(options.shared / "data", folder, 1)
            files = [("items", "items.jsonl"), ("responses", "responses.csv")]
            files += [(f"bank-{flag}", f"bank_{file}") for flag, file in files]
            named = [part for flag, file in files for part in (f"--{flag}", str(folder / file))]
            kinds["replay run"] = ["--world", "replay", *named, "--gaps", "2"]
        ray = ["--engine", "ray", "--address", nodes.address]
        for kind, arguments in kinds.items():
            here = run(folder / f"{kind} local", *arguments)
            there = run(folder / f"{kind} ray", *arguments, *ray)
            print(
                f"{kind}: export {'the same' if here[0] == there[0] else 'DIFFERS'} ({len(here[0]):,} bytes), "
                f"summary {'the same' if here[1] == there[1] else 'DIFFERS'}, "
                f"{here[2]:.0f} s and {there[2]:.0f} s",
                flush=True,
            )
        ablate = benchfill("ablate", "--quick", "--json")
        outputs = [
            subprocess.run([*ablate, *where], capture_output=True, check=True).stdout for where in ([], ray)
        ]
        alike = "the same" if outputs[0] == outputs[1] else "DIFFERS"
        print(f"ablate --quick: {alike} ({len(outputs[0]):,} bytes)")


def kill(options: argparse.Namespace) -> None:
    arguments = ["--gaps", "3", "--at-once", "3"]
    with tempfile.TemporaryDirectory() as name, cluster() as nodes:
        folder = Path(name)
        whole = run(folder / "whole", *arguments)
        expected = requests_of(folder / "whole", "r")[0]
        moments = [expected * 2 // 5, expected * 7 // 10]

        command = benchfill(
            "run", "--name", "r", "--json", *arguments, "--engine", "ray", "--address", nodes.address
        )
        events = folder / "events.jsonl"
        with events.open("w") as file:  # a pipe that nobody reads would hold the run up
            process = subprocess.Popen(
                command, env=environment(folder / "killed"), stdout=file, stderr=subprocess.DEVNULL
            )
        for number, moment in enumerate(moments):
            while requests_of(folder / "killed", "r")[0] < moment:
                if process.poll() is not None:
                    raise SystemExit(f"the run ended too soon, with exit code {process.returncode}")
                time.sleep(0.05)
            seen = requests_of(folder / "killed", "r")[0]
            nodes.remove_node(sorted(nodes.worker_nodes, key=id)[number % NODES], allow_graceful=False)
            print(f"node killed after {seen:,} of {expected:,} requests", flush=True)
            nodes.add_node(num_cpus=1)
        process.wait()
        summary = summary_of(events.read_text())
        broken = (export(folder / "killed", "r"), summary)
        requests, repeated = requests_of(folder / "killed", "r")
        print(
            f"export {'the same' if whole[0] == broken[0] else 'DIFFERS'}, "
            f"summary {'the same' if whole[1] == broken[1] else 'DIFFERS'}; "
            f"the world's own count: {requests:,} requests, {repeated} repeated (undisturbed {expected:,})"
        )
        with open_engine("ray", nodes.address) as engine:
            units = [
                Unit("poisoned", _poison, ()),
                *(Unit(f"unit {each}", _nothing, (each,)) for each in range(4)),
            ]
            for unit, outcome in asyncio.run(engine.run(units, at_once=2)).items():
                print(f"  {unit}: {outcome.error if isinstance(outcome, Failed) else outcome}")


def cost(options: argparse.Namespace) -> None:
    for name in ("local", "ray"):
        began = time.monotonic()
        with open_engine(name) as engine:  # type: ignore[arg-type]
            opened = time.monotonic()
            run_all(engine, [Unit("first", _nothing, (0,))], at_once=1)
            first = time.monotonic()
            run_all(engine, [Unit(f"u{each}", _nothing, (each,)) for each in range(options.units)], at_once=2)
            last = time.monotonic()
        print(
            f"{name}: start {opened - began:.2f} s, first unit {first - opened:.2f} s, "
            f"{options.units} further by two workers {1000 * (last - first) / options.units:.1f} ms each"
        )


def speed(options: argparse.Namespace) -> None:
    for name in options.places:
        times = {}
        for jobs in (1, 2):
            began = time.monotonic()
            seeds = ("--seeds", str(options.seeds))
            command = benchfill("ablate", *seeds, "--json", "--engine", name, "--jobs", str(jobs))
            subprocess.run(command, capture_output=True, check=True)
            times[jobs] = time.monotonic() - began
        print(
            f"{name}: ablate of {options.seeds} seeds {times[1]:.1f} s with one worker, {times[2]:.1f} s with two: "
            f"{times[1] / times[2]:.2f} times as fast (whole processes)",
            flush=True,
        )


# The command in a process that says at its end what it alone has used; its workers and the endpoint are others.
ALONE = """
import atexit, resource, sys
from benchfill.cli import main
def say():
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
atexit.register(say)
main()
"""


def driver(options: argparse.Namespace) -> None:
    """From the frozen scale to the end of the search, less what a resume takes that has nothing left to do."""
    at_once = ("--at-once", str(options.at_once))
    kinds: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
        "one process": ((), ()),
        "local workers": (at_once, ()),
        "Ray": (at_once, ("--engine", "ray")),
    }
    for kind, (begin, where) in kinds.items():
        with tempfile.TemporaryDirectory() as name:
            home = Path(name)
            first = subprocess.run(
                benchfill("run", "--name", "r", "--gaps", "3", "--max-calls", "1", *begin),
                env=environment(home),
                capture_output=True,
            )
            if first.returncode not in (0, 3):
                raise SystemExit(first.stderr.decode()[-2000:])
            command = [sys.executable, "-c", ALONE, "resume", "r", "--max-calls", "1000000", *where]
            began, used = time.monotonic(), []
            for _ in range(2):
                done = subprocess.run(command, env=environment(home), capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(done.stderr[-2000:])
                seconds, peak = done.stderr.split()[-2:]
                used.append((float(seconds), int(peak) / 1024, time.monotonic() - began))
            calls = requests_of(home, "r")[0]
            cost = (used[0][0] - used[1][0]) / calls
            print(
                f"{kind}: {calls:,} calls, {1000 * cost:.2f} ms of the driver's processor each, "
                f"{used[0][2]:.0f} s elapsed, {used[0][1]:.0f} MB at most",
                flush=True,
            )


def _nothing(value: int) -> int:
    return value


def _poison() -> None:
    os.kill(os.getpid(), 9)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["same", "kill", "cost", "speed", "driver"])
    parser.add_argument("--shared", type=Path, help="folder of logs, for the replayed run")
    parser.add_argument("--units", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=64, help="of the ablation that is timed")
    parser.add_argument("--places", nargs="*", default=["local", "ray"], help="of the ablation that is timed")
    parser.add_argument("--at-once", type=int, default=3, help="gaps that the driver is measured with")
    options = parser.parse_args()
    {"same": same, "kill": kill, "cost": cost, "speed": speed, "driver": driver}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
