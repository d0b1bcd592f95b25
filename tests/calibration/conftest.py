"""The long statistics run without the coverage tracer, which doubles their time; other tests cover the same lines."""

from __future__ import annotations

from pathlib import Path

import pytest

LONG = {
    "test_chance",
    "test_figures",
    "test_fit",
    "test_item_fit",
    "test_model_choice",
    "test_model_slopes",
    "test_nuts",
    "test_nuts_aime",
    "test_power",
    "test_rank_stability",
    "test_resolution",
    "test_search_loop",
    "test_shape",
    "test_shuffle",
    "test_subsets",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them for pytest-cov."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.stem in LONG:
            item.add_marker(pytest.mark.no_cover)
