"""Before the search: are the gaps there? Asking the pool again about the original items that may lie in them."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchfill.calibration.difficulty import Difficulties
from benchfill.calibration.fit import Fit, Gate
from benchfill.calibration.gap_check import GapLook, look_at_gaps, places_after, questions
from benchfill.calibration.measure import Gap
from benchfill.calibration.resolution import RESOLVED
from benchfill.calibration.response_log import ResponseLog
from benchfill.calibration.scale import Scale
from benchfill.graph.answer import go_on_without, pause_if_nobody_answers
from benchfill.graph.attempts import counted_as
from benchfill.graph.gap_report import gap_check_report, rechecked_answers
from benchfill.graph.measuring import still_answered
from benchfill.graph.plan import GapRequest, plan_gaps
from benchfill.graph.search import Search
from benchfill.memory.pool import Pool
from benchfill.memory.records import AttemptRow, GapCheckRow, GapRow, RecheckRow, RunRow, ScaleRow

__all__ = ["check_gaps", "left_out", "request_of", "with_p_empty"]

CHECK_ID = "gaps"
# Numbers of attempts end here: a seed holds twelve bits of them.
LAST_NUMBER = 4095


async def check_gaps(search: Search) -> None:
    """Settle which gaps are searched; once a run, and from where it stood when it was stopped.

    With ``search.confirm_gaps`` the original items whose posteriors reach into an unresolved gap are asked again and
    the gaps are chosen anew, until those that were asked for are resolved or the limit of attempts allows no more.
    With ``search.resolved_only`` gaps that are not resolved then are left out.

    Raises
    ------
    RunPaused
        Nobody of the pool answers, or too few.
    BudgetSpent
        The budget ends; what was asked is kept.
    """
    pool, settings = search.pool, search.settings
    known = pool.gap_check()
    if (known is not None and known.done) or pool.candidates():
        return
    if known is None:
        before = pool.gaps()
        expected = sum(gap.expected_attempts or 0 for gap in before)
        plain = [dataclasses.asdict(gap) for gap in before]
        known = GapCheckRow(CHECK_ID, plain, round(settings.check_limit * expected))
        pool.plan_gaps_anew(before, known)
    gaps = pool.gaps()
    if settings.confirm_gaps and all(gap.p_empty is not None for gap in gaps):
        if pool.run().world == "replay":
            # The log of the benchmark is all that was ever answered, and the fit has seen it.
            message = "the replay world has no further answers to the original items: none is asked again"
            search.emit("stage", name="gaps", message=message, fraction=None)
        else:
            gaps = await _ask_until_settled(search, known)
    if settings.resolved_only:
        gaps = [left_out(gap) for gap in gaps]
    pool.plan_gaps_anew(gaps, dataclasses.replace(known, done=True))
    report = gap_check_report(pool)
    if report is not None:
        search.emit("gap_check", **report)
    _say_what_is_not_there(search)


async def _ask_until_settled(search: Search, known: GapCheckRow) -> list[GapRow]:
    pool = search.pool
    while True:
        gaps, looks = _look_at_plan(search)
        asked = {row.item: row.stop - row.first for row in pool.rechecks()}
        spent = rechecked_answers(pool)
        wanted = questions(looks, asked, models=len(search.models), left=known.attempts_limit - spent)
        if not wanted:
            return gaps
        unsettled = ", ".join(
            f"{look.gap.lo:.3f} to {look.gap.hi:.3f} (p_empty {look.p_empty:.2f})"
            for look in looks
            if not look.resolved and wanted.keys() & set(look.ask)
        )
        answers = len(search.models) * sum(wanted.values())
        message = f"asking {len(wanted)} original items again ({answers:,} attempts), for {unsettled} may not be there"
        search.emit("stage", name="gaps", message=message, fraction=None)
        await _ask(search, wanted)


def _look_at_plan(search: Search) -> tuple[list[GapRow], tuple[GapLook, ...]]:
    """The gaps of the run's request on the places as they are known now, and what is known of each."""
    pool = search.pool
    scale = pool.scale()
    if scale is None:
        raise LookupError("the scale is not frozen")
    fit, log = frozen_fit(pool, scale)
    places = [float(search.scale.to_z(b)) for b in fit.b]
    rows = plan_gaps(
        places, request_of(pool.run()), scale=search.scale, theta=search.theta, settings=search.settings
    )
    looks = look_at_gaps(
        fit,
        log,
        search.scale,
        [Gap(row.lo, row.hi, row.hi - row.lo, row.target) for row in rows],
        theta=search.theta,
        most=search.settings.max_attempts,
        barred=_barred(search),
    )
    return [
        dataclasses.replace(row, p_empty=look.p_empty) for row, look in zip(rows, looks, strict=True)
    ], looks


def request_of(run: RunRow) -> GapRequest:
    """Which gaps a run was asked for."""
    request = dict(run.request)
    if request.get("interval") is not None:
        # JSON keeps no tuples.
        request["interval"] = tuple(request["interval"])
    return GapRequest(**request)


def with_p_empty(pool: Pool, rows: Sequence[GapRow]) -> list[GapRow]:
    """Gaps with the probability that they are there; without, where the scale is of a version that kept no draws."""
    scale = pool.scale()
    if scale is None or scale.mu_b_draws is None or not rows:
        return list(rows)
    fit, log = frozen_fit(pool, scale)
    gaps = [Gap(row.lo, row.hi, row.hi - row.lo, row.target) for row in rows]
    looks = look_at_gaps(fit, log, Scale(scale.name, scale.lo, scale.hi), gaps, theta=fit.theta, most=1)
    return [dataclasses.replace(row, p_empty=look.p_empty) for row, look in zip(rows, looks, strict=True)]


def frozen_fit(pool: Pool, scale: ScaleRow) -> tuple[Fit, ResponseLog]:
    """The fit as the run keeps it, places by all answers so far, and the log with what was asked again."""
    stored = pool.benchmark()
    if stored is None or scale.mu_b_draws is None or scale.sigma_b_draws is None:
        raise LookupError("the benchmark, or the draws of its fit, are not in the memory")
    responses = stored[3]
    items = sorted(responses)
    counts = np.asarray([responses[item] for item in items])
    correct, attempts = counts[:, :, 0].T.copy(), counts[:, :, 1].T.copy()
    # The reading of replies without an answer is that of the run.
    no_answer = _no_answer(pool)
    for again in pool.rechecks():
        at = items.index(again.item)
        for row in pool.attempts(again.item, below=again.stop):
            if row.attempt >= again.first:
                outcome = counted_as(row, no_answer)
                attempts[scale.models.index(row.model), at] += outcome != "missing"
                correct[scale.models.index(row.model), at] += outcome == "correct"
    log = ResponseLog(tuple(scale.models), tuple(items), correct, attempts)
    known = {item.id: item for item in pool.items("original")}
    estimates = pool.estimates()
    b = np.asarray([estimates[item].b for item in items])
    b_sd = np.asarray([estimates[item].b_sd for item in items])
    draws = np.asarray(scale.theta_draws)
    fit = Fit(
        engine=scale.engine,
        models=log.models,
        items=log.items,
        theta=np.asarray(scale.theta),
        theta_sd=draws.std(axis=0),
        theta_draws=draws,
        mu_b_draws=np.asarray(scale.mu_b_draws),
        sigma_b_draws=np.asarray(scale.sigma_b_draws),
        b=b,
        b_sd=b_sd,
        b_lo90=b,
        b_hi90=b,
        censored=np.zeros(len(items), dtype=bool),
        guessing=np.asarray([known[item].guessing for item in items]),
        gate=Gate(None, None, None, None, passed=True, reasons=()),
        seed=scale.seed,
        versions=scale.versions,
    )
    return fit, log


def _no_answer(pool: Pool) -> Any:
    return dict(pool.run().settings).get("answer", {}).get("no_answer", "missing")


async def _ask(search: Search, wanted: Mapping[str, int]) -> None:
    """One block: the items' next attempts by every model, and where the items lie by all answers."""
    pool = search.pool
    before = {row.item: row for row in pool.rechecks()}
    first = _first_number(search)
    items = {item.id: item for item in pool.items("original")}
    spans = {}
    for item, block in wanted.items():
        known = before.get(item)
        start, stop = (first, first) if known is None else (known.first, known.stop)
        spans[item] = (start, stop, stop + block)
    down = set(search.panel.down)
    rows = await asyncio.gather(
        *(
            search.panel.ask(items[item], model, attempt)
            for item in sorted(spans)
            for attempt in range(*spans[item][1:])
            for model in search.models
        )
    )
    go_on_without(search, down)
    pause_if_nobody_answers(search, rows)
    places = _places(search, spans, rows)
    pool.save_rechecks(
        [
            dataclasses.replace(places[item], first=start, stop=stop)
            for item, (start, _, stop) in spans.items()
        ],
        rows,
    )


def _places(
    search: Search, spans: Mapping[str, tuple[int, int, int]], new: Sequence[AttemptRow]
) -> dict[str, RecheckRow]:
    """Where the items lie by the log, what was asked again before, and the new answers."""
    pool, scale = search.pool, search.pool.scale()
    if scale is None:
        raise LookupError("the scale is not frozen")
    fit, log = frozen_fit(pool, scale)
    correct, attempts = log.correct.copy(), log.attempts.copy()
    item_at = {item: at for at, item in enumerate(log.items)}
    model_at = {model: at for at, model in enumerate(log.models)}
    for row in new:
        outcome = counted_as(row, search.no_answer)
        attempts[model_at[row.model], item_at[row.item]] += outcome != "missing"
        correct[model_at[row.model], item_at[row.item]] += outcome == "correct"
    items, found = places_after(fit, ResponseLog(log.models, log.items, correct, attempts), spans)
    answered = attempts.sum(axis=0)
    return {
        item: _row(search, item, found, place, int(answered[item_at[item]]))
        for place, item in enumerate(items)
    }


def _row(search: Search, item: str, found: Difficulties, place: int, attempts: int) -> RecheckRow:
    to_z = search.scale.to_z
    return RecheckRow(
        item=item,
        first=0,
        stop=0,
        b=float(found.mean[place]),
        b_sd=float(found.sd[place]),
        z=float(to_z(found.mean[place])),
        z_sd=float(found.sd[place] / search.scale.width),
        z_lo90=float(to_z(found.lo90[place])),
        z_hi90=float(to_z(found.hi90[place])),
        attempts=attempts,
    )


def _first_number(search: Search) -> int:
    """Number of the first new attempt: beyond those of the log and of the anchors, whose replies are known."""
    stored = search.pool.benchmark()
    logged = 0 if stored is None else max(cell[1] for cells in stored[3].values() for cell in cells)
    return max(logged, search.settings.anchor_attempts if search.settings.anchors else 0)


def _barred(search: Search) -> set[str]:
    """Items that cannot be asked again: as often as allowed already, or the pool no longer answers."""
    settings, first = search.settings, _first_number(search)
    barred = {
        row.item
        for row in search.pool.rechecks()
        if row.stop - row.first >= settings.max_attempts
        or not still_answered(search, search.pool.attempts(row.item, below=row.stop), row.stop)
    }
    if first + settings.max_attempts > LAST_NUMBER:
        barred |= {item.id for item in search.pool.items("original")}
    return barred


def left_out(gap: GapRow) -> GapRow:
    """The gap, skipped where it is not resolved."""
    unresolved = gap.status == "open" and gap.p_empty is not None and gap.p_empty < RESOLVED
    return dataclasses.replace(gap, status="skipped") if unresolved else gap


def _say_what_is_not_there(search: Search) -> None:
    for gap in search.pool.gaps():
        if gap.p_empty is None or gap.p_empty >= RESOLVED:
            continue
        what = f"gap {gap.gap}, {gap.lo:.3f} to {gap.hi:.3f}, is not resolved (p_empty {gap.p_empty:.2f}): "
        if gap.status == "skipped":
            what += "skipped"
        elif search.settings.confirm_gaps:
            what += "to settle it would take more attempts than are allowed; it is searched all the same"
        else:
            what += "it is searched all the same; --confirm-gaps asks first, --resolved-only leaves it out"
        search.emit("stage", name="plan", message=what, fraction=None)
