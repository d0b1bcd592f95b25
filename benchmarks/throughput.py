"""Attempts a second through the whole client, beside a bare OpenAI client, at an endpoint that takes 50 ms.

    python -m benchmarks.throughput
    python -m benchmarks.throughput --memory 50000

The first prints, for 16 and 64 calls in flight, what the product reaches (client, ledger, meter) and what a bare
``openai.AsyncOpenAI`` does, in turns within one process and against one embedded endpoint, as shares of concurrency /
latency. ``desk`` is what of a call stays in the process of the run where gaps are searched by workers: the request is
sent as a worker wrote it, through ledger, limits and budget. The second prints the memory of the process while it makes
that many calls. The endpoint is simulated, and on the same cores.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchfill.graph.world_process import start_world
from benchfill.memory.ledger import Ledger
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.exchange import AskedCall
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter

LATENCY = 0.05
MESSAGES = [{"role": "user", "content": "A shelf holds 12 rows of 9 books. How many books are there?"}]


async def rate(
    ask: Callable[[int], Awaitable[object]], first: int, calls: int, concurrency: int
) -> tuple[float, float]:
    """Calls a second with so many in flight all the time, and milliseconds of this process's time a call."""
    numbers = iter(range(first, first + calls))

    async def work() -> None:
        for number in numbers:
            await ask(number)

    began, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(concurrency)))
    return calls / (time.perf_counter() - began), 1000 * (time.process_time() - used) / calls


def product(
    url: str, ledger: Ledger, concurrency: int
) -> tuple[ModelClient, Callable[[int], Awaitable[object]]]:
    client = ModelClient(
        Endpoint("elm", url, "elm", ledger_name="throughput"),
        ledger=ledger,
        role="respondent",
        run="throughput",
        limit=ServerLimit(concurrency),
        meter=Meter(),
    )
    return client, lambda number: client.ask(MESSAGES, seed=number, tag=f"t{number}")


async def compare(folder: Path, calls: int, rounds: int) -> None:
    from openai import AsyncOpenAI

    config = folder / "world.json"
    config.write_text(f'{{"world": "simulated", "settings": {{"latency_ms": {1000 * LATENCY}}}}}')
    world = await start_world(config, folder / "requests.log")
    bare = AsyncOpenAI(base_url=world.base_url, api_key="none", max_retries=0)

    async def ask_bare(number: int) -> object:
        return await bare.chat.completions.create(model="elm", messages=MESSAGES, seed=number)

    with Ledger(folder / "ledger.sqlite") as ledger:
        for concurrency in (16, 64):
            client, ask = product(world.base_url, ledger, concurrency)

            async def ask_desk(number: int, client: ModelClient = client) -> object:
                body = json.dumps({"model": "elm", "seed": number, "messages": MESSAGES}).encode()
                return await client.pass_on(
                    AskedCall("respondent", "elm", "/chat/completions", body, f"d{number}", 1)
                )

            rates: dict[str, list[tuple[float, float]]] = {"bare": [], "product": [], "desk": []}
            for turn in range(rounds + 1):
                first = 10_000_000 * concurrency + turn * calls
                for name, asked in (("bare", ask_bare), ("product", ask), ("desk", ask_desk)):
                    measured = await rate(asked, first, calls, concurrency)
                    if turn:  # the first round opens connections
                        rates[name].append(measured)
            await client.aclose()
            limit = concurrency / LATENCY
            reached, used = (
                {name: statistics.median(each[place] for each in values) for name, values in rates.items()}
                for place in (0, 1)
            )
            shares = ", ".join(
                f"{name} {value:.0f}/s ({value / limit:.0%}, {used[name]:.1f} ms of processor a call)"
                for name, value in reached.items()
            )
            print(
                f"{concurrency} in flight, limit {limit:.0f}/s (simulated): {shares}; "
                f"product / bare {reached['product'] / reached['bare']:.2f}",
                flush=True,
            )
    await bare.close()
    await world.stop()


def resident() -> float:
    """Resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


async def remember(folder: Path, calls: int, steps: int = 10) -> None:
    config = folder / "world.json"
    config.write_text('{"world": "simulated"}')
    world = await start_world(config, folder / "requests.log")
    with Ledger(folder / "ledger.sqlite") as ledger:
        client, ask = product(world.base_url, ledger, 64)
        for step in range(steps + 1):
            if step:
                await rate(ask, step * calls, calls // steps, 64)
            gc.collect()
            print(f"{step * calls // steps:>7} calls: {resident():.0f} MB", flush=True)
        await client.aclose()
    await world.stop()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", type=int, help="watch the memory over so many calls instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if options.memory:
            asyncio.run(remember(Path(name), options.memory))
        else:
            asyncio.run(compare(Path(name), options.calls, options.rounds))


if __name__ == "__main__":
    main()
