"""Products in serial blocks against the plain ones."""

from __future__ import annotations

import numpy as np
import pytest

from benchfill.calibration.blocks import inner_product, product


# One row; fewer rows than a block; blocks with a rest; several stacks of blocks; a right side too large for blocks.
@pytest.mark.parametrize(
    ("n", "m", "u"), [(1, 5, 7), (3, 4, 6), (107, 50, 300), (4001, 30, 200), (9, 600, 700)]
)
def test_blocks_add_up_to_the_product(n: int, m: int, u: int) -> None:
    rng = np.random.default_rng(n)
    left, right, tall = rng.normal(size=(n, m)), rng.normal(size=(m, u)), rng.normal(size=(n, u))
    np.testing.assert_allclose(product(left, right), left @ right, rtol=0, atol=1e-10)
    np.testing.assert_allclose(inner_product(left, tall), left.T @ tall, rtol=0, atol=1e-10)
