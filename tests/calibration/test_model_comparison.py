"""Item models compared on hidden answers: what is hidden is not seen, and the true model wins. Logs are simulated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from benchfill.calibration.folds import hide_cells, hide_models, join_logs
from benchfill.calibration.item_models import fit_by_name
from benchfill.calibration.model_comparison import compare_item_models, foretell
from benchfill.calibration.response_log import ResponseLog
from benchfill.errors import BenchfillError, InputError
from tests.calibration.simulated import log_of, simulate


def slopes_log(items: int, seed: int) -> ResponseLog:
    generator = np.random.default_rng(seed)
    slope = np.tile([0.2, 1.0, 2.2], 4)[:, None]
    b = generator.normal(0.0, 1.5, items)
    return log_of(generator.binomial(4, expit(slope * (np.linspace(-1.0, 1.0, 12)[:, None] - b))), 4)


def test_the_true_model_is_recommended_for_cells_and_for_new_models() -> None:
    logs = [slopes_log(60, 1), slopes_log(50, 2)]
    for hide in ("cells", "models"):
        found = compare_item_models(logs, ["1pl", "model_slopes"], hide=hide, folds=2, scopes=["benchmark"])
        first, second = found.contenders
        assert found.best == found.lowest == 1
        assert second.gain == pytest.approx(first.scores.log_loss - second.scores.log_loss)
        assert second.gain > 3.0 * second.gain_se > 0.0
        assert sum(each.attempts for each in second.by_log) == second.scores.attempts == first.scores.attempts


def test_benchmarks_are_fitted_apart_or_together() -> None:
    logs = [simulate(8, 40, 2, seed=3).log, simulate(8, 30, 2, seed=4).log]
    fold = hide_cells(logs, 4, 0)[0]
    apart = foretell(fold, "1pl", "benchmark", guessing=[None, None], seed=0)
    together = foretell(fold, "1pl", "joint", guessing=[None, None], seed=0)
    alone = fit_by_name(fold.known[1], "1pl").success()
    model, item = np.nonzero(fold.hidden[1].attempts)
    assert apart[1].chance == pytest.approx(alone[model, item])
    assert not np.allclose(together[1].chance, apart[1].chance, atol=1e-3)
    assert apart[1].item.min() >= 40


def test_a_hidden_model_is_seen_only_by_what_places_it() -> None:
    logs = [
        simulate(9, 40, 1, seed=5).log,
        simulate(9, 30, 1, seed=6).log.select_models([f"model-{at:04}" for at in range(7)]),
    ]
    folds = hide_models(logs, 3, seed=1)
    assert frozenset().union(*(fold.absent for fold in folds)) == frozenset(logs[0].models)
    for fold in folds:
        for log, known, hidden in zip(logs, fold.known, fold.hidden, strict=True):
            assert np.array_equal(known.attempts + hidden.attempts, log.attempts)
            seen = np.array([model in fold.absent for model in log.models])
            assert not hidden.attempts[~seen].any()
    # Turned answers among those to be foretold change the score, not the prediction.
    fold = folds[0]
    turned = tuple(
        ResponseLog(each.models, each.items, each.attempts - each.correct, each.attempts)
        for each in fold.hidden
    )
    one, two = (
        foretell(type(fold)(fold.known, hidden, fold.absent), "1pl", "joint", guessing=[None, None], seed=0)
        for hidden in (fold.hidden, turned)
    )
    assert all(np.array_equal(a.chance, b.chance) for a, b in zip(one, two, strict=True))


def test_joined_logs_keep_every_answer() -> None:
    first = simulate(4, 5, 2, seed=7).log
    second = simulate(4, 3, 1, seed=8).log.select_models(["model-0001", "model-0003"])
    whole, rows, columns = join_logs([first, second])
    for log, at, to in zip((first, second), rows, columns, strict=True):
        assert np.array_equal(whole.correct[np.ix_(at, to)], log.correct)
        assert np.array_equal(whole.attempts[np.ix_(at, to)], log.attempts)
    assert whole.attempts.sum() == first.attempts.sum() + second.attempts.sum()


def test_a_fit_that_fails_is_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise BenchfillError("The fit did not converge.")

    monkeypatch.setattr("benchfill.calibration.item_models.fit_four_parameter", failing)
    found = compare_item_models([simulate(6, 30, 1, seed=9).log], ["1pl", "4pl"], folds=2)
    assert found.contenders[1].scores is None
    assert "converge" in found.contenders[1].failure
    assert found.best == 0


def test_impossible_questions_are_refused() -> None:
    log = simulate(4, 30, 1, seed=10).log
    with pytest.raises(InputError, match="Hiding whole models"):
        compare_item_models([log], ["1pl"], hide="models", folds=2)
    with pytest.raises(InputError, match="different models"):
        compare_item_models([log], ["1pl"], hidden=[log.select_models(log.models[:2])])
