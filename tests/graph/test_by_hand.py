"""Items written by hand: screened, judged and calibrated like any candidate, and kept apart from the search."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from typing import Any

import pytest

from benchfill.errors import InputError
from benchfill.graph.by_hand import HandWritten, take_in
from benchfill.item import Item
from benchfill.memory.accepted import replaced_items, standing_items
from benchfill.memory.decisions import decide, decisions_of, missing_for_acceptance
from benchfill.memory.records import Candidate, Estimate, GapRow, JudgementRow
from benchfill.tools.grading import Grade
from benchfill.tools.judge import Judgement
from tests.graph.made_search import MODELS, THETA, make_search

GAP = GapRow(1, 0.4, 0.7, 0.55, 0.03, 100, "filled", "g1r01w1", 1)


class Grader:
    """Every key grades true against itself."""

    async def self_check(self, item: Item) -> Grade:
        return Grade("correct", item.answer, "")


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A search whose pool answers items of difficulty 0.4, and whose judge says what it is told to."""
    search, panel, _ = make_search(tmp_path)
    panel.b = defaultdict(lambda: 0.4, panel.b)
    panel.down = {}
    search.grader = Grader()
    search.prompts = type("Book", (), {"version": "v1", "hashes": lambda self: {}})()
    search.judge = type("Judge", (), {"endpoint": type("E", (), {"model": "judge-model"})()})()
    search.__dict__["lowest_slope"] = 0.0
    monkeypatch.setattr(
        "benchfill.graph.by_hand.keep_fit", lambda search, candidate: kept.append(candidate.id)
    )
    kept: list[str] = []
    verdicts: dict[str, Any] = {"kept": kept, "status": "accepted", "problems": []}

    async def judged(search, candidate):
        status = verdicts["status"]
        kept = JudgementRow(
            candidate.id, status, "1", True, status == "accepted", verdicts["problems"], "", 1
        )
        search.pool.save_judgement(kept)
        after = "calibrating" if status == "accepted" else status
        search.pool.save_candidate(
            dataclasses.replace(candidate, status=after, reason=", ".join(kept.problems))
        )
        return Judgement(status, "1", True, True, tuple(kept.problems), "", [])

    monkeypatch.setattr("benchfill.graph.by_hand.judge_candidate", judged)
    item = Item("bf-old", "How many apples are 31 and 45?", "76", "31 + 45", answer_type="text")
    search.pool.save_gaps([GAP])
    search.pool.save_candidate(
        Candidate(
            id="g1r01w1",
            item="bf-old",
            gap=1,
            round=1,
            writer=1,
            target=0.55,
            parent="i07",
            reference_ids=[],
            status="accepted",
            rewriter="w",
            judge="j",
            prompt_version="v1",
            prompt_hashes={},
        ),
        item,
    )
    search.pool.save_judgement(JudgementRow("g1r01w1", "accepted", "76", True, True, [], "", 1))
    search.pool.save_estimates([Estimate("bf-old", "frozen", "online", 0, 0.1, 0.55, 0.01, 0.53, 0.57, 90)])
    return search, panel, verdicts, item


async def test_an_edited_item_is_measured_and_stands_in_the_place_of_the_old_one(made):
    search, panel, verdicts, item = made
    new = dataclasses.replace(item, question="How many pears are 31 and 46?", answer="77")
    result = await take_in(search, HandWritten(new, "bf-old"), who="ada", reason="a better sum")
    assert (result.status, result.reason) == ("accepted", "")
    # True place: 0.4 logits on an axis from -4 to 4.
    assert result.z_lo90 < 0.55 < result.z_hi90
    assert verdicts["kept"] == ["h1"]
    estimate = search.pool.estimates()[result.item]
    assert (estimate.confirmed, estimate.attempts) == (True, result.attempts)
    asked = [model for name, model, _ in panel.asked if name == result.item]
    assert {asked.count(model) for model in MODELS} == {result.attempts // 12}
    assert [each.item for each in standing_items(search.pool)] == [result.item]
    assert replaced_items(search.pool) == {"bf-old": result.item}
    (entry,) = decisions_of(search.pool, result.item)
    assert (entry.verdict, entry.reason, entry.who) == ("edited", "a better sum", "ada")
    # The search itself knows nothing of it.
    assert [each.id for each in search.pool.candidates()] == ["g1r01w1"]
    (candidate,) = search.pool.written_by_hand()
    assert (candidate.parent, candidate.replaces, candidate.gap) == ("bf-old", "bf-old", 1)
    # Taken in once more, nothing is asked or written again.
    before = len(panel.asked)
    again = await take_in(search, HandWritten(new, "bf-old"), who="ada", reason="again")
    assert (again.item, again.z, len(panel.asked)) == (result.item, result.z, before)
    assert len(decisions_of(search.pool)) == 1
    # Accepted by name, the old one stands again.
    decide(search.pool, "bf-old", "accept", reason="after all", who="ada")
    assert {each.item for each in standing_items(search.pool)} == {"bf-old", result.item}


async def test_a_refused_or_rejected_edit_changes_nothing(made):
    search, panel, verdicts, item = made
    before = len(panel.asked)
    copied = dataclasses.replace(item, question="q i07", answer="2")
    result = await take_in(search, HandWritten(copied, "bf-old"), who="ada", reason="x")
    assert result.status == "refused"
    assert result.reason.startswith("copy")
    verdicts.update(status="rejected", problems=["key_wrong"])
    wrong = dataclasses.replace(item, answer="99")
    result = await take_in(search, HandWritten(wrong, "bf-old"), who="ada", reason="x")
    assert (result.status, result.reason) == ("rejected", "key_wrong")
    assert len(panel.asked) == before
    assert [each.item for each in standing_items(search.pool)] == ["bf-old"]
    assert missing_for_acceptance(search.pool, result.item) == [
        "the judge rejected it",
        "it was never calibrated",
    ]


async def test_an_added_item_has_no_parent_and_must_be_of_a_known_type(made):
    search, *_ = made
    item = Item("mine", "How many plums are 17 and 29?", "46", "17 + 29", answer_type="text")
    result = await take_in(search, HandWritten(item), who="ada", reason="written by hand")
    assert result.status == "accepted"
    (candidate,) = search.pool.written_by_hand()
    assert (candidate.by_hand, candidate.parent, candidate.gap) == ("added", "", 0)
    twin = dataclasses.replace(item, id="twin")
    assert (await take_in(search, HandWritten(twin), who="ada", reason="x")).item == result.item
    near = dataclasses.replace(item, question="How many plums are 17  and 29 ?", answer="46")
    assert (await take_in(search, HandWritten(near), who="ada", reason="x")).reason.startswith(
        "near_duplicate"
    )
    choice = Item("c", "Which?", "A", "s", ("1", "2"), "mcq")
    with pytest.raises(InputError, match="no item of the type mcq with 2 options") as fault:
        await take_in(search, HandWritten(choice), who="ada", reason="x")
    assert fault.value.kind == "wrong_type"


async def test_an_item_that_weak_models_solve_more_often_is_rejected(made):
    search, panel, *_ = made
    panel.theta = dict(zip(MODELS, (-3.0 * THETA).tolist(), strict=True))
    item = Item("mine", "How many plums are 17 and 29?", "46", "17 + 29", answer_type="text")
    result = await take_in(search, HandWritten(item), who="ada", reason="x")
    assert (result.status, result.reason.split(":")[0]) == ("rejected", "suspect_key")
    assert result.z is not None


async def test_an_item_of_the_benchmark_is_not_edited(made):
    search, *_, item = made
    for name, said in (("i03", "original benchmark"), ("nobody", "no new item")):
        with pytest.raises(InputError, match=said):
            await take_in(search, HandWritten(item, name), who="ada", reason="x")
