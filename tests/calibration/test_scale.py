"""The frozen axis."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchfill.calibration.scale import Scale, minmax_scale
from benchfill.errors import InputError


def fitted(b: list[float]) -> Any:
    return SimpleNamespace(items=tuple(f"q{i}" for i in range(len(b))), b=np.array(b))


def test_minmax_puts_the_extreme_items_at_0_and_1() -> None:
    fit = fitted([0.5, -2.0, 3.0])
    scale = minmax_scale(fit)
    assert (scale.name, scale.lo, scale.hi, scale.width) == ("minmax", -2.0, 3.0, 5.0)
    assert scale.to_z(fit.b).tolist() == [0.5, 0.0, 1.0]
    assert scale.to_z(5.5) == 1.5  # outside the axis a place is kept
    assert minmax_scale(fit, ["q0", "q2"]).lo == 0.5


@settings(max_examples=50, deadline=None)
@given(st.floats(-20, 20), st.floats(0.01, 30), st.floats(-3, 4))
def test_back_and_forth(lo: float, width: float, z: float) -> None:
    scale = Scale("minmax", lo, lo + width)
    assert scale.to_z(scale.to_b(z)) == pytest.approx(z, abs=1e-9)


def test_an_axis_without_extent_and_unknown_items_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        minmax_scale(fitted([1.0, 1.0]))
    assert caught.value.kind == "no_variation"
    with pytest.raises(InputError) as caught:
        minmax_scale(fitted([1.0, 2.0]), ["q0", "elsewhere"])
    assert caught.value.kind == "unknown_item"
    assert "elsewhere" in str(caught.value)
    with pytest.raises(InputError):
        Scale("minmax", 0.0, float("nan"))
