"""The simulated rewriter, prompted as the product prompts it: it aims, it errs at its rates, it heeds refusals."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from benchfill.item import Item
from benchfill.prompts.render import PromptBook, PromptItem
from benchfill.worlds.chat import Turn, read_request
from benchfill.worlds.prompt import read_rewrite
from benchfill.worlds.settings import SimulatedSettings
from benchfill.worlds.simulated import make_sample
from benchfill.worlds.simulated.language import read_question
from benchfill.worlds.simulated.respondents import RESPONDENTS
from benchfill.worlds.simulated.rewriter import notion_of
from benchfill.worlds.simulated.truth import true_z
from benchfill.worlds.simulated.world import SimulatedWorld
from tests.worlds.chats import REWRITER_TOOLS, answered, ask, body, sample

ITEMS = {item.id: item for item in sample()}
THETA, B = make_sample.fit([make_sample._rates(item.question) for item in ITEMS.values()], sweeps=40)
LO, HI = min(B), max(B)
Z = {name: (b - LO) / (HI - LO) for name, b in zip(ITEMS, B, strict=True)}
TARGET = 0.517
QUIET = dict.fromkeys(("wrong_key", "copy", "damaged_json", "nothing", "look_up"), 0.0)


def shown(name: str) -> PromptItem:
    return PromptItem(ITEMS[name], 10 * Z[name], None, None, None, None, "")


def messages(
    target: float = TARGET, parent: str = "s-21", *, references: int = 16, earlier: Sequence[PromptItem] = ()
) -> list[dict[str, Any]]:
    near = sorted(Z, key=lambda name: abs(Z[name] - target))
    below = [name for name in near if Z[name] < target][: references // 2]
    above = [name for name in near if Z[name] >= target][: references // 2]
    return PromptBook().rewrite(
        target=10 * target,
        parent=shown(parent),
        references=[shown(name) for name in below + above],
        earlier=earlier,
        writer=1,
        writers=4,
        round=1,
        nonce="0a1b2c",
    )


def conversation(
    world: SimulatedWorld, start: list[dict[str, Any]], seed: int
) -> tuple[list[Turn], list[Any]]:
    """Turns up to and with the one that should submit, and the history they stand in."""
    history = list(start)
    first = ask(world, "rewriter", history, tools=REWRITER_TOOLS, seed=seed << 12)
    history += answered(first, *["12"] * len(first.calls))
    return [first, ask(world, "rewriter", history, tools=REWRITER_TOOLS, seed=seed << 12 | 1)], history


def submitted(turn: Turn) -> dict[str, str]:
    assert [call.name for call in turn.calls] == ["submit_item"]
    fields: dict[str, str] = json.loads(turn.calls[0].arguments)
    assert set(fields) == {"question", "answer", "solution", "rationale"}
    return fields


def deviations(settings: SimulatedSettings, runs: int, **prompt: Any) -> np.ndarray:
    world = SimulatedWorld(settings)
    start = messages(**prompt)
    texts = [submitted(conversation(world, start, seed)[0][1])["question"] for seed in range(runs)]
    return np.asarray([true_z(THETA, text, LO, HI) for text in texts]) - prompt.get("target", TARGET)


def test_the_prompt_is_read_in_full() -> None:
    tried = PromptItem(Item("c-1", "Compute 3 + 4.", "7"), 6.4, 6.1, 6.7, 1, 5.98, "")
    refused = PromptItem(Item("c-2", "Compute 3 + 5.", "8"), None, None, None, 1, 5.98, 'near "duplicate"')
    request = read_request(body("rewriter", messages(earlier=[tried, refused])), ("rewriter",))
    prompt = read_rewrite(request)
    assert prompt is not None
    assert (prompt.target, prompt.writer, prompt.of, prompt.round) == (5.17, 1, 4, 1)
    assert (prompt.parent.id, prompt.parent.question) == ("s-21", ITEMS["s-21"].question)
    assert prompt.parent.solution == ITEMS["s-21"].solution
    assert len(prompt.references) == 16
    assert [item.difficulty for item in prompt.references] == sorted(
        round(10 * Z[item.id], 2) for item in prompt.references
    )
    assert [(e.difficulty, e.lo, e.hi, e.refused) for e in prompt.earlier] == [
        (6.4, 6.1, 6.7, ""),
        (None, None, None, 'near "duplicate"'),
    ]


def test_it_calculates_first_and_submits_what_it_calculated() -> None:
    world = SimulatedWorld(SimulatedSettings(**{**QUIET, "look_up": 0.5}))
    looked_up = 0
    for seed in range(20):
        (first, second), _ = conversation(world, messages(), seed)
        names = [call.name for call in first.calls]
        assert names[-1] == "evaluate_expression"
        looked_up += names[0] == "look_up_item"
        expression = json.loads(first.calls[-1].arguments)["expression"]
        fields = submitted(second)
        understood = read_question(fields["question"])
        assert understood is not None
        assert eval_plain(expression) == understood.answer == int(fields["answer"])
        parent = read_question(ITEMS["s-21"].question)
        assert parent is not None
        assert understood.family == parent.family
        assert understood.chain != parent.chain
    assert 3 < looked_up < 17


def eval_plain(expression: str) -> int:
    from benchfill.tools.expression import evaluate

    return int(evaluate(expression).split()[0])


def test_where_submissions_land() -> None:
    """Typical misses are 0.02 on the axis, and one candidate in four is within 0.008."""
    d = deviations(SimulatedSettings(**QUIET), 150)
    print(f"bias {d.mean():.4f}, sd {d.std():.4f}, mean |d| {abs(d).mean():.4f}, "
          f"share within 0.008 {np.mean(abs(d) < 0.008):.2f}")  # fmt: skip
    assert abs(d.mean()) < 0.012
    assert 0.015 < d.std() < 0.03
    assert 0.12 < np.mean(abs(d) < 0.008) < 0.45


@pytest.mark.parametrize("target", [0.21, 0.8])
def test_a_steady_aim_comes_close_and_a_bias_shows(target: float) -> None:
    parent = min(Z, key=lambda name: abs(Z[name] - target))
    steady = deviations(SimulatedSettings(**QUIET, aim_sd=0.0), 30, target=target, parent=parent)
    assert abs(steady).mean() < 0.015
    biased = deviations(
        SimulatedSettings(**QUIET, aim_sd=0.0, aim_bias=0.5), 30, target=target, parent=parent
    )
    assert biased.mean() - steady.mean() == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize("parent", ["s-21", "s-31"])
def test_the_aim_scatters_by_the_distance_of_the_parent_when_told_to(parent: str) -> None:
    """Half of it, from a parent 0.12 and one 0.38 from the target (z): the spread of 24 is known to a sixth."""
    scattered = deviations(SimulatedSettings(**QUIET, aim_sd=0.0, aim_growth=0.5), 24, parent=parent)
    assert scattered.std() == pytest.approx(0.5 * abs(Z[parent] - TARGET), rel=0.45)


def test_references_are_what_it_judges_difficulty_by() -> None:
    """The same task with all stated difficulties doubled yields an item half way down."""
    world = SimulatedWorld(SimulatedSettings(**QUIET, aim_sd=0.0))
    start = messages()
    request = read_request(body("rewriter", start), ("rewriter",))
    prompt = read_rewrite(request)
    assert prompt is not None
    notion = notion_of(prompt)
    for item in prompt.references:
        understood = read_question(item.question)
        assert understood is not None
        assert notion.predict(understood) == pytest.approx(item.difficulty, abs=0.5)
    alone = deviations(SimulatedSettings(**QUIET, aim_sd=0.0), 30, references=0)
    led = deviations(SimulatedSettings(**QUIET, aim_sd=0.0), 30)
    assert abs(led).mean() < abs(alone).mean()
    shifted = [
        start[0],
        {"role": "user", "content": start[1]["content"].replace('target="5.17"', 'target="6.50"')},
    ]
    harder = submitted(conversation(world, shifted, 1)[0][1])["question"]
    assert true_z(THETA, harder, LO, HI) == pytest.approx(0.65, abs=0.03)


def test_faults_come_at_their_rates() -> None:
    runs = 400
    world = SimulatedWorld(
        SimulatedSettings(wrong_key=0.15, copy=0.1, damaged_json=0.1, nothing=0.1, aim_sd=0.2)
    )
    seen: Counter[str] = Counter()
    history = messages()
    first = ask(world, "rewriter", history, tools=REWRITER_TOOLS)
    history += answered(first, *["12"] * len(first.calls))
    for seed in range(runs):
        turn = ask(world, "rewriter", history, tools=REWRITER_TOOLS, seed=seed)
        if not turn.calls:
            seen["nothing"] += 1
            continue
        try:
            fields = json.loads(turn.calls[0].arguments)
        except ValueError:
            seen["damaged"] += 1
            continue
        understood = read_question(fields["question"])
        assert understood is not None
        if fields["question"] == ITEMS["s-21"].question:
            seen["copy"] += 1
        elif str(understood.answer) != fields["answer"]:
            seen["wrong"] += 1
            assert fields["solution"].endswith(f"The answer is {fields['answer']}.")
        else:
            seen["right"] += 1
    for fault, rate in (("wrong", 0.15), ("copy", 0.1), ("damaged", 0.1), ("nothing", 0.1), ("right", 0.55)):
        assert abs(seen[fault] - runs * rate) < 5 * (runs * rate * (1 - rate)) ** 0.5, (fault, seen)


def test_a_refused_submission_is_followed_by_another_one() -> None:
    world = SimulatedWorld(SimulatedSettings(**QUIET))
    for seed in range(10):
        turns, history = conversation(world, messages(), seed)
        questions = [submitted(turns[1])["question"]]
        for k in (2, 3):
            history += answered(turns[-1], "refused: near_duplicate, too close to s-21")
            turns.append(ask(world, "rewriter", history, tools=REWRITER_TOOLS, seed=seed << 12 | k))
            questions.append(submitted(turns[-1])["question"])
        chains = {understood.chain for text in questions if (understood := read_question(text))}
        assert len(chains) == 3


def test_the_same_prompt_and_seed_give_the_same_turn() -> None:
    settings = SimulatedSettings()
    one, two = (conversation(SimulatedWorld(settings), messages(), 5)[0] for _ in range(2))
    assert one == two
    assert conversation(SimulatedWorld(settings), messages(), 6)[0] != one


def test_foreign_parents_and_foreign_prompts_are_met() -> None:
    world = SimulatedWorld(SimulatedSettings(**QUIET))
    foreign = PromptItem(Item("x", "Prove Fermat's last theorem.", "done"), 5.0, None, None, None, None, "")
    start = PromptBook().rewrite(
        target=5.0, parent=foreign, references=[], earlier=[], writer=1, writers=1, round=1, nonce="0a1b2c"
    )
    assert read_question(submitted(conversation(world, start, 1)[0][1])["question"]) is not None
    unread = ask(world, "rewriter", [{"role": "user", "content": "Hello"}], tools=REWRITER_TOOLS)
    assert unread.content
    assert not unread.calls


def test_respondents_are_the_pool() -> None:
    assert len(RESPONDENTS) == 12
    assert len(THETA) == 12
