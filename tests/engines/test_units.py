"""Units of work on both engines: results, errors, questions to the desk, and workers that die."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchfill.engines import on_ray
from benchfill.engines.opening import check_engine, open_engine, run_all
from benchfill.engines.protocol import TRIES, Engine, Failed, Line, Unit
from benchfill.errors import (
    BenchfillError,
    BudgetSpent,
    CallFailed,
    InputError,
    RetryableCall,
    RunPaused,
    UnitLost,
)

# Ray's own sockets, closed late.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(params=["local", "ray"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    address = request.getfixturevalue("cluster").address if request.param == "ray" else None
    # A cluster stands at this machine's own address, where tests reach nobody; Ray itself is no socket of Python's.
    monkeypatch.setattr(on_ray, "_reach", lambda address: None)
    with open_engine(request.param, address) as opened:
        yield opened


FAULTY = 1000


class Desk:
    """Doubles what it is asked, the larger the later; refuses what is negative, stumbles over one number."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.most = self.waiting = 0

    async def answer(self, question: int) -> int:
        if question < 0:
            raise RetryableCall("busy", "rate_limit", after=2.5)
        if question == FAULTY:
            raise KeyError(question)
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


async def trip(line: Line) -> int:
    return await line.ask(FAULTY)


async def tell_and_wait(line: Line) -> None:
    line.tell("hello")
    await asyncio.sleep(60)


async def lose_the_box(line: Any) -> None:
    import ray

    ray.kill(line._box)
    await line.ask(1)


def blocked() -> set[Any]:
    return signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_fault_at_the_desk_ends_what_waits_for_it(engine: Engine):
    found = asyncio.run(engine.run([Unit("tripping", trip, ())], at_once=1, desk=Desk()))
    assert "unexpected KeyError: 1000" in str(found["tripping"].error)

    class Deaf(Desk):
        def hear(self, news: Any) -> None:
            raise BrokenPipeError(news)

    # The reader of our output has gone: the work ends, as it does in one process.
    with pytest.raises(BrokenPipeError, match="hello"):
        asyncio.run(engine.run([Unit("told", tell_and_wait, ())], at_once=1, desk=Deaf()))


def test_what_ray_says_of_a_worker_that_died_is_no_part_of_our_output(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(on_ray, "_reach", lambda address: None)
    with open_engine("ray", cluster.address) as engine:
        assert run_all(engine, [Unit("unlucky", die_once, (str(tmp_path / "mark"),))], at_once=1) == [7]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("engine", ["ray"], indirect=True)
def test_a_cluster_that_loses_the_way_to_its_workers_pauses_the_run(engine: Engine):
    with pytest.raises(RunPaused, match="benchfill resume"):
        asyncio.run(engine.run([Unit("cut off", lose_the_box, ())], at_once=1, desk=Desk()))


@pytest.mark.parametrize("engine", ["local"], indirect=True)
def test_workers_are_deaf_to_ctrl_c_from_their_first_moment_on(engine: Engine):
    assert signal.SIGINT in run_all(engine, [Unit("mask", blocked, ())], at_once=1)[0]
    assert signal.SIGINT not in blocked()


def test_the_local_engine_has_no_address():
    with pytest.raises(InputError, match="Add --engine ray"):
        check_engine("local", "127.0.0.1:6379")
    # As of a variable that is not set: not this machine instead of the cluster.
    with pytest.raises(InputError, match="empty"):
        check_engine("ray", "")


def test_without_ray_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'benchfill\[ray\]'") as raised:
        check_engine("ray", None)
    assert raised.value.exit_code == 2


def test_nobody_at_the_address_of_a_cluster_is_one_line(cluster: Any):
    del cluster
    with (
        pytest.raises(BenchfillError, match=r"No Ray cluster for us at 127\.0\.0\.1:9"),
        open_engine("ray", "127.0.0.1:9"),
    ):
        pass


def test_what_listens_at_the_address_and_is_not_ray_is_one_line():
    pytest.importorskip("ray")

    def answer() -> None:
        with door.accept()[0] as visitor:
            visitor.recv(100)
            visitor.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=answer, daemon=True).start()
        address = f"127.0.0.1:{door.getsockname()[1]}"
        with pytest.raises(InputError, match="something else"), open_engine("ray", address):
            pass
