"""A home as a long use leaves it: a ledger of many calls, made by the ledger's own functions, and a run of many items.

Bodies are those of chat completions, 1 to 4 KB; their texts are passages of English prose (of the Python documentation
that every Python carries), so that they compress as prose does. Everything follows from one seed.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np

import benchfill
from benchfill.call import StoredCall
from benchfill.item import Item
from benchfill.memory.ledger import Ledger
from benchfill.memory.ledger_uses import NotingLedger
from benchfill.memory.pool import Pool
from benchfill.memory.records import AttemptRow, Candidate, Estimate, GapRow, RunRow, ScaleRow
from benchfill.memory.runs import list_runs, make_run_folder
from benchfill.settings import Settings
from benchfill.worlds.draws import Draws
from benchfill.worlds.simulated.language import FAMILY_NAMES, write_question
from benchfill.worlds.simulated.outline import build, draw_outline
from benchfill.worlds.simulated.respondents import RESPONDENTS

__all__ = ["RUNS", "call_of", "make_ledger", "make_runs", "prose"]

MODELS = tuple(sorted(RESPONDENTS))
# The first has the large pool and is unfinished; so many are there, the others are gone.
RUNS = tuple(f"audit-{number:02d}" for number in range(1, 21))
FINISHED = RUNS[1:10]
# Calls written in one transaction, as a batch of a cluster's workers would be.
BATCH = 1000
SYSTEM = "Answer the question. Reason as you need. End with your final answer, once, as \\boxed{...}."
DRAWS = 200
# Stretches of the axis without items (z).
HOLES = ((0.40, 0.46), (0.60, 0.65))
CANDIDATES = 500


def prose() -> str:
    """Some 400 KB of English."""
    from pydoc_data.topics import topics

    return " ".join(" ".join(topics[name].split()) for name in sorted(topics))


def call_of(number: int, text: str, seed: int) -> StoredCall:
    """The call of that number: one in twenty of the judge, one in fifty a failure, one in ten without a price."""
    rng = random.Random(f"{seed} {number}")
    start, asked, answered = (
        low + int(rng.random() * (high - low))
        for low, high in ((0, len(text) - 9000), (400, 1500), (600, 3300))
    )
    role = "judge" if number % 20 == 7 else "pool"
    model = "judge" if role == "judge" else MODELS[number % len(MODELS)]
    messages = [
        {"content": SYSTEM, "role": "system"},
        {"content": text[start : start + asked], "role": "user"},
    ]
    request = {"stream": False, "model": model, "seed": rng.getrandbits(52), "messages": messages}
    body = text[start + 4500 : start + 4500 + answered] + f" \\boxed{{{rng.getrandbits(10)}}}"
    usage = {
        "prompt_tokens": asked // 4,
        "completion_tokens": answered // 4,
        "total_tokens": (asked + answered) // 4,
    }
    reply = {
        "id": f"chatcmpl-{rng.randbytes(12).hex()}",
        "object": "chat.completion",
        "created": 1_700_000_000 + number,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": body},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": usage,
    }
    fault = "timeout" if number % 50 == 3 else ""
    return StoredCall(
        key=hashlib.sha256(f"{seed} {number}".encode()).hexdigest(),
        endpoint="http://localhost/v1",
        role=role,
        model=model,
        run=RUNS[number * 7919 % len(RUNS)],
        tag=f"judge/g1r01w{number}/t{number % 3}" if role == "judge" else f"respondent/made/a{number % 64}",
        status=0 if fault else 200,
        content_type="application/json",
        request=json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode(),
        response=b"" if fault else json.dumps(reply).encode(),
        input_tokens=None if fault else usage["prompt_tokens"],
        output_tokens=None if fault else usage["completion_tokens"],
        price=None if fault or number % 10 == 0 else 1e-6 * (asked + 4 * answered),
        seconds=4.0 * rng.random(),
        tries=1,
        fault=fault,
        charged_tokens=(asked + answered) // 4,
    )


def make_ledger(path: Path, calls: int, seed: int, on_batch: Callable[[int], None]) -> None:
    """Write so many calls; every hundredth is served to a second run as well.

    Stopped, it goes on where it was.
    """
    text = prose()
    with Ledger(path) as ledger:
        known = sum(row.calls + row.failed for row in ledger.spend())
        for first in range(known, calls, BATCH):
            with ledger.database.transaction():
                for number in range(first, min(first + BATCH, calls)):
                    call = call_of(number, text, seed)
                    if call.fault:
                        ledger.commit_failure(call)
                    else:
                        ledger.commit(call)
                        if number % 100 == 0:
                            NotingLedger(ledger, RUNS[number // 100 % len(RUNS)]).look_up(call.key)
            on_batch(min(first + BATCH, calls))


def make_runs(home: Path, items: int, seed: int) -> None:
    """The first run with so many items, in the middle of its search; some finished ones with a few."""
    there = {folder.name for folder in list_runs(home)}
    for name in sorted({RUNS[0], *FINISHED} - there):
        large = name == RUNS[0]
        _make_run(home, name, items if large else 40, seed, "interrupted" if large else "finished")


def _make_run(home: Path, name: str, items: int, seed: int, status: str) -> None:
    rng = np.random.default_rng([seed, items])
    theta = np.asarray([RESPONDENTS[model] for model in MODELS])
    theta -= theta.mean()
    z = np.concatenate([[0.0, 1.0], _places(items - 2, rng)])
    lo, width = -5.0, 10.0
    b = lo + width * z
    right = rng.binomial(8, 1.0 / (1.0 + np.exp(b[:, None] - theta[None, :])))
    ids = [f"m-{number:06d}" for number in range(items)]
    with make_run_folder(home, name) as folder:
        folder.world.write_text('{"world": "simulated", "settings": {}}', encoding="utf-8")
        pool = Pool(folder.memory)
        responses = {item: [[int(count), 8] for count in row] for item, row in zip(ids, right, strict=True)}
        pool.save_benchmark(
            "made", "made", (_item(each, n, seed) for n, each in enumerate(ids)), MODELS, responses
        )
        settings = Settings().model_dump(mode="json")
        pool.save_run(RunRow(name, seed, "simulated", benchfill.__version__, settings, {"gaps": 2}, status))
        draws = theta + rng.normal(0.0, 0.02, (DRAWS, len(MODELS)))
        scale = ScaleRow(
            "frozen", "minmax", lo, lo + width, "nuts", seed, list(MODELS), theta.tolist(), draws.tolist(),
            {"passed": True}, {}, rng.normal(0, 0.1, DRAWS).tolist(), rng.normal(2, 0.1, DRAWS).tolist(),
        )  # fmt: skip
        pool.save_scale(scale, [_estimate(ids[n], float(b[n]), float(z[n])) for n in range(items)])
        # The first was left out, its candidates are of an earlier search.
        gaps = [
            GapRow(n, *hole, sum(hole) / 2, 0.015, 900, p_empty=1.0) for n, hole in enumerate(HOLES, start=1)
        ]
        pool.save_gaps([GapRow(1, *HOLES[0], sum(HOLES[0]) / 2, 0.015, 900, "skipped"), gaps[1]])
        _save_candidates(pool, ids, rng, seed, CANDIDATES if items > CANDIDATES else 4)
        pool.close()


def _places(count: int, rng: np.random.Generator) -> np.ndarray:
    """A bell over the axis, with holes."""
    drawn = rng.normal(0.5, 0.18, 3 * count + 100)
    inside = (drawn > 0) & (drawn < 1)
    for low, high in HOLES:
        inside &= (drawn < low) | (drawn > high)
    found: np.ndarray = drawn[inside][:count]
    return found


def _item(name: str, number: int, seed: int) -> Item:
    draws = Draws("made", seed, number)
    chain = build(draw_outline(draws))
    question = write_question(FAMILY_NAMES[number % len(FAMILY_NAMES)], chain, draws)
    return Item(name, question, "1", "Worked step by step.", (), "numeric")


def _estimate(item: str, b: float, z: float) -> Estimate:
    return Estimate(item, "frozen", "offline", b, 0.3, z, 0.03, z - 0.05, z + 0.05, 96, b)


def _save_candidates(pool: Pool, ids: list[str], rng: np.random.Generator, seed: int, count: int) -> None:
    """Dropped candidates of a gap with their attempts, eight of every model."""
    for number in range(count):
        item = _item(f"bf-{number:06d}", 10**7 + number, seed)
        candidate = Candidate(
            f"g1r{number // 4 + 1:02d}w{number % 4 + 1}", item.id, 1, number // 4 + 1, number % 4 + 1, 0.43,
            ids[number % len(ids)], ids[:16], "dropped", "rewriter", "judge", "1", {}, calls=3,
        )  # fmt: skip
        pool.save_candidate(candidate, item)
        outcomes = rng.random((len(MODELS), 8)) < 0.5
        pool.save_attempts(
            AttemptRow(item.id, model, attempt, "correct" if outcomes[place, attempt] else "wrong", "", "1")
            for place, model in enumerate(MODELS)
            for attempt in range(8)
        )
