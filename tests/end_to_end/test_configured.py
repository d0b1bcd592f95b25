"""A search over configured endpoints: one of the pool is lost on the way, keys are nowhere. Simulated models."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchfill.errors import BenchfillError, InputError, RunPaused
from benchfill.graph.session import run_to_end
from benchfill.graph.verify import verify_run
from benchfill.memory.ledger import Ledger
from benchfill.memory.pool import Pool
from benchfill.memory.runs import find_run
from benchfill.settings import Settings
from tests.commands.pool_server import PoolServer, serving_pool
from tests.end_to_end.conftest import RUN

KEY = "sk-planted0123456789abcdefghij"
DYING = "dying"


@pytest.fixture
def world(unsearched: Path, tmp_path: Path) -> Iterator[str]:
    """The simulated models as a server that the run knows nothing of; its base URL."""
    command = [
        sys.executable,
        "-m",
        "benchfill.worlds.server",
        "--requests-log",
        str(tmp_path / "requests.log"),
    ]
    process = subprocess.Popen(
        [*command, "--config", str(unsearched / "runs" / RUN / "world.json")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}/v1"
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


def configure(home: Path, url: str, dying: str) -> Settings:
    """Let the run ask the server `url`, and for one of its models the server `dying`."""
    database = sqlite3.connect(home / "runs" / RUN / "memory.sqlite")
    with contextlib.closing(database), database:
        (text,) = database.execute("SELECT settings FROM runs").fetchone()
        (models,) = database.execute("SELECT models FROM scales").fetchone()
        names = json.loads(models)
        common = {"send_seed": True, "tool_mode": "tools", "base_url": url}
        pool = [{**common, "model": name} for name in names[1:]]
        pool.append(
            {
                "base_url": dying,
                "model": DYING,
                "log_name": names[0],
                "api_key_env": "DYING_KEY",
                "send_seed": True,
            }
        )
        settings = Settings.model_validate(
            {
                **json.loads(text),
                "rewriter": {**common, "model": "rewriter"},
                "judge": {**common, "model": "judge"},
                "pool": pool,
            }
        )
        # One anchor each, and a model that answers nonsense: that its ability has moved is no news here.
        search = settings.search.model_copy(
            update={"anchors": 1, "anchor_attempts": 1, "accept_drift": True, "tolerance": 0.08}
        )
        settings = settings.model_copy(update={"search": search})
        database.execute("UPDATE runs SET world = '', settings = ?", [settings.model_dump_json()])
        # Planned anew: one gap, of a wide tolerance.
        database.execute("UPDATE runs SET request = json_set(request, '$.count', 1)")
        database.execute("DELETE FROM gaps")
    return settings


def drive(home: Path, settings: Settings) -> tuple[list[dict[str, Any]], dict[str, Any] | BenchfillError]:
    events: list[dict[str, Any]] = []

    def emit(event: str, /, **fields: Any) -> None:
        events.append({"event": event, **fields})

    try:
        summary = asyncio.run(run_to_end(find_run(home, RUN), home / "ledger.sqlite", emit, today=settings))
    except BenchfillError as error:
        return events, error
    return events, summary


def attempts_of(home: Path) -> Counter[tuple[str, str]]:
    pool = Pool(home / "runs" / RUN / "memory.sqlite", create=False)
    try:
        items = {str(each.item) for each in pool.candidates() if each.item is not None}
        return Counter((row.model, row.reason) for item in items for row in pool.attempts(item))
    finally:
        pool.close()


def dies_after(answers: int) -> Callable[[dict[str, Any]], str | tuple[int, Any]]:
    """The probe and so many answers come; from then on the key is refused, and said aloud."""
    left = answers

    def reply(body: dict[str, Any]) -> str | tuple[int, Any]:
        nonlocal left
        left -= 1
        if left < 0:
            return 401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}
        return "\\boxed{1}"

    return reply


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> Iterator[PoolServer]:
    monkeypatch.setenv("DYING_KEY", KEY)
    with serving_pool() as server:
        yield server


def test_a_search_goes_on_without_a_member_that_dies(
    unsearched: Path, world: str, dying: PoolServer, tmp_path: Path
) -> None:
    dying.reply = dies_after(3)
    settings = configure(unsearched, world, f"http://127.0.0.1:{dying.port}/v1")
    events, summary = drive(unsearched, settings)
    assert isinstance(summary, dict), summary
    (started,) = (event for event in events if event["event"] == "run_started")
    hosts = {each["where"] for each in started["endpoints"]}
    assert hosts == {world.split("/")[2], f"127.0.0.1:{dying.port}"}
    said = [event["message"] for event in events if event["event"] == "stage"]
    assert any("of the pool is gone (bad_key)" in message for message in said)
    gap = summary["gaps"][0]
    assert gap["status"] == "filled"
    counts = attempts_of(unsearched)
    (dead,) = {model for model, reason in counts if reason == "bad_key"}
    asked = {sum(count for (model, _), count in counts.items() if model == each) for each, _ in counts}
    # Everybody has the same number of attempts; those of the dead one are missing, and hardly any was sent.
    assert len(asked) == 1
    assert counts[dead, "bad_key"] >= asked.pop() - 3
    assert len(dying.asked) <= 4 + settings.search.max_block
    assert all(not reason for model, reason in counts if model != dead)
    assert_no_key_under(unsearched, events)
    # From its ledger alone the same comes out, the lost attempts included, and nobody is asked.
    asked_before = len(dying.asked)
    again = verify_run(
        find_run(unsearched, RUN), unsearched / "ledger.sqlite", tmp_path / "again", silent, refit=False
    )
    assert asyncio.run(again) == []
    assert len(dying.asked) == asked_before


def silent(event: str, /, **fields: Any) -> None:
    """Whoever does not listen."""


def test_failures_of_every_kind_show_no_key(
    unsearched: Path, world: str, dying: PoolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"http://127.0.0.1:{dying.port}/v1"
    settings = configure(unsearched, world, url)
    said: list[str] = []
    replies: list[Any] = [
        (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}),
        (403, {"error": {"message": f"not for {KEY}"}}),
        (400, {"error": {"message": f"bad header Authorization: Bearer {KEY}"}}),
        (200, {"error": {"code": 401, "message": KEY}}),
    ]
    all_events: list[dict[str, Any]] = []
    for number in range(3, 12):
        # With this many members refused too few are left: the run pauses at its start.
        settings = refused_too(settings, url, number)
    for reply in replies:
        dying.reply = lambda body, reply=reply: reply
        events, outcome = drive(unsearched, settings)
        assert isinstance(outcome, RunPaused | InputError), outcome
        # As --debug shows it.
        said.append("".join(traceback.format_exception(outcome)))
        all_events += events
    monkeypatch.setenv("DYING_KEY", "")
    _, outcome = drive(unsearched, settings)
    assert isinstance(outcome, InputError)
    assert outcome.kind == "missing_key"
    assert len(dying.asked) >= len(replies)
    assert KEY not in " ".join(said)
    assert_no_key_under(unsearched, all_events)


def refused_too(settings: Settings, url: str, number: int) -> Settings:
    entry = settings.pool[number - 3]
    moved = entry.model_copy(update={"base_url": url, "api_key_env": "DYING_KEY"})
    pool = tuple(moved if each is entry else each for each in settings.pool)
    return settings.model_copy(update={"pool": pool})


def assert_no_key_under(home: Path, events: list[dict[str, Any]]) -> None:
    assert KEY not in json.dumps(events)
    files = [path for path in home.rglob("*") if path.is_file()]
    assert any(path.name == "ledger.sqlite" for path in files)
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path
    paid = home / "ledger.sqlite"
    with Ledger(paid) as ledger, contextlib.closing(sqlite3.connect(paid)) as database:
        # Bodies are compressed on disk.
        for table, column in (("calls", "response"), ("calls", "request"), ("failures", "response")):
            for (blob,) in database.execute(f"SELECT {column} FROM {table}"):  # noqa: S608
                assert KEY.encode() not in (ledger.bodies.unpack(blob) if blob else b"")
    assert KEY not in json.dumps({name: value for name, value in os.environ.items() if name != "DYING_KEY"})
