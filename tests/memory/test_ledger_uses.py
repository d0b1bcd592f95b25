"""What only one run used goes with it; what others were served stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchfill.call import StoredCall
from benchfill.memory.ledger import Ledger
from benchfill.memory.ledger_pruning import remove_calls
from benchfill.memory.ledger_uses import NotingLedger, ledger_digest, replies_to
from tests.memory.old_ledger import write_old_ledger


def call(key: str, run: str, tag: str = "t", fault: str = "", response: bytes = b"{}") -> StoredCall:
    return StoredCall(
        key=key, endpoint="e", role="pool", model="m", run=run, tag=tag, status=200, content_type="json",
        request=b"{}", response=response, input_tokens=1, output_tokens=1, price=None, seconds=0.1, tries=1,
        fault=fault,
    )  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path):
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened


def test_calls_that_others_were_served_stay(ledger):
    first, second = NotingLedger(ledger, "a"), NotingLedger(ledger, "b")
    for key in ("k1", "k2"):
        first.commit(call(key, "a"))
    first.commit_failure(call("k3", "a", fault="timeout"))
    second.commit(call("k4", "b"))
    assert second.look_up("k2") is not None
    assert first.look_up("k1") is not None
    removed = remove_calls(ledger, "a", alone=False)
    assert (removed.calls, removed.failures, removed.kept_for_others, removed.kept_unknown) == (1, 1, 1, 0)
    assert ledger.look_up("k1") is None
    assert ledger.look_up("k2") is not None
    assert remove_calls(ledger, "b", alone=False).calls == 1
    assert ledger.look_up("k4") is None


def test_calls_of_before_uses_were_noted_stay_unless_the_run_is_alone(tmp_path):
    path = tmp_path / "ledger.sqlite"
    write_old_ledger(path, 2, [call("old", "a")])
    with Ledger(path) as ledger:
        removed = remove_calls(ledger, "a", alone=False)
        assert (removed.calls, removed.kept_unknown) == (0, 1)
        assert remove_calls(ledger, "a", alone=True).calls == 1


def test_the_hash_is_of_the_replies_of_a_run_whoever_paid(ledger, tmp_path):
    NotingLedger(ledger, "a").commit(call("k1", "a", response=b"one"))
    NotingLedger(ledger, "b").look_up("k1")
    assert ledger_digest(ledger, "a") == ledger_digest(ledger, "b")
    assert ledger_digest(ledger, "a")[1] == 1
    NotingLedger(ledger, "b").commit(call("k2", "b", response=b"two"))
    assert ledger_digest(ledger, "b")[1] == 2
    with Ledger(tmp_path / "other.sqlite") as other:
        for key, reply in (("k2", b"two"), ("k1", b"one")):
            other.commit(call(key, "b", response=reply))
        assert ledger_digest(other, "b") == ledger_digest(ledger, "b")


def test_a_conversation_is_read_back_in_its_order(ledger):
    for turn in (10, 2, 0):
        tag = f"judge/g1r01w1/t{turn}"
        ledger.commit(call(f"k{turn}", "a", tag=tag, response=str(turn).encode()))
    ledger.commit(call("other", "a", tag="judge/g1r01w12/t0"))
    assert replies_to(ledger, "a", "judge/g1r01w1") == [b"0", b"2", b"10"]
