"""Two runs side by side: what they were asked, what they found, what it took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchfill.graph.gap_report import gap_report
from benchfill.graph.plan import gap_figures
from benchfill.graph.prepare import original_places
from benchfill.memory.accepted import standing_items
from benchfill.memory.ledger import Ledger
from benchfill.memory.pool import Pool

__all__ = ["compare_runs", "differing_settings"]

# Gaps whose ends and target agree to this many digits are one gap: as many as are shown, and typed after --gap.
DIGITS = 3


def compare_runs(first: Pool, second: Pool, ledger: Ledger | None) -> dict[str, Any]:
    """Both runs as one document.

    Parameters
    ----------
    ledger
        Where what they spent is; None leaves it out.

    Returns
    -------
    dict
        ``runs``: each by itself; ``settings``: what differs, ``{name: [first, second]}``; ``gaps``: rows of both, side
        by side where both searched the same; ``same_benchmark``; ``items_in_both``.
    """
    sides = [_side(pool, ledger) for pool in (first, second)]
    stored = [pool.benchmark() for pool in (first, second)]
    same = stored[0] is not None and stored[1] is not None and stored[0][0] == stored[1][0]
    standing = [{each.item for each in standing_items(pool)} for pool in (first, second)]
    runs = [pool.run() for pool in (first, second)]
    return {
        "same_benchmark": same,
        "runs": sides,
        "settings": differing_settings(
            {"request": dict(runs[0].request), "seed": runs[0].seed, **runs[0].settings},
            {"request": dict(runs[1].request), "seed": runs[1].seed, **runs[1].settings},
        ),
        "gaps": _paired(*(side.pop("gaps") for side in sides)),
        "items_in_both": sorted(standing[0] & standing[1]),
    }


def _side(pool: Pool, ledger: Ledger | None) -> dict[str, Any]:
    run, stored = pool.run(), pool.benchmark()
    gaps = [gap_report(pool, gap) for gap in pool.gaps()]
    estimates = pool.estimates()
    standing = standing_items(pool)
    places = original_places(pool)
    figures: dict[str, dict[str, float] | None] = {"before": None, "after": None}
    if places:
        added = [estimates[each.item].z for each in standing]
        figures = {"before": gap_figures(places), "after": gap_figures(places, added)}
    spent = [] if ledger is None else ledger.spend(run.id)
    prices = [row.price for row in spent if row.price is not None]
    return {
        "run": run.id,
        "status": run.status,
        "world": run.world or None,
        "version": run.version,
        "benchmark": None if stored is None else stored[1],
        "n_items": 0 if stored is None else len(stored[3]),
        "n_models": 0 if stored is None else len(stored[2]),
        "standing": [each.item for each in standing],
        "filled": sum(gap["status"] == "filled" for gap in gaps),
        **figures,
        "attempts": sum(gap["attempts"] for gap in gaps),
        "calls": sum(row.calls + row.failed for row in spent),
        "tokens_in": sum(row.input_tokens for row in spent),
        "tokens_out": sum(row.output_tokens for row in spent),
        "cost": sum(prices) if prices else None,
        "gaps": gaps,
    }


def differing_settings(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Settings by dotted name whose values differ; what one side lacks is None there."""
    one, two = _flat(first), _flat(second)
    return {
        name: [one.get(name), two.get(name)]
        for name in sorted({*one, *two})
        if one.get(name) != two.get(name)
    }


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    if isinstance(value, Mapping):
        parts = [(f"{name}.{key}" if name else str(key), each) for key, each in value.items()]
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        # Members of a pool are told by their names, so that one more shifts none.
        parts = [(f"{name}[{_label(each, place)}]", each) for place, each in enumerate(value)]
    else:
        return {name: value}
    return {key: found for part, each in parts for key, found in _flat(each, part).items()}


def _label(member: Any, place: int) -> str:
    known = member if isinstance(member, Mapping) else {}
    return str(known.get("name") or known.get("log_name") or known.get("model") or place)


def _paired(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def by_place(gaps: list[dict[str, Any]]) -> dict[tuple[float, ...], dict[str, Any]]:
        found: dict[tuple[float, ...], dict[str, Any]] = {}
        for gap in gaps:
            place = tuple(round(gap[name], DIGITS) for name in ("lo", "hi", "target"))
            # Several of a run may look alike; none of them is lost.
            count = sum(other[:-1] == place for other in found)
            found[*place, count] = gap
        return found

    one, two = by_place(first), by_place(second)
    pairs = []
    for key in sorted({*one, *two}):
        shown = one.get(key) or two[key]
        ends = {name: shown[name] for name in ("lo", "hi", "target")}
        pairs.append({**ends, "first": one.get(key), "second": two.get(key)})
    return pairs
