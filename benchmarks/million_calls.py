"""A ledger of a million calls and a run of 50,000 items: how quick they are.

    python -m benchmarks.million_calls --home DIR
    python -m benchmarks.million_calls --home DIR --prune

The first makes them by a script (in an empty DIR; a second time it measures what is there) and prints what look-ups,
commits, ``benchfill status``, ``benchfill ledger`` and the start of ``benchfill resume`` take, and how large file and
process are. The second prunes the ledger then. Commands are timed as a user would, from the start of their process to
its end; the start of ``resume`` is timed in a process that has imported what it needs.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import importlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.made_ledger import RUNS, call_of, make_ledger, make_runs, prose
from benchmarks.throughput import resident

LOOKED_UP = 5000
COMMITS = 2000


def build(home: Path, calls: int, items: int, seed: int) -> None:
    began, steps = time.process_time(), max(1, calls // 5)

    def say(done: int) -> None:
        if done % steps == 0 or done == calls:
            used = time.process_time() - began
            print(f"{done:>9,} calls written, {resident():.0f} MB, {used:.0f} s of processor", flush=True)

    make_ledger(home / "ledger.sqlite", calls, seed, say)
    began = time.process_time()
    make_runs(home, items, seed)
    print(f"{items:>9,} items written, {resident():.0f} MB, {time.process_time() - began:.0f} s", flush=True)


def sizes(home: Path, calls: int, seed: int) -> None:
    import zlib

    text = prose()
    bodies = [
        body for n in range(0, calls, max(1, calls // 2000)) for body in _bodies(call_of(n, text, seed))
    ]
    size = (home / "ledger.sqlite").stat().st_size
    plain = sum(map(len, bodies)) / len(bodies)
    deflated = sum(len(zlib.compress(body, 1)) for body in bodies) / len(bodies)
    from benchfill.memory.ledger import Ledger

    with Ledger(home / "ledger.sqlite") as ledger:
        packed = sum(len(ledger.bodies.pack(body)) for body in bodies) / len(bodies)
    print(f"ledger file                    {size / 1e6:,.0f} MB, {size / calls:,.0f} B a call")
    print(
        f"a body                         {plain:,.0f} B; packed {packed:,.0f} B; by zlib 1 {deflated:,.0f} B"
    )
    print(
        f"memory of the large run        {(home / 'runs' / RUNS[0] / 'memory.sqlite').stat().st_size / 1e6:,.0f} MB"
    )


def _bodies(call: Any) -> list[bytes]:
    return [call.request, call.response] if call.response else [call.request]


def look_ups(home: Path, calls: int, seed: int) -> None:
    from benchfill.memory.ledger import Ledger

    text, rng = prose(), np.random.default_rng(seed)
    kept = [n for n in rng.integers(0, calls, 2 * LOOKED_UP).tolist() if n % 50 != 3][:LOOKED_UP]
    keys = [call_of(n, text, seed).key for n in kept]
    with Ledger(home / "ledger.sqlite") as ledger:
        before = resident()
        for name, asked in (("found", keys), ("not found", [key[::-1] for key in keys])):
            times, used = [], time.process_time()
            for key in asked:
                began = time.perf_counter()
                stored = ledger.look_up(key)
                times.append(1000 * (time.perf_counter() - began))
                if (stored is None) == (name == "found"):
                    raise AssertionError(f"{key} is {name} and was not")
            used = 1000 * (time.process_time() - used) / len(asked)
            high = statistics.quantiles(times, n=100)[98]
            print(
                f"look-up, {name:10}            {statistics.median(times):.3f} ms, 99 % within {high:.3f} ms, "
                f"{used:.3f} ms of processor"
            )
        print(f"memory over {2 * LOOKED_UP:,} look-ups     {before:.0f} to {resident():.0f} MB")


def commits(home: Path, calls: int, seed: int) -> None:
    """New calls, which are taken back."""
    from benchfill.memory.ledger import Ledger
    from benchfill.memory.ledger_pruning import remove_calls

    text = prose()
    new = [call_of(calls + n, text, seed + 1) for n in range(2 * COMMITS)]
    new = [dataclasses.replace(call, run="measured") for call in new if not call.fault]
    with Ledger(home / "ledger.sqlite") as ledger:
        for name, batch, part in (("one by one", 1, new[::2]), ("64 at once", 64, new[1::2])):
            began, used = time.perf_counter(), time.process_time()
            for first in range(0, len(part), batch):
                with ledger.database.transaction():
                    for call in part[first : first + batch]:
                        ledger.commit(call)
            took, used = time.perf_counter() - began, time.process_time() - used
            print(
                f"commits, {name:12}          {len(part) / took:,.0f}/s, "
                f"{1000 * used / len(part):.3f} ms of processor each"
            )
        remove_calls(ledger, "measured", alone=True)


# The peak of a process is at least that of its parent, so a small one starts it.
STARTER = """
import os, subprocess, sys, time
began = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
print(status, time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def command(home: Path, *arguments: str) -> tuple[float, float, int]:
    """Seconds, seconds of processor and MB at most of a process."""
    environment = {**os.environ, "BENCHFILL_HOME": str(home)}
    started = [sys.executable, "-S", "-c", STARTER, sys.executable, *arguments]
    found = subprocess.run(started, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    status, took, used, peak = found.stdout.split()
    if int(status):
        raise RuntimeError(f"{' '.join(arguments)} ended with {status}")
    return float(took), float(used), int(peak) // (1024 if sys.platform != "darwin" else 1024 * 1024)


def commands(home: Path) -> None:
    for name, arguments in (("status", ("status", RUNS[0])), ("ledger", ("ledger",))):
        rows = sorted(command(home, "-m", "benchfill", *arguments) for _ in range(3))
        took, used, memory = rows[1]
        print(
            f"benchfill {name:20} {took:.2f} s, {used:.2f} s of processor, {memory} MB, imports included",
            flush=True,
        )


def resume(home: Path) -> None:
    """In a process of its own: from the call of resume to the first request at the embedded endpoint."""
    took, used, memory = command(home, "-m", "benchmarks.million_calls", "--home", str(home), "--resume-here")
    print(
        f"  (its process: {took:.1f} s, {used:.1f} s of processor, {memory} MB, imports included)", flush=True
    )


def resume_here(home: Path) -> None:
    for module in ("benchfill.graph.build", "benchfill.tools.chat", "sqlite_utils", "openai.resources.chat"):
        importlib.import_module(module)
    from benchfill.graph.session import run_to_end
    from benchfill.memory.runs import find_run
    from benchfill.settings import Settings

    folder = find_run(home, RUNS[0])
    requests, marks = folder.requests, []
    began, used = time.perf_counter(), time.process_time()
    known = requests.stat().st_size if requests.exists() else 0

    def watch() -> None:
        while not requests.exists() or requests.stat().st_size == known:
            time.sleep(0.005)
        steps = ", ".join(f"{name} {moment:.2f}" for name, moment in marks)
        print(
            f"start of resume                {time.perf_counter() - began:.2f} s to its first request, "
            f"{time.process_time() - used:.2f} s of processor ({steps}), {resident():.0f} MB",
            file=sys.stderr,
            flush=True,
        )
        os._exit(0)

    def emit(event: str, /, **fields: object) -> None:
        if event not in ("meter", "stage"):
            marks.append((event, time.process_time() - used))

    threading.Thread(target=watch, daemon=True).start()
    asyncio.run(run_to_end(folder, home / "ledger.sqlite", emit, today=Settings()))


def prune(home: Path) -> None:
    for name, flag in (("what would go", "--dry-run"), ("pruning", "--yes")):
        took, used, memory = command(home, "-m", "benchfill", "ledger", "prune", flag, "--json")
        print(f"{name:30} {took:.1f} s, {used:.1f} s of processor, {memory} MB", flush=True)
    print(f"ledger file                    {(home / 'ledger.sqlite').stat().st_size / 1e6:,.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--items", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--prune", action="store_true")
    parser.add_argument("--resume-here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    home = options.home
    if options.resume_here:
        resume_here(home)
        return
    made = home / "made.json"
    if made.exists():
        known = json.loads(made.read_text())
        calls, seed = known["calls"], known["seed"]
    else:
        calls, seed = options.calls, options.seed
        home.mkdir(parents=True, exist_ok=True)
        build(home, calls, options.items, seed)
        made.write_text(json.dumps({"calls": calls, "items": options.items, "seed": seed}))
    sizes(home, calls, seed)
    look_ups(home, calls, seed)
    commits(home, calls, seed)
    commands(home)
    resume(home)
    if options.prune:
        prune(home)


if __name__ == "__main__":
    main()
