"""Which parents and references a round gets, and which gaps a run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from benchfill.calibration.scale import Scale
from benchfill.errors import InputError
from benchfill.graph.plan import GapRequest, aim_of, gap_figures, next_gap, plan_gaps
from benchfill.graph.references import choose_references
from benchfill.memory.records import Estimate
from benchfill.settings import SearchSettings


def estimate(item: str, z: float, *, sd: float = 0.01, online: bool = False) -> Estimate:
    return Estimate(
        item=item, scale="s", source="online" if online else "offline", b=z, b_sd=sd, z=z, z_sd=sd,
        z_lo90=z - sd, z_hi90=z + sd, attempts=1,
    )  # fmt: skip


def pool(*estimates: Estimate) -> dict[str, Estimate]:
    return {each.item: each for each in estimates}


def test_references_are_the_nearest_on_both_sides_by_ascending_difficulty():
    known = pool(*(estimate(f"i{n:02d}", n / 20) for n in range(21)))
    assert choose_references(known, 0.52, 4) == ["i09", "i10", "i11", "i12"]


def test_a_short_side_is_filled_up_from_the_other():
    known = pool(*(estimate(f"i{n}", z) for n, z in enumerate([0.1, 0.2, 0.3, 0.9])))
    assert choose_references(known, 0.8, 4) == ["i0", "i1", "i2", "i3"]
    assert choose_references(known, 0.8, 3) == ["i1", "i2", "i3"]
    assert choose_references(known, 1.0, 2) == ["i2", "i3"]


SCALE = Scale("minmax", -5.0, 5.0)
THETA = np.linspace(-4, 4, 12)


def plan(request: GapRequest, z=(0.0, 0.1, 0.4, 0.5, 0.95, 1.0), **settings):
    return plan_gaps(z, request, scale=SCALE, theta=THETA, settings=SearchSettings(**settings))


def test_the_largest_gaps_come_first_with_their_midpoints():
    rows = plan(GapRequest(count=2))
    assert [(row.gap, row.lo, row.hi) for row in rows] == [(1, 0.5, 0.95), (2, 0.1, 0.4)]
    assert [row.target for row in rows] == pytest.approx([0.725, 0.25])


def test_the_tolerance_is_a_twentieth_of_the_gap_and_never_above_two_percent():
    rows = plan(GapRequest(count=2))
    assert [row.tolerance for row in rows] == pytest.approx([0.02, 0.015])
    assert plan(GapRequest(count=1), tolerance=0.007)[0].tolerance == 0.007


def test_a_tolerance_out_of_reach_is_widened_by_the_root_of_what_is_missing():
    (row,) = plan(GapRequest(interval=(0.45, 0.55)), tolerance=0.01)
    within = aim_of(row, scale=SCALE, theta=THETA, settings=SearchSettings(max_attempts=1000))
    assert within.tolerance == 0.01
    limit = -(-within.attempts // (12 * 4))
    out = aim_of(row, scale=SCALE, theta=THETA, settings=SearchSettings(max_attempts=limit))
    # A quarter of the attempts leaves twice the deviation.
    assert out.tolerance == pytest.approx(0.02, rel=0.01)
    assert out.attempts == 12 * limit


def test_a_target_takes_the_gap_that_holds_it_and_an_interval_itself():
    (row,) = plan(GapRequest(target=0.7))
    assert (row.lo, row.hi, row.target) == (0.5, 0.95, 0.7)
    (row,) = plan(GapRequest(interval=(0.2, 0.3)))
    assert (row.lo, row.hi, row.target) == (0.2, 0.3, 0.25)


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"count": 2, "target": 0.5},
        {"count": 0},
        {"target": 1.5},
        {"interval": (0.6, 0.5)},
        {"interval": (-0.1, 0.5)},
        {"target": float("nan")},
    ],
)
def test_impossible_requests_are_refused(bad):
    with pytest.raises(InputError):
        GapRequest(**bad)


def test_gap_figures_of_a_hand_made_benchmark():
    figures = gap_figures([0.0, 0.5, 1.0])
    assert figures == pytest.approx({"max_gap": 0.5, "top3_sum": 1.0})
    assert gap_figures([0.0, 0.5, 1.0], [0.25])["top3_sum"] == pytest.approx(1.0)
    assert gap_figures([0.0, 0.5, 1.0], [0.25, 0.75])["top3_sum"] == pytest.approx(0.75)


def test_the_widest_gap_left_follows_until_none_is_wider():
    z, settings = [0.0, 0.1, 0.4, 0.5, 0.95, 1.0], SearchSettings(until_max_gap=0.25)
    done = [dataclasses.replace(row, status="filled") for row in plan(GapRequest(count=1))]

    def further(places, rows):
        return next_gap(places, rows, scale=SCALE, theta=THETA, settings=settings)

    (first,) = done
    row = further([*z, first.target], done)
    assert row is not None
    assert (row.gap, row.lo, row.hi) == (2, 0.1, 0.4)
    assert further([*z, first.target, 0.25], done) is None
    # What was given up is not tried again, and without the setting nothing follows.
    given_up = [dataclasses.replace(first, status="unfilled")]
    assert further([0.5, 0.95, 0.0, 1.0, 0.25], given_up) is None
    assert next_gap(z, done, scale=SCALE, theta=THETA, settings=SearchSettings()) is None


def test_a_relative_tolerance_is_what_the_pool_can_tell_up_to_a_sixth_of_the_gap():
    asked = GapRequest(interval=(0.45, 0.55))
    limits = {"tolerance": 0.002, "max_attempts": 64}
    (strict,) = plan(asked, **limits)
    (relative,) = plan(asked, **limits, relative_tolerance=True)
    reach = aim_of(strict, scale=SCALE, theta=THETA, settings=SearchSettings(**limits)).tolerance
    assert strict.tolerance == 0.002
    assert relative.tolerance == pytest.approx(reach)
    (blind,) = plan(
        GapRequest(interval=(0.99, 1.0)), **{**limits, "max_attempts": 4}, relative_tolerance=True
    )
    # The tolerance that was asked for is more than a sixth of this gap already.
    assert blind.tolerance == 0.002
