"""What a report says of its gaps, for every outcome."""

from __future__ import annotations

from typing import Any

import pytest

from benchfill.calibration.limits import resolution_of


def said(resolved: list[bool | None], most_totals: int | None = None) -> dict[str, Any]:
    gaps: list[dict[str, Any]] = [{"p_empty": 0.5, "resolved": each} for each in resolved]
    gaps.append({"p_empty": None, "resolved": None})
    found = resolution_of({"gaps": gaps, "n_items": 40, "n_models": 3, "n_attempts": 120}, most_totals)
    assert found is not None
    return found


def test_nothing_resolved_is_said_first() -> None:
    found = said([False, False])
    assert (found["examined"], found["resolved"]) == (2, 0)
    assert found["sentence"].startswith("Not resolvable with this design (3 models, 120 attempts)")
    assert "totals" not in found["sentence"]


def test_coarse_totals_are_named_where_they_are_the_reason() -> None:
    assert said([False], 4)["sentence"].endswith(
        "An item has one of 4 totals here, so that 40 items show gaps wherever they truly lie."
    )
    assert "totals" not in said([False], 41)["sentence"]
    assert "totals" not in said([True], 4)["sentence"]


@pytest.mark.parametrize(
    ("resolved", "part"),
    [
        (
            [True, False, True],
            "2 of the 3 widest gaps are resolved. Gap 2 is not resolvable with this design",
        ),
        ([False, True, False], "1 of the 3 widest gaps is resolved. Gaps 1, 3 are not resolvable"),
        ([True, True], "Resolved: the 2 widest gaps."),
        ([True], "Resolved: the widest gap."),
        ([None, None], "A preview does not say"),
    ],
)
def test_in_part_in_full_and_not_at_all(resolved: list[bool | None], part: str) -> None:
    found = said(resolved)
    assert part in found["sentence"]
    assert found["resolved"] == (None if None in resolved else sum(map(bool, resolved)))


def test_without_gaps_there_is_nothing_to_say() -> None:
    assert resolution_of({"gaps": []}, None) is None
