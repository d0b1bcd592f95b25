"""The diagnostics against ArviZ, closed forms and planted faults."""

from __future__ import annotations

import numpy as np
import pytest

from benchfill.calibration.gate import bulk_ess, judge_fit, split_rhat


def chains(seed: int, correlation: float = 0.0, shift: float = 0.0) -> np.ndarray:
    """Four autoregressive chains of 500 draws; shift moves the first one."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(4, 700, 3))
    for at in range(1, 700):
        noise[:, at] = correlation * noise[:, at - 1] + np.sqrt(1 - correlation**2) * noise[:, at]
    noise[0] += shift
    return noise[:, 200:]


@pytest.mark.parametrize(("correlation", "shift"), [(0.0, 0.0), (0.7, 0.0), (-0.5, 0.0), (0.5, 0.6)])
def test_rhat_and_ess_agree_with_arviz(correlation: float, shift: float) -> None:
    arviz = pytest.importorskip("arviz")
    draws = chains(1, correlation, shift)
    draws[:, 100:110] = draws[:, 99:100]  # repeats, as after refusals
    for parameter in range(3):
        each = draws[:, :, parameter]
        assert split_rhat(draws)[parameter] == pytest.approx(float(arviz.rhat(each)), rel=1e-6)
        assert bulk_ess(draws)[parameter] == pytest.approx(float(arviz.ess(each)), rel=0.03)


def test_ess_of_an_autoregressive_chain_is_its_closed_form() -> None:
    draws = chains(3, 0.6)
    assert bulk_ess(draws).mean() == pytest.approx(2000 * (1 - 0.6) / (1 + 0.6), rel=0.2)


def test_a_chain_elsewhere_or_of_another_width_is_seen() -> None:
    assert split_rhat(chains(1)).max() < 1.01
    assert split_rhat(chains(1, shift=1.0)).min() > 1.05
    wide = chains(2)
    wide[0] *= 3
    assert split_rhat(wide).min() > 1.05


def test_each_figure_beyond_its_limit_fails_the_gate_with_a_sentence() -> None:
    assert judge_fit(rhat_max=1.02, ess_min=400, divergences=0, pareto_k=0.5).passed
    for bad, word in (
        ({"rhat_max": 1.021}, "R-hat"),
        ({"rhat_max": float("nan")}, "R-hat"),
        ({"ess_min": 399}, "effective"),
        ({"divergences": 1}, "diverged"),
        ({"pareto_k": 0.51}, "Pareto"),
        ({"reasons": ["Because."]}, "Because."),
    ):
        gate = judge_fit(**bad)
        assert not gate.passed
        assert word in gate.reasons[0]
