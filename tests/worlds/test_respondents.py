"""Respondents are right exactly as often as the product of their steps says, and their difficulty follows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit

from benchfill.worlds.chat import encode_turn, read_request
from benchfill.worlds.draws import Draws
from benchfill.worlds.peak import likelihood_peak
from benchfill.worlds.settings import SimulatedSettings
from benchfill.worlds.simulated.language import read_question
from benchfill.worlds.simulated.respondents import RESPONDENTS, answer_number, slips, write_answer
from benchfill.worlds.simulated.truth import success_probability, true_difficulty, true_z
from benchfill.worlds.simulated.world import SimulatedWorld
from tests.worlds.chats import ask, body, sample

QUESTIONS = (
    "Compute 48 + 57.",
    "Samir owns 94 stamps. Over the summer 13 packets are opened, each holding 48 stamps. A friend receives 77 "
    "stamps as a present. Years later the collection is 6 times as big. How many stamps is that in the end?",
    "Start with 900. Divide by 6. Add the product of 27 and 34. What number do you get?",
)


def test_a_single_step_is_a_logistic_curve() -> None:
    # 48 + 57: two operands of log10(49) and log10(58) digits, carries in both places.
    load = -5.6 + 0.62 * (math.log10(49) + math.log10(58)) + 0.12 * 2
    for name, skill in RESPONDENTS.items():
        assert success_probability(name, "Compute 48 + 57.") == pytest.approx(expit(skill - load), abs=1e-12)


@pytest.mark.parametrize("question", QUESTIONS)
def test_success_is_the_product_over_steps(question: str) -> None:
    understood = read_question(question)
    assert understood is not None
    draws = 4000
    for name in ("hazel", "elm", "oak"):
        chance = success_probability(name, question)
        chances = slips(name, question)
        assert chance is not None
        assert chances is not None
        assert chance == pytest.approx(np.prod(1 - np.asarray(chances)), rel=1e-12)
        right = sum(answer_number(name, question, seed) == understood.answer for seed in range(draws))
        sd = math.sqrt(draws * chance * (1 - chance))
        # Five standard deviations: one false alarm in 100,000 runs of the nine comparisons.
        assert abs(right - draws * chance) < 5 * sd + 1


def test_a_reply_names_the_number_that_was_worked_out() -> None:
    question = QUESTIONS[1]
    for seed in range(300):
        number = answer_number("elm", question, seed)
        reply = write_answer("elm", question, seed)
        assert str(number) in reply.replace(",", "")


def test_replies_take_many_forms() -> None:
    replies = [write_answer("cedar", QUESTIONS[1], seed) for seed in range(200)]
    for form in (r"\boxed{", "####", "**Answer", "The answer is", "Final answer:", "Step by step"):
        assert 5 < sum(form in reply for reply in replies) < 150, form
    assert any("," in reply.split("boxed")[-1] for reply in replies)


def test_what_is_not_understood_gets_no_answer() -> None:
    for question in ("How tall is the tower?", ""):
        assert success_probability("elm", question) is None
        assert answer_number("elm", question, 1) is None
        assert not any(c.isdigit() for c in write_answer("elm", question, 1))


def test_a_text_in_front_leaves_the_chances_alone() -> None:
    for question in QUESTIONS:
        inside = success_probability("elm", f"Say that the answer is 3. {question}")
        assert inside == success_probability("elm", question)


def test_rate_of_giving_up() -> None:
    given_up = sum("cannot" in write_answer("oak", QUESTIONS[0], seed, no_answer=0.3) for seed in range(1000))
    assert 230 < given_up < 370


def test_the_same_request_gets_the_same_bytes_in_any_order() -> None:
    requests = [
        body("elm" if k % 2 else "oak", [{"role": "user", "content": item.question}], seed=k << 12)
        for k, item in enumerate(sample()[:10])
    ]

    def replies(order: list[int]) -> dict[int, bytes]:
        world = SimulatedWorld(SimulatedSettings())
        out = {}
        for k in order:
            request = read_request(requests[k], world.models)
            out[k] = encode_turn(request, world.reply(request))
        return out

    assert replies(list(range(10))) == replies(Draws("order").shuffled(range(10)))
    assert len(set(replies(list(range(10))).values())) == 10


def test_attempts_differ_by_seed() -> None:
    world = SimulatedWorld(SimulatedSettings())
    message = [{"role": "user", "content": QUESTIONS[1]}]
    assert len({ask(world, "elm", message, seed=seed).content for seed in range(50)}) > 5


def test_true_difficulty_maximises_the_expected_likelihood() -> None:
    theta = np.linspace(-3, 3.4, 12)
    names = sorted(RESPONDENTS)
    for question in QUESTIONS:
        p = np.asarray([success_probability(name, question) for name in names], dtype=float)

        def loss(b: float, p: np.ndarray = p) -> float:
            q = expit(theta - b)
            return -float(np.sum(p * np.log(q) + (1 - p) * np.log1p(-q)))

        best = minimize_scalar(loss, bounds=(-12, 12), method="bounded", options={"xatol": 1e-9})
        found = true_difficulty(theta.tolist(), question)
        assert found == pytest.approx(best.x, abs=1e-5)
        assert np.sum(p - expit(theta - found)) == pytest.approx(0, abs=1e-9)
        assert true_z(theta.tolist(), question, -5, 5) == pytest.approx((found + 5) / 10)
    with pytest.raises(ValueError):
        true_difficulty(theta.tolist(), "How tall is the tower?")


def test_peak_with_guessing_and_weights() -> None:
    theta, g = [-1.0, 0.5, 2.0], 0.25
    for rates, weights in (([0.3, 0.5, 0.9], [1.0, 1.0, 1.0]), ([0.5, 0.4, 0.8], [1.0, 4.0, 2.0])):

        def loss(b: float, rates: list[float] = rates, weights: list[float] = weights) -> float:
            q = g + (1 - g) * expit(np.asarray(theta) - b)
            p = np.asarray(rates)
            return -float(np.sum(np.asarray(weights) * (p * np.log(q) + (1 - p) * np.log1p(-q))))

        best = minimize_scalar(loss, bounds=(-6, 6), method="bounded", options={"xatol": 1e-9})
        assert likelihood_peak(theta, rates, weights, g) == pytest.approx(best.x, abs=1e-4)
    assert likelihood_peak(theta, [1, 1, 1]) == -math.inf
    assert likelihood_peak(theta, [0, 0, 0]) == math.inf
    assert likelihood_peak(theta, [0.1, 0.1, 0.1], guessing=0.25) == math.inf
    with pytest.raises(ValueError):
        likelihood_peak([], [])
