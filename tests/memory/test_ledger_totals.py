"""Sums that are kept agree with sums of the rows, and nothing asked of a large ledger reads all of it."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from benchfill.call import StoredCall
from benchfill.memory.ledger import Ledger, Spend
from benchfill.memory.ledger_uses import NotingLedger, replies_to
from benchmarks.made_ledger import RUNS, call_of, prose
from tests.memory.old_ledger import write_old_ledger

CALLS = 20_000


def made(count: int) -> list[StoredCall]:
    """Calls of a few bodies, with failures, missing prices and missing usage among them."""
    text = prose()
    known = [call_of(number, text, 1) for number in range(200)]
    return [
        dataclasses.replace(
            known[number % len(known)],
            key=f"{number:064x}",
            request=b'{"number":%d}' % number,
            response=b"" if number % 50 == 3 else b'{"reply": %d}' % number,
            run=RUNS[number // 7 % len(RUNS)],
            input_tokens=None if number % 31 == 0 else number % 900,
            tag=f"probe/{number}" if number % 97 == 0 else known[number % len(known)].tag,
            charged_tokens=None if number % 13 == 0 else number % 700,
            charged_cost=None if number % 3 else 0.25,
        )
        for number in range(count)
    ]


def summed(prices: list[float | None]) -> Any:
    known = [price for price in prices if price is not None]
    return pytest.approx(sum(known)) if known else None


def sums(calls: list[StoredCall]) -> list[Spend]:
    """What was spent, counted call by call."""
    groups: dict[tuple[str, str, str], list[StoredCall]] = {}
    for call in calls:
        groups.setdefault((call.run, call.role, call.model), []).append(call)
    return [
        Spend(
            *names,
            calls=sum(not call.fault for call in group),
            failed=sum(bool(call.fault) for call in group),
            input_tokens=sum(call.input_tokens or 0 for call in group),
            output_tokens=sum(call.output_tokens or 0 for call in group),
            price=summed([call.price for call in group]),
            unpriced=sum(call.price is None for call in group),
            unmetered=sum(call.output_tokens is None for call in group),
            seconds=pytest.approx(sum(call.seconds for call in group)),
        )
        for names, group in sorted(groups.items())
    ]


def charged(calls: list[StoredCall], run: str) -> tuple[int, int, Any]:
    own = [call for call in calls if call.run == run]
    tokens = [
        (call.input_tokens or 0) + (call.output_tokens or 0)
        if call.charged_tokens is None
        else call.charged_tokens
        for call in own
    ]
    costs = [call.price if call.charged_cost is None else call.charged_cost for call in own]
    return len(own), sum(tokens), summed(costs)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[StoredCall]]:
    path, calls = tmp_path_factory.mktemp("large") / "ledger.sqlite", made(CALLS)
    with Ledger(path) as ledger, ledger.database.transaction():
        for call in calls:
            if call.fault:
                ledger.commit_failure(call)
            else:
                assert ledger.commit(call)
    return path, calls


def test_a_large_ledger_says_what_its_calls_say(large: tuple[Path, list[StoredCall]]) -> None:
    path, calls = large
    with Ledger(path) as ledger:
        assert ledger.spend() == sums(calls)
        assert ledger.spend(RUNS[3]) == sums([call for call in calls if call.run == RUNS[3]])
        for run in RUNS:
            assert ledger.charged(run) == charged(calls, run)
        work = [
            call
            for call in calls
            if not call.fault
            and None not in (call.input_tokens, call.output_tokens)
            and "probe/" not in call.tag
        ]
        for mean in ledger.mean_usage():
            own = [call for call in work if (call.role, call.model) == (mean.role, mean.model)]
            assert mean.calls == len(own)
            assert mean.input_tokens == pytest.approx(sum(call.input_tokens or 0 for call in own) / len(own))
            # Every judge's conversation here is one call, of which a third are first turns.
            begun = sum(not re.search(r"/t[1-9]\d*$", call.tag) for call in own)
            assert mean.tasks == begun
        for call in calls[::501]:
            found = ledger.look_up(call.key)
            if call.fault:
                assert found is None
            else:
                assert found is not None
                assert found.response == call.response
        assert ledger.look_up("nothing") is None


def test_a_reply_that_lost_its_race_is_summed_once_as_failed(
    large: tuple[Path, list[StoredCall]], tmp_path: Path
):
    with Ledger(tmp_path / "l.sqlite") as ledger:
        (first,) = [call for call in large[1] if not call.fault][:1]
        assert ledger.commit(first)
        assert not ledger.commit(first)
        assert ledger.spend() == sums([first, dataclasses.replace(first, fault="duplicate")])


def test_nothing_that_is_asked_often_reads_all_calls(large: tuple[Path, list[StoredCall]]) -> None:
    """By SQLite's own plans of whatever is sent to it."""
    path, calls = large
    usable, failed = (
        next(call for call in calls if not call.fault),
        next(call for call in calls if call.fault),
    )
    said: list[str] = []
    with Ledger(path) as ledger:
        connection = ledger.database.connection
        connection.set_trace_callback(said.append)
        ledger.look_up(usable.key)
        NotingLedger(ledger, "a run of its own").look_up(usable.key)
        ledger.commit(dataclasses.replace(usable, key="new", response=b"{}", request=b"{}"))
        ledger.commit_failure(dataclasses.replace(failed, response=b"", request=b"{}"))
        ledger.spend()
        ledger.spend(RUNS[0], pruned=True)
        ledger.charged(RUNS[0])
        ledger.mean_usage()
        ledger.last_failure(failed.key, failed.run)
        replies_to(ledger, RUNS[0], "judge/g1r01w7")
        connection.set_trace_callback(None)
        asked = [sql for sql in said if re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE)", sql)]
        assert len(asked) >= 12
        for sql in asked:
            for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {sql}"):
                assert not re.match(r"SCAN (calls|failures|uses)\b", step), (sql[:300], step)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_ledger_of_an_earlier_version_is_brought_along(tmp_path: Path, version: int) -> None:
    calls = made(600)
    if version == 1:
        calls = [dataclasses.replace(call, charged_tokens=None, charged_cost=None) for call in calls]
    path = tmp_path / "ledger.sqlite"
    write_old_ledger(path, version, calls)
    with Ledger(path) as ledger:
        assert ledger.spend() == sums(calls)
        assert ledger.charged(RUNS[0]) == charged(calls, RUNS[0])
        assert list(ledger.export()) == exported_by_hand(path, version)
        for call in calls:
            found = ledger.look_up(call.key)
            assert (None if found is None else found.response) == (None if call.fault else call.response)
        # New rows beside the old ones.
        ledger.commit(dataclasses.replace(calls[0], key="new", run="later"))
        assert ledger.spend("later") == sums([dataclasses.replace(calls[0], run="later")])
    with Ledger(path) as ledger:
        assert ledger.spend(RUNS[0]) == sums([call for call in calls if call.run == RUNS[0]])


def exported_by_hand(path: Path, version: int) -> list[dict[str, Any]]:
    """As earlier versions exported: from all rows at once, bodies in zlib."""
    import sqlite3

    names = ("key", "run", "role", "endpoint", "model", "tag", "at", "status", "content_type", "fault", "tries",
             "seconds", "input_tokens", "output_tokens", "price")  # fmt: skip
    columns = ", ".join(names)
    database = sqlite3.connect(path)
    rows = database.execute(
        f"SELECT {columns}, request, response FROM ("  # noqa: S608
        f"SELECT {columns.replace('fault', repr('') + ' AS fault')}, request, response FROM calls "
        f"UNION ALL SELECT {columns}, request, response FROM failures) ORDER BY at, key, tries"
    ).fetchall()
    database.close()
    found = []
    for *values, request, response in rows:
        body = zlib.decompress(response)
        try:
            shown = {"response": body.decode()}
        except UnicodeDecodeError:
            shown = {"response_base64": base64.b64encode(body).decode()}
        row = dict(zip(names, values, strict=True))
        found.append({"v": 1, **row, "request": json.loads(zlib.decompress(request)), **shown})
    return found


def test_the_export_is_in_the_order_of_calls(large: tuple[Path, list[StoredCall]]) -> None:
    path, calls = large
    with Ledger(path) as ledger:
        rows = ledger.export(RUNS[5])
        own = [call for call in calls if call.run == RUNS[5]]
        assert [(row["key"], row["fault"], row["response"]) for row in rows] == [
            (call.key, call.fault, call.response.decode()) for call in own
        ]
