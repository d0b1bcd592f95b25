"""The replay world: logged attempts without replacement, bank items offered by a guess, keys known."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from benchfill.errors import InputError
from benchfill.item import Item
from benchfill.prompts.render import PromptBook, PromptItem
from benchfill.worlds.bank import full_log_difficulty, full_log_z
from benchfill.worlds.chat import ChatError
from benchfill.worlds.replay import ReplayWorld, wrong_answer
from benchfill.worlds.settings import ReplaySettings
from tests.worlds.chats import BLIND_TOOLS, REWRITER_TOOLS, VERDICT_TOOLS, answered, ask

MODELS = ("m-1", "m-2", "m-3", "m-4")
THETA = dict(zip(MODELS, (-1.5, -0.5, 0.5, 1.5), strict=True))
ATTEMPTS = 40


def item(number: int, prefix: str) -> dict[str, Any]:
    choices = ["red", "green", "blue", "grey"] if number % 5 == 0 else []
    return {
        "id": f"{prefix}-{number:03d}",
        "question": f"Question {number} of part {prefix}?\n  With $x = \\frac{{{number}}}{{2}}$.",
        "answer": "C" if choices else str(3 * number) if number % 2 else f"\\frac{{{number}}}{{7}}",
        "solution": "" if number % 3 else f"Think of {number}.",
        "choices": choices,
        "answer_type": "mcq" if choices else "numeric" if number % 2 else "expr",
    }


def log(items: Sequence[dict[str, Any]], spread: float) -> list[list[Any]]:
    difficulties = np.linspace(-spread, spread, len(items))
    return [
        [model, entry["id"], round(ATTEMPTS * float(expit(THETA[model] - b))), ATTEMPTS]
        for entry, b in zip(items, difficulties, strict=True)
        for model in MODELS
    ]


BENCHMARK = [item(k, "bench") for k in range(1, 13)]
BANK = [item(k, "bank") for k in range(1, 201)]
CONFIG: dict[str, Any] = {
    "world": "replay",
    "benchmark_items": BENCHMARK,
    "benchmark_responses": log(BENCHMARK, 2.5),
    "bank_items": BANK,
    "bank_responses": log(BANK, 2.5),
}


def world(**settings: Any) -> ReplayWorld:
    return ReplayWorld(CONFIG, ReplaySettings(**settings))


def as_item(entry: dict[str, Any]) -> Item:
    return Item(**{**entry, "choices": tuple(entry["choices"])})


def attempts(
    served: ReplayWorld, entry: dict[str, Any], model: str, stream: int, count: int = ATTEMPTS
) -> list[bool]:
    messages = PromptBook().answer(as_item(entry))
    key = f"\\boxed{{{entry['answer']}}}"
    return [ask(served, model, messages, seed=stream << 12 | k).content == key for k in range(count)]


def test_a_cell_is_drawn_to_its_end_without_replacement() -> None:
    served = world()
    counts = {(model, name): correct for model, name, correct, _ in CONFIG["bank_responses"]}
    for entry in BANK[::37]:
        for model in MODELS:
            drawn = attempts(served, entry, model, stream=7)
            assert sum(drawn) == counts[model, entry["id"]]
            messages = PromptBook().answer(as_item(entry))
            with pytest.raises(ChatError) as error:
                ask(served, model, messages, seed=7 << 12 | ATTEMPTS)
            assert (error.value.status, error.value.code) == (400, "attempts_exhausted")


def test_orders_differ_by_stream_and_are_repeatable() -> None:
    middle = BANK[100]
    one = attempts(world(), middle, "m-2", stream=1)
    assert one == attempts(world(), middle, "m-2", stream=1)
    assert one != attempts(world(), middle, "m-2", stream=2)
    # The first attempts of many streams have the cell's own rate.
    served = world()
    first = [attempts(served, middle, "m-2", stream, 1)[0] for stream in range(400)]
    rate = served.bank.items[middle["id"]].counts["m-2"][0] / ATTEMPTS
    assert abs(np.mean(first) - rate) < 5 * math.sqrt(rate * (1 - rate) / 400)


def test_wrong_answers_differ_from_every_key() -> None:
    served = world()
    for entry in served.bank.items.values():
        assert wrong_answer(entry) != entry.answer
    assert wrong_answer(served.bank.items["bank-005"]) == "A"


def test_an_unknown_question_gets_no_answer() -> None:
    reply = ask(world(), "m-1", [{"role": "user", "content": "Never asked before?"}])
    assert "boxed" not in reply.content


def test_the_guess_correlates_as_told() -> None:
    for told in (0.3, 0.9, 1.0):
        served = world(guess_correlation=told, seed=3)
        guesses = served.bank.guesses(told, 3)
        failure = [served.bank.items[name].failure for name in guesses]
        seen = np.corrcoef(failure, list(guesses.values()))[0, 1]
        assert seen == pytest.approx(told, abs=0.15 if told < 0.5 else 0.05)
    assert world().bank.guesses(0.9, 1) == world().bank.guesses(0.9, 1) != world().bank.guesses(0.9, 2)


def prompt(
    target: float, writer: int, earlier: Sequence[PromptItem] = (), parent: dict[str, Any] = BENCHMARK[5]
) -> list[dict[str, Any]]:
    stated = np.linspace(0, 10, len(BENCHMARK))
    shown = [
        PromptItem(as_item(entry), float(d), None, None, None, None, "")
        for entry, d in zip(BENCHMARK, stated, strict=True)
    ]
    return PromptBook().rewrite(
        target=target,
        parent=PromptItem(as_item(parent), target, None, None, None, None, ""),
        references=shown,
        earlier=earlier,
        writer=writer,
        writers=4,
        round=1,
        nonce="0a1b2c",
    )


def offered(served: ReplayWorld, messages: list[dict[str, Any]]) -> tuple[dict[str, Any], Any]:
    turn = ask(served, "rewriter", messages, tools=REWRITER_TOOLS, seed=1)
    assert [call.name for call in turn.calls] == ["submit_item"]
    fields: dict[str, Any] = json.loads(turn.calls[0].arguments)
    return fields, turn


def test_writers_offer_different_items_word_for_word_and_none_twice() -> None:
    served = world()
    texts = {entry["question"]: entry for entry in BANK}
    seen: list[str] = []
    earlier: list[PromptItem] = []
    for round_number in range(1, 6):
        fresh = [offered(served, prompt(5.0, writer, earlier))[0] for writer in range(1, 5)]
        for fields in fresh:
            entry = texts[fields["question"]]
            assert fields["answer"] == entry["answer"]
            assert fields.get("choices", []) == entry["choices"]
            assert fields["solution"]
            assert entry["question"] not in seen
            seen.append(entry["question"])
            earlier.append(PromptItem(as_item(entry), 5.0, 4.0, 6.0, round_number, 5.0, ""))
    assert len(set(seen)) == 20


def test_offers_follow_the_target_and_refusals_and_the_parent() -> None:
    served = world(guess_correlation=1.0)
    for target in (2.0, 5.0, 8.0):
        fields, turn = offered(served, prompt(target, 1))
        number = int(fields["question"].split()[1])
        assert number / 20 == pytest.approx(target, abs=1.0)
        messages = [*prompt(target, 1), *answered(turn, "refused: near_duplicate")]
        assert offered(served, messages)[0]["question"] != fields["question"]
        entry = next(entry for entry in BANK if entry["question"] == fields["question"])
        assert offered(served, prompt(target, 1, parent=entry))[0]["question"] != fields["question"]


def test_a_poor_guess_lands_far_from_the_target() -> None:
    def miss(correlation: float) -> float:
        served = world(guess_correlation=correlation)
        numbers = [
            int(offered(served, prompt(t, w))[0]["question"].split()[1])
            for t in (3, 5, 7)
            for w in (1, 2, 3, 4)
        ]
        return float(
            np.mean([abs(n / 20 - t) for n, t in zip(numbers, np.repeat((3, 5, 7), 4), strict=True)])
        )

    assert miss(1.0) < 0.8 < miss(0.3)


def test_the_judge_knows_the_key() -> None:
    served, book = world(judge_error=0.0), PromptBook()
    for entry in (BANK[0], BANK[1], BANK[4]):
        for key, valid in ((entry["answer"], True), ("other", False)):
            shown = Item(**{**entry, "choices": tuple(entry["choices"]), "answer": key})
            history = book.judge_blind(shown, nonce="0a1b2c")
            turn = ask(served, "judge", history, tools=BLIND_TOOLS)
            assert json.loads(turn.calls[0].arguments)["answer"] == entry["answer"]
            history += [*answered(turn, "noted"), book.judge_reveal(shown, nonce="0a1b2c")]
            verdict = json.loads(ask(served, "judge", history, tools=VERDICT_TOOLS).calls[0].arguments)
            assert verdict["valid"] is valid
            assert verdict["problems"] == ([] if valid else ["key_wrong"])
    stranger = book.judge_blind(Item("x", "Unheard of?", "4"), nonce="0a1b2c")
    assert "cannot" in ask(served, "judge", stranger, tools=BLIND_TOOLS).calls[0].arguments


def test_the_judge_errs_at_its_rate() -> None:
    served = world(judge_error=0.4)
    history = PromptBook().judge_blind(as_item(BANK[0]), nonce="0a1b2c")
    wrong = sum(
        json.loads(ask(served, "judge", history, tools=BLIND_TOOLS, seed=seed).calls[0].arguments)["answer"]
        != "3"
        for seed in range(400)
    )
    assert 40 < wrong < 120


def test_true_difficulty_from_the_full_log() -> None:
    served = world()
    b = np.linspace(-2.5, 2.5, len(BANK))
    for k in range(0, 200, 20):
        counts = served.bank.items[BANK[k]["id"]].counts
        found = full_log_difficulty(THETA, counts)
        # Counts are rounded to forty attempts a cell.
        assert found == pytest.approx(b[k], abs=0.12)
        assert full_log_z(THETA, counts, -2.5, 2.5) == pytest.approx((found + 2.5) / 5)
    assert full_log_difficulty(THETA, {"m-1": (3, 3), "m-2": (0, 0), "other": (0, 5)}) == -math.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bank_items": None}, "incomplete"),
        ({"bank_responses": [["m-1", "bank-001", 5, 4]]}, "5 of 4"),
        ({"bank_items": [*BANK, BANK[0]]}, "twice"),
        ({"bank_items": [*BANK, {**BANK[0], "id": "again", "answer": "other"}]}, "different keys"),
    ],
)
def test_unusable_configurations_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ReplayWorld({**CONFIG, **change}, ReplaySettings())
