"""A made-up run of two gaps as its events tell it, with text that must not reach a terminal as it is."""

from __future__ import annotations

from typing import Any

HOSTILE = "near \x1b[31mred\x1b[0m [bold]copy[/bold]\x07\nof s-03 \u202e"
ITEMS = [
    0.0,
    0.04,
    0.08,
    0.11,
    0.16,
    0.19,
    0.24,
    0.27,
    0.27,
    0.31,
    0.33,
    0.51,
    0.53,
    0.56,
    0.61,
    0.64,
    0.82,
    0.9,
    1.0,
]
GAPS: list[dict[str, Any]] = [
    {
        "gap": 1,
        "lo": 0.33,
        "hi": 0.51,
        "width": 0.18,
        "target": 0.42,
        "tolerance": 0.009,
        "expected_attempts": 1800,
    },
    {
        "gap": 2,
        "lo": 0.64,
        "hi": 0.82,
        "width": 0.18,
        "target": 0.73,
        "tolerance": 0.009,
        "expected_attempts": None,
    },
]


def recorded() -> list[dict[str, Any]]:
    """Events from start to summary: gap 1 is filled, gap 2 is not."""
    where = "simulated endpoint"
    endpoints = [{"role": "rewriter", "model": "rewriter", "where": where}]
    endpoints.append({"role": "judge", "model": "judge", "where": where})
    endpoints += [{"role": "pool", "model": f"m{k:02d}", "where": where} for k in range(12)]
    events: list[dict[str, Any]] = [
        {
            "event": "run_started",
            "run": "calm-gauge",
            "seed": 0,
            "world": "simulated",
            "version": "1.0",
            "endpoints": endpoints,
            "n_items": len(ITEMS),
            "n_models": 12,
            "resume": "benchfill resume calm-gauge",
        },
        *(
            {"event": "stage", "name": "fit", "message": f"draw {k} of 100", "fraction": k / 100}
            for k in range(101)
        ),
        {
            "event": "diagnosis",
            "ddm": 0.071,
            "max_gap": 0.18,
            "top3_sum": 0.54,
            "items": [
                {"id": f"s-{k:02d}", "z": z, "z_lo90": z - 0.02, "z_hi90": z + 0.02}
                for k, z in enumerate(ITEMS)
            ],
            "gate": {"passed": True},
        },
        {"event": "plan", "gaps": [dict(gap) for gap in GAPS]},
    ]
    finished = [
        finish(1, 0.42, 0.33, 0.51, "filled", "g1-r1-c2", 0.4187),
        finish(2, 0.73, 0.64, 0.82, "unfilled"),
    ]
    for gap, end in zip(GAPS, finished, strict=True):
        events += search(gap)
        events.append(end)
    events.append(
        {
            "event": "summary",
            "run": "calm-gauge",
            "gaps": [{k: v for k, v in end.items() if k != "event"} for end in finished],
            "before": {"max_gap": 0.18, "top3_sum": 0.54},
            "after": {"max_gap": 0.18, "top3_sum": 0.45},
            "oracle": {"max_gap": 0.18, "top3_sum": 0.36},
            "totals": {
                "calls": 3212,
                "from_ledger": 12,
                "attempts": 2304,
                "tokens_in": 1_234_567,
                "tokens_out": 45_678,
                "cost": None,
                "elapsed": 83.4,
            },
            "export": "benchfill export calm-gauge --out items.jsonl",
        }
    )
    return events


def finish(
    gap: int,
    target: float,
    lo: float,
    hi: float,
    status: str,
    accepted: str | None = None,
    z: float | None = None,
) -> dict[str, Any]:
    return {
        "event": "gap_finished",
        "gap": gap,
        "target": target,
        "lo": lo,
        "hi": hi,
        "status": status,
        "accepted": accepted,
        "z_mean": z,
        "z_lo90": None if z is None else z - 0.02,
        "z_hi90": None if z is None else z + 0.02,
        "expected_deviation": None if z is None else 0.00812,
        "confirmed": z is not None,
        "attempts": 1536,
        "confirmation_attempts": 0 if z is None else 612,
        "calls": 1606,
        "rounds": 1,
    }


def search(gap: dict[str, Any]) -> list[dict[str, Any]]:
    number, target = gap["gap"], gap["target"]
    place = {"gap": number, "round": 1}
    events: list[dict[str, Any]] = [
        {
            "event": "gap_started",
            "gap": number,
            "of": 2,
            "lo": gap["lo"],
            "hi": gap["hi"],
            "target": target,
            "tolerance": gap["tolerance"],
        },
        {"event": "round_started", **place, "parents": ["s-10", "s-11"], "references": 16},
    ]
    names = [f"g{number}-r1-c{k}" for k in (1, 2, 3)]
    events += [
        {"event": "candidate", **place, "candidate": n, "status": "submitted", "reason": ""} for n in names
    ]
    events.append(
        {"event": "candidate", **place, "candidate": names[2], "status": "refused", "reason": HOSTILE}
    )
    events += [
        {"event": "candidate", **place, "candidate": n, "status": "calibrating", "reason": ""}
        for n in names[:2]
    ]
    for step in range(1, 65):
        for k, name in enumerate(names[:2]):
            half = 0.3 / step**0.5
            mean = target + (0.15 if k == 0 else -0.0013) + 0.1 * (-1) ** step / step
            events.append(
                {
                    "event": "posterior",
                    **place,
                    "candidate": name,
                    "z_mean": mean,
                    "z_lo90": mean - half,
                    "z_hi90": mean + half,
                    "expected_deviation": abs(mean - target) + half / 4,
                    "attempts": 12 * step,
                }
            )
        events.append(
            {
                "event": "meter",
                "calls": 24 * step,
                "from_ledger": 0,
                "tokens_in": 9000 * step,
                "tokens_out": 350 * step,
                "cost": None if number == 1 else 0.0123 * step,
                "retries": 2,
                "elapsed": (number - 1) * 40.0 + step * 0.6,
                "eta": None if step < 8 else 60.0,
            }
        )
    events.append(
        {"event": "waiting", "endpoint": "judge", "seconds": 12.0, "reason": "429 \x1b]0;title\x07slow down"}
    )
    status = "accepted" if number == 1 else "dropped"
    events.append({"event": "candidate", **place, "candidate": names[1], "status": status, "reason": ""})
    return events
