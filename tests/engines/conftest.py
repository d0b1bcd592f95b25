"""A Ray cluster of three nodes on this machine, and a run whose scale is frozen and whose search has not begun."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchfill.calibration.fit import fit_1pl
from benchfill.graph import prepare
from benchfill.graph.plan import GapRequest
from benchfill.graph.session import create_run, fit_scale, plan_search
from benchfill.memory.pool import Pool
from benchfill.settings import load_settings

RUN = "apart"


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A head that does no work, and two nodes with a processor each."""
    if os.environ.get("BENCHFILL_REQUIRE_RAY"):
        import ray
    else:
        ray = pytest.importorskip("ray", reason="needs the extra ray: pip install 'benchfill[ray]'")
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patched:
        # The tracer of a test run's coverage does not follow into the cluster's processes.
        for name in [each for each in os.environ if each.startswith("COVERAGE")]:
            patched.delenv(name)
        made = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "include_dashboard": False},
        )
        for _ in range(2):
            made.add_node(num_cpus=1)
    try:
        made.wait_for_nodes()
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
        # Sockets that Ray leaves to the collector are collected here, not in somebody else's test.
        del made
        gc.collect()


@pytest.fixture(scope="session")
def before_the_search(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a run of the sample benchmark, three gaps at once, told to be content with little."""
    home = tmp_path_factory.mktemp("before")
    inputs = prepare.read_inputs(
        world="simulated", items=None, responses=None, bank_items=None, bank_responses=None
    )
    settings = load_settings(search={"at_once": 3, "tolerance": 0.06})
    folder = create_run(home, RUN, seed=1, inputs=inputs, request=GapRequest(count=3), settings=settings)
    pool = Pool(folder.memory)

    def quick(log: Any, *, engine: str, **options: Any) -> Any:
        # Where the scale comes from is no matter here, and the sampler takes ten seconds.
        return fit_1pl(log, engine="laplace", **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(prepare, "fit_1pl", quick)
        asyncio.run(fit_scale(pool, pool.run(), lambda event, /, **fields: None))
    plan_search(pool, pool.run(), settings, inputs.benchmark.log.models)
    pool.close()
    return home


@pytest.fixture
def home(before_the_search: Path, tmp_path: Path) -> Path:
    """A copy of that home."""
    shutil.copytree(before_the_search, tmp_path / "home")
    return tmp_path / "home"
