"""Whether a gap is there, as a reader sees it: in the plan, while asking, and in the end."""

from __future__ import annotations

import io

from benchfill.display.console import make_console
from benchfill.display.plain import PlainDisplay
from benchfill.display.tables import gap_check_line, there

GAP = {
    "gap": 1,
    "lo": 0.3,
    "hi": 0.5,
    "width": 0.2,
    "target": 0.4,
    "tolerance": 0.01,
    "expected_attempts": 900,
}
CHECK = {
    "items": 2,
    "attempts": 192,
    "attempts_limit": 4000,
    "before": [{"lo": 0.3, "hi": 0.5, "p_empty": 0.62, "resolved": False}],
    "after": [{"lo": 0.3, "hi": 0.52, "p_empty": 0.97, "resolved": True}],
}


def test_what_is_known_of_a_gap_in_words():
    assert there({**GAP, "p_empty": 0.974, "resolved": True}) == "resolved (p_empty 0.97)"
    assert there({**GAP, "p_empty": 0.5, "resolved": False, "status": "skipped"}) == (
        "not resolved (p_empty 0.50), skipped"
    )
    assert there(GAP) == "-"
    assert gap_check_line(CHECK) == (
        "2 original items asked again, 192 attempts; 1 of 1 gap resolved, 0 before"
    )


def test_plain_lines_of_a_check():
    out = io.StringIO()
    display = PlainDisplay(make_console(out))
    gap = {**GAP, "p_empty": 0.62, "resolved": False, "status": "open"}
    display({"event": "plan", "gaps": [gap, {**gap, "gap": 2}]})
    display({"event": "gap_check", **CHECK})
    # What is left of the plan replaces it.
    display({"event": "plan", "gaps": [{**gap, "p_empty": 0.97, "resolved": True}]})
    lines = out.getvalue().splitlines()
    assert lines[0].endswith("about 900 attempts, not resolved (p_empty 0.62)")
    assert lines[2] == f"gaps: {gap_check_line(CHECK)}"
    assert lines[3].endswith("resolved (p_empty 0.97)")
    assert list(display._session.gaps) == [1]
