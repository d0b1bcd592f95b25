"""``benchfill ledger``: sums that agree with the calls, and the calls themselves, without a key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchfill.memory.database import open_database
from benchfill.memory.ledger import FreshLedger, Ledger
from benchfill.memory.ledger_schema import LEDGER_MIGRATIONS
from benchfill.memory.migrations import apply_migrations
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter
from tests.commands.conftest import Said
from tests.memory.test_ledger import call
from tests.tools.fake_endpoint import Response, completion, serving

KEY = "sk-never-to-be-seen-0123456789"


def test_nothing_asked_yet_is_said(benchfill: Callable[..., Said]) -> None:
    said = benchfill("ledger")
    assert said.code == 2
    assert said.err.startswith("Error: Nothing was asked yet.")


def test_spend_by_run_role_and_model(benchfill: Callable[..., Said], own_home: Path) -> None:
    with Ledger(own_home / "ledger.sqlite") as ledger:
        ledger.commit(call("1", run="a", role="judge", price=0.25))
        ledger.commit(call("2", run="a", role="judge", price=None))
        ledger.commit_failure(call("3", run="a", role="pool", price=0.5, fault="timeout"))
        ledger.commit(call("4", run="b", role="pool", price=0.125))
    document = json.loads(benchfill("ledger", "--json").out)
    assert document["v"] == 1
    assert [(row["run"], row["role"], row["calls"], row["failed"]) for row in document["spend"]] == [
        ("a", "judge", 2, 0),
        ("a", "pool", 0, 1),
        ("b", "pool", 1, 0),
    ]
    assert (document["totals"]["price"], document["totals"]["unpriced"]) == (0.875, 1)
    only = json.loads(benchfill("ledger", "--run", "b", "--json").out)
    assert only["totals"]["calls"] == 1
    shown = benchfill("ledger").out
    assert "0.2500 +?" in shown
    assert "0.8750 +?" in shown


async def filled(home: Path) -> None:
    """One good reply, one failure that echoes the key."""
    plan = (Response(completion("42")), Response({"error": {"message": f"bad key {KEY}"}}, 401))
    async with serving(*plan) as fake:
        with Ledger(home / "ledger.sqlite") as ledger:
            client = ModelClient(
                Endpoint("e", fake.url, "m", api_key=KEY),
                ledger=ledger,
                role="pool",
                run="r",
                limit=ServerLimit(4),
                meter=Meter(),
            )
            await client.ask([{"role": "user", "content": "6 x 7?"}], seed=1, tag="t0")
            with pytest.raises(Exception, match="401"):
                await client.ask([{"role": "user", "content": "6 x 7?"}], seed=1, tag="t1")
            await client.aclose()


async def test_the_export_is_every_call_and_no_key(
    own_home: Path, tmp_path: Path, benchfill: Callable[..., Said]
) -> None:
    await filled(own_home)
    out = tmp_path / "calls.jsonl"
    said = benchfill("ledger", "export", "--out", str(out))
    assert (said.code, said.err) == (0, f"{out}: 2 calls.\n")
    text = out.read_text()
    assert KEY not in text
    good, bad = (json.loads(line) for line in text.splitlines())
    assert good["request"]["messages"] == [{"role": "user", "content": "6 x 7?"}]
    assert json.loads(good["response"])["choices"][0]["message"]["content"] == "42"
    assert (good["fault"], bad["fault"], bad["status"]) == ("", "bad_key", 401)
    assert good["at"] <= bad["at"]
    assert benchfill("ledger", "export", "--out", str(out), "--run", "other").code == 0
    assert out.read_text() == ""


def test_a_reply_that_is_no_text_is_exported_whole(own_home: Path) -> None:
    with Ledger(own_home / "ledger.sqlite") as ledger:
        ledger.commit_failure(call(response=b"\xff\xfe", fault="not_json"))
        (row,) = ledger.export()
    assert row["response_base64"] == "//4="


def test_a_fresh_run_finds_its_own_calls_and_nobody_elses(own_home: Path) -> None:
    with Ledger(own_home / "ledger.sqlite") as ledger:
        ledger.commit(call("k", response=b"old"))
        fresh = FreshLedger(ledger, "second")
        assert fresh.look_up("k") is None
        assert fresh.commit(call("k", run="second", response=b"new"))
        assert FreshLedger(ledger, "third").look_up("k") is None
        again, old = FreshLedger(ledger, "second").look_up("k"), ledger.look_up("k")
        assert again is not None
        assert old is not None
        assert (again.response, old.response) == (b"new", b"old")


def test_a_ledger_of_before_is_read_on(tmp_path: Path) -> None:
    """Rows without a charge count as their servers reported."""
    path = tmp_path / "ledger.sqlite"
    with open_database(path) as database:
        apply_migrations(database, LEDGER_MIGRATIONS[:1])
        columns = (
            "key, endpoint, role, model, run, tag, status, content_type, input_tokens, output_tokens, price, "
            "seconds, tries, request, response"
        )
        values = ("k", "e", "pool", "m", "r", "t", 200, "", 10, 4, 0.5, 1.0, 1, b"", b"")
        marks = ", ".join("?" * len(values))
        with database.transaction() as connection:
            connection.execute(f"INSERT INTO calls ({columns}) VALUES ({marks})", values)  # noqa: S608
    with Ledger(path) as ledger:
        assert ledger.charged("r") == (1, 14, 0.5)
        assert ledger.charged("nobody") == (0, 0, None)


def test_the_last_failure_of_a_run_is_told_from_interruptions(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.commit_failure(call(fault="timeout", status=0, response=b""))
        ledger.commit_failure(call(fault="server_error", status=500, response=b"oops"))
        ledger.commit_failure(call(fault="cancelled", status=0, response=b""))
        found = ledger.last_failure("k", "r")
        assert found is not None
        assert (found[0], found[1].status, found[1].response) == ("server_error", 500, b"oops")
        assert ledger.last_failure("k", "another") is None


def test_mean_usage_is_of_usable_replies(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        ledger.commit(call("1", input_tokens=10, output_tokens=4))
        ledger.commit(call("2", input_tokens=30, output_tokens=8, run="other"))
        ledger.commit(call("3", input_tokens=None, output_tokens=None))
        ledger.commit_failure(call("4", input_tokens=999, output_tokens=999, fault="server_error"))
        (mean,) = ledger.mean_usage()
    assert (mean.calls, mean.input_tokens, mean.output_tokens) == (2, 20.0, 6.0)
