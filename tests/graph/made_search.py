"""A search over a memory of its own whose models answer by an IRT curve, without any server."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from benchfill.calibration.scale import Scale
from benchfill.graph.search import Search
from benchfill.item import Item
from benchfill.memory.pool import Pool
from benchfill.memory.records import AttemptRow, Estimate
from benchfill.settings import SearchSettings

MODELS = tuple(f"m{index:02d}" for index in range(12))
THETA = np.linspace(-2.0, 2.0, 12)


class CurvePanel:
    """Answers as abilities and difficulties say, drawn from item, model and attempt alone."""

    def __init__(self, theta: dict[str, float], b: dict[str, float]) -> None:
        self.theta, self.b = theta, b
        self.silent: dict[str, str] = {}
        self.asked: list[tuple[str, str, int]] = []

    async def ask(self, item: Item, model: str, attempt: int) -> AttemptRow:
        self.asked.append((item.id, model, attempt))
        if model in self.silent:
            return AttemptRow(item.id, model, attempt, "missing", self.silent[model], None)
        digest = hashlib.sha256(f"{item.id} {model} {attempt}".encode()).digest()
        right = int.from_bytes(digest[:6], "big") / 2**48 < expit(self.theta[model] - self.b[item.id])
        return AttemptRow(item.id, model, attempt, "correct" if right else "wrong", "", "x")


def estimate(item: str, b: float) -> Estimate:
    z = (b + 4.0) / 8.0
    return Estimate(
        item=item, scale="frozen", source="offline", b=b, b_sd=0.1, z=z, z_sd=0.0125,
        z_lo90=z - 0.02, z_hi90=z + 0.02, attempts=96,
    )  # fmt: skip


def make_search(folder: Path, **settings: Any) -> tuple[Search, CurvePanel, list[dict[str, Any]]]:
    """A search over 20 original items from -4 to 4 logits, its panel and the events it emits."""
    b = {f"i{index:02d}": -4.0 + 8.0 * index / 19 for index in range(20)}
    pool = Pool(folder / "memory.sqlite")
    items = [Item(id=name, question=f"q {name}", answer="1") for name in b]
    pool.save_benchmark("print", "bench", items, MODELS, {name: [[1, 2]] * 12 for name in b})
    pool.save_estimates([])
    with pool.database.transaction():
        pool.database.connection.execute("PRAGMA defer_foreign_keys=ON")
        pool.database.connection.execute(
            "INSERT INTO scales VALUES "
            "('frozen', 'minmax', -4, 4, 'nuts', 1, '[]', '[]', '[]', '{}', '{}', NULL, NULL)"
        )
        pool.save_estimates([estimate(name, place) for name, place in b.items()])
    events: list[dict[str, Any]] = []
    panel = CurvePanel(dict(zip(MODELS, THETA.tolist(), strict=True)), b)
    nobody: Any = None
    search = Search(
        run="r",
        seed=1,
        settings=SearchSettings(**settings),
        pool=pool,
        scale=Scale("minmax", -4.0, 4.0),
        scale_id="frozen",
        models=MODELS,
        theta=THETA,
        theta_draws=THETA + np.random.default_rng(0).normal(0.0, 0.1, (200, 12)),
        prompts=nobody,
        rewriter=nobody,
        judge=nobody,
        respondents={},
        grader=nobody,
        sandbox=nobody,
        emit=lambda event, /, **fields: events.append({"event": event, **fields}),
    )
    search.__dict__["panel"] = panel
    return search, panel, events
