"""Units of work on both engines: results, errors, questions to the desk, and workers that die."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchfill.engines import on_ray
from benchfill.engines.opening import check_engine, open_engine, run_all
from benchfill.engines.protocol import TRIES, Engine, Failed, Line, Unit
from benchfill.errors import BenchfillError, BudgetSpent, CallFailed, InputError, RetryableCall, UnitLost

# Ray's own sockets, closed late.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(params=["local", "ray"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    address = request.getfixturevalue("cluster").address if request.param == "ray" else None
    # A cluster stands at this machine's own address, where tests reach nobody; Ray itself is no socket of Python's.
    monkeypatch.setattr(on_ray, "_reach", lambda address: None)
    with open_engine(request.param, address) as opened:
        yield opened


class Desk:
    """Doubles what it is asked, the larger the later; refuses what is negative."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.most = self.waiting = 0

    async def answer(self, question: int) -> int:
        if question < 0:
            raise RetryableCall("busy", "rate_limit", after=2.5)
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(0.001 * (question % 7))
        self.waiting -= 1
        return 2 * question

    def hear(self, news: Any) -> None:
        self.heard.append(news)


def square(value: int) -> int:
    return value * value


def fail(value: int) -> int:
    raise CallFailed(f"no reply to {value}", "timeout")


def stumble(value: int) -> int:
    raise KeyError(value)


def die(value: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return value


def die_once(mark: str) -> int:
    """The first worker dies, the next one does the work."""
    if Path(mark).exists():
        return 7
    Path(mark).touch()
    return die(0)


async def talk(name: str, questions: int, line: Line) -> list[Any]:
    line.tell((name, "begins"))
    doubled = await asyncio.gather(*(line.ask(each) for each in range(questions)))
    try:
        await line.ask(-1)
    except RetryableCall as error:
        doubled.append((error.reason, error.after))
    await asyncio.to_thread(line.tell, (name, "ends"))
    return doubled


async def spend(line: Line) -> None:
    await line.ask(0)
    raise BudgetSpent("The budget is spent.", "More.")


def test_results_come_in_the_order_of_the_units(engine: Engine):
    ended: list[str] = []
    units = [Unit(f"u{value}", square, (value,)) for value in range(6)]
    assert run_all(engine, units, at_once=2, done=ended.append) == [0, 1, 4, 9, 16, 25]
    assert sorted(ended) == [f"u{value}" for value in range(6)]


def test_one_unit_that_fails_or_kills_its_workers_keeps_no_other_from_ending(engine: Engine, tmp_path: Path):
    units = [
        Unit("poisoned", die, (1,)),
        Unit("failing", fail, (2,)),
        Unit("stumbling", stumble, (3,)),
        Unit("unlucky", die_once, (str(tmp_path / "mark"),)),
        Unit("sound", square, (4,)),
    ]
    found = asyncio.run(engine.run(units, at_once=2))
    assert list(found) == [unit.name for unit in units]
    assert isinstance(found["poisoned"], Failed)
    assert isinstance(found["poisoned"].error, UnitLost)
    assert f"poisoned was given up: its worker died {TRIES} times" in str(found["poisoned"].error)
    error = found["failing"].error
    assert (type(error), error.reason, str(error)) == (CallFailed, "timeout", "no reply to 2")
    assert str(found["stumbling"].error) == "stumbling: unexpected KeyError: 3 This is a fault of BenchFill."
    assert (found["unlucky"], found["sound"]) == (7, 16)
    with pytest.raises(CallFailed, match="no reply to 2"):
        run_all(engine, units[1:2], at_once=1)


def test_many_questions_at_once_wait_for_none_of_each_other(engine: Engine):
    desk = Desk()
    units = [Unit(name, talk, (name, 150)) for name in ("a", "b")]
    found = asyncio.run(engine.run([*units, Unit("spent", spend, ())], at_once=2, desk=desk))
    for name in ("a", "b"):
        assert found[name] == [*(2 * each for each in range(150)), ("rate_limit", 2.5)]
        assert [what for who, what in desk.heard if who == name] == ["begins", "ends"]
    assert desk.most > 20
    assert isinstance(found["spent"].error, BudgetSpent)


def test_the_local_engine_has_no_address():
    with pytest.raises(InputError, match="Add --engine ray"):
        check_engine("local", "127.0.0.1:6379")


def test_without_ray_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'benchfill\[ray\]'") as raised:
        check_engine("ray", None)
    assert raised.value.exit_code == 2


def test_nobody_at_the_address_of_a_cluster_is_one_line(cluster: Any):
    del cluster
    with pytest.raises(BenchfillError, match="No Ray cluster at"), open_engine("ray", "127.0.0.1:9"):
        pass
