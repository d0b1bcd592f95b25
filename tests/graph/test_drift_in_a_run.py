"""A run over configured endpoints whose pool has changed since its log: it stops, and goes on when told to."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration.fit import Fit, fit_1pl
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import BudgetSpent
from benchfill.graph import prepare
from benchfill.graph.anchors import DriftFound
from benchfill.graph.plan import GapRequest
from benchfill.graph.session import create_run, run_to_end
from benchfill.item import Item
from benchfill.memory.pool import Pool
from benchfill.memory.runs import RunFolder
from benchfill.settings import Settings
from tests.commands.pool_server import MODELS, PoolServer, serving_pool

THETA = dict(zip(MODELS, np.linspace(-1.5, 1.5, 6).tolist(), strict=True))
B = {f"i{index:02d}": -3.0 + 6.0 * index / 23 for index in range(24)}


def laplace_fit(log: Any, *, engine: str, **options: Any) -> Fit:
    return fit_1pl(log, engine="laplace", **options)


def answers(theta: dict[str, float]) -> Any:
    """Right with the probability of the curve, drawn anew for every attempt."""
    asked: Counter[tuple[str, str]] = Counter()

    def reply(body: dict[str, Any]) -> str:
        model, question = body["model"], str(body["messages"][-1]["content"])
        if question.split(" ")[0] not in B:
            return "\\boxed{0}"
        asked[model, question] += 1
        draw = random.Random(f"{model} {question} {asked[model, question]}").random()
        return "\\boxed{42}" if draw < expit(theta[model] - B[question.split(" ")[0]]) else "\\boxed{41}"

    return reply


def is_anchor(body: dict[str, Any]) -> bool:
    return str(body["messages"][-1]["content"]).split(" ")[0] in B


def make_run(home: Path, server: PoolServer) -> RunFolder:
    rng = np.random.default_rng(4)
    items = tuple(Item(id=name, question=f"{name} what is it?", answer="42") for name in B)
    p = expit(np.subtract.outer(list(THETA.values()), list(B.values())))
    log = ResponseLog(MODELS, tuple(B), rng.binomial(16, p), np.full(p.shape, 16))
    endpoint = {"base_url": f"http://127.0.0.1:{server.port}/v1", "tool_mode": "tools"}
    settings = Settings.model_validate(
        {
            "rewriter": {**endpoint, "model": "m0"},
            "judge": {**endpoint, "model": "m1"},
            "pool": [{**endpoint, "model": model} for model in MODELS],
        }
    )
    inputs = prepare.Inputs("", prepare.Benchmark("bench", items, log))
    return create_run(home, "r", seed=1, inputs=inputs, request=GapRequest(count=1), settings=settings)


def work(folder: RunFolder, home: Path, **changes: dict[str, Any]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []

    def emit(event: str, /, **fields: Any) -> None:
        events.append({"event": event, **fields})

    try:
        asyncio.run(run_to_end(folder, home / "ledger.sqlite", emit, today=Settings(), changes=changes))
    except (DriftFound, BudgetSpent) as error:
        events.append({"event": "raised", "error": error})
    return events


def status(folder: RunFolder) -> str:
    pool = Pool(folder.memory, create=False)
    try:
        return pool.run().status
    finally:
        pool.close()


def test_a_changed_member_stops_the_run_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "fit_1pl", laplace_fit)
    with serving_pool() as server:
        server.reply = answers({**THETA, "m4": -3.0})
        folder = make_run(tmp_path, server)
        events = work(folder, tmp_path)
        (said,) = (event for event in events if event["event"] == "anchors")
        assert [shift["model"] for shift in said["shifts"] if shift["drifted"]] == ["m4"]
        assert str(events[-1]["error"]).startswith("1 of 6 abilities differ from the log, in logits: m4 by -")
        assert status(folder) == "paused"
        assert sum(map(is_anchor, server.asked)) == 5 * 8 * 6
        # Accepted, it goes on and pays for no anchor again.
        spent = len(server.asked)
        events = work(folder, tmp_path, search={"accept_drift": True}, budget={"max_calls": spent + 3})
        assert isinstance(events[-1]["error"], BudgetSpent)
        assert status(folder) == "budget_spent"
        assert len(server.asked) <= spent + 3
        assert not any(map(is_anchor, server.asked[spent:]))
