"""The axis places what it draws: columns are checked against z by arithmetic."""

from __future__ import annotations

import pytest

from benchfill.display.axis import View, axis, posterior_bar


def test_items_gaps_target_and_accepted_stand_at_their_place() -> None:
    mark, row, labels = axis(
        View(0.0, 1.0, 40),
        items=[0.0, 0.26, 0.26, 1.0],
        gaps=[(0.26, 1.0)],
        target=0.63,
        accepted=[0.5],
        labels=[0.0, 1.0, 0.5],
    )
    assert mark.plain == " " * 25 + "▼" + " " * 14
    assert row.plain == "│" + "·" * 9 + "║" + "░" * 9 + "◆" + "░" * 18 + "│"
    assert labels.plain == "0.0" + " " * 16 + "0.5" + " " * 15 + "1.0"


def test_crowded_axis_shows_heights() -> None:
    items = [0.05] * 80 + [0.15] * 40 + [0.95]
    row = axis(View(0.0, 1.0, 10), items=items, gaps=[], target=None)[1].plain
    assert row == "█▄·······▁"


def test_a_stretch_leaves_out_what_lies_beside_it_and_the_full_axis_keeps_it_on_the_edge() -> None:
    close = axis(View(0.4, 0.6, 20), items=[0.1, 0.45, 0.9], gaps=[(0.7, 0.9)], target=0.8)
    assert close[0].plain.strip() == ""
    assert close[1].plain.replace("·", "") == "│"
    whole = axis(View(0.0, 1.0, 20), items=[-0.3, 1.2], gaps=[], target=None)[1].plain
    assert (whole[0], whole[-1]) == ("│", "│")


def test_labels_never_touch() -> None:
    labels = axis(View(0.45, 0.55, 12), items=[], gaps=[], target=None, labels=[0.5, 0.45, 0.55])[2].plain
    assert labels.split() == ["0.500"]


@pytest.mark.parametrize(
    ("lo", "mean", "hi", "shown"),
    [
        (0.3125, 0.5, 0.6875, "  ━━━━━━●━━━━━━ "),
        (0.125, 0.28125, 0.375, "◂●━━━           "),
        (0.625, 0.8125, 1.0, "            ━━━▸"),
        (0.875, 0.9375, 1.0, "               ▸"),
        (0.0625, 0.125, 0.1875, "◂               "),
        (None, None, None, " " * 16),
    ],
)
def test_posterior_is_drawn_from_lo_to_hi(
    lo: float | None, mean: float | None, hi: float | None, shown: str
) -> None:
    assert posterior_bar(View(0.25, 0.75, 16), lo, mean, hi).plain == shown
