"""Each fault of the embedded endpoint through the real client over loopback HTTP, and what becomes of the call."""

from __future__ import annotations

import collections
import json
from pathlib import Path
from typing import Any

import pytest

from benchfill.errors import CallFailed, InputError
from benchfill.memory.ledger import Ledger
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter
from benchfill.tools.reply import Reply
from benchfill.worlds.faults import KINDS, FaultPlan
from benchfill.worlds.settings import SimulatedSettings
from tests.worlds.chats import sample
from tests.worlds.in_process import endpoint

pytestmark = pytest.mark.usefixtures("short_waits")

# What a call is over with when the fault stays, and how often it was tried. The rest of the tries are the client's.
TRIES = 4
ENDS = {
    "rate_limit": "rate_limited",
    "rate_limit_after": "rate_limited",
    "server_error": "server_error",
    "loading": "loading",
    "hang": "timeout",
    "drip": "timeout",
    "reset": "connection",
    "page": "server_error",
    "sign_in": "not_json",
    "error_in_200": "server_error",
    "null_choices": "no_choices",
    "no_choices": "no_choices",
    "cut": "not_json",
}
KNOWN = {*ENDS.values(), "reply", "no_message", "truncated", "context_length_exceeded", "unsupported_parameter",
         "invalid_request_error", "tools_unsupported"}  # fmt: skip
ONCE = {"sign_in"}
SLOW = {"hang", "drip"}


def client_of(url: str, ledger: Ledger, meter: Meter | None = None, **options: Any) -> ModelClient:
    options = {"tries": TRIES, "timeout": 10.0, "ledger_name": "world", **options}
    return ModelClient(
        Endpoint("elm", url, "elm", **options),
        ledger=ledger,
        role="respondent",
        run="r",
        limit=ServerLimit(8),
        meter=meter or Meter(),
    )


async def ask(asked: ModelClient, number: int = 3) -> Reply:
    question = [{"role": "user", "content": sample()[number].question}]
    return await asked.ask(question, seed=4096 * number, tag=f"t{number}")


@pytest.fixture
async def truth(tmp_path: Path, ledger: Ledger) -> Reply:
    """The reply of the endpoint without faults, paid for by another ledger name."""
    async with endpoint(tmp_path / "plain.log") as url:
        asked = client_of(url, ledger, ledger_name="plain")
        reply = await ask(asked)
        await asked.aclose()
    return reply


@pytest.mark.parametrize("kind", ENDS)
async def test_a_fault_heals_or_ends_the_call_and_is_never_an_answer(
    kind: str, tmp_path: Path, ledger: Ledger, truth: Reply
) -> None:
    limit = {"timeout": 0.4} if kind in SLOW else {}
    faults: dict[str, Any] = {"fault_rate": 1.0, "fault_kinds": kind, "fault_seconds": 3.0}
    # For ever: bounded tries, a reason, nothing pinned.
    async with endpoint(tmp_path / "log", **faults, fault_heals_after=0) as url:
        meter = Meter()
        asked = client_of(url, ledger, meter, **limit)
        with pytest.raises(CallFailed) as caught:
            await ask(asked)
        await asked.aclose()
    assert caught.value.reason == ENDS[kind]
    tries = 1 if kind in ONCE else 3 if kind in SLOW else TRIES
    assert meter.calls == len((tmp_path / "log").read_text().split()) == tries
    assert meter.failed == tries
    if kind in ONCE:
        return
    # Healing after two tries: the same reply as without faults, told as waiting meanwhile.
    waits: list[tuple[str, float, str]] = []
    async with endpoint(tmp_path / "healing.log", **faults, fault_heals_after=2) as url:
        meter = Meter(on_wait=lambda *wait: waits.append(wait))
        asked = client_of(url, ledger, meter, **limit)
        reply = await ask(asked)
        again = await ask(asked)
        await asked.aclose()
    assert reply.content == truth.content
    assert (reply.from_ledger, again.from_ledger) == (False, True)
    assert (meter.calls, meter.failed, meter.retries) == (3, 2, 2)
    assert [reason for _, _, reason in waits] == [ENDS[kind]] * 2
    if kind == "rate_limit_after":
        assert [seconds >= 0.05 for _, seconds, _ in waits] == [True] * 2


async def test_another_models_name_is_said_once_and_the_reply_counts(
    tmp_path: Path, ledger: Ledger, truth: Reply
) -> None:
    said: list[tuple[str, str]] = []
    async with endpoint(tmp_path / "log", fault_rate=1.0, fault_kinds="other_model") as url:
        asked = client_of(url, ledger, Meter(on_notice=lambda *what: said.append(what)))
        replies = [await ask(asked, number) for number in (3, 4)]
        await asked.aclose()
    assert replies[0].content == truth.content
    assert said == [("elm", "asked for elm, it answers as somebody-else")]


async def test_every_handed_body_instead_of_a_reply_is_survived(
    shared: Path, tmp_path: Path, ledger: Ledger
) -> None:
    """Any body at any time: the call ends in a reply or in a sorted error, and the next one is asked."""
    bodies = []
    for line in (shared / "cases" / "toolcalls.jsonl").read_text().splitlines():
        case = json.loads(line)
        # Those that end an endpoint for good stand in a test of their own.
        if case["http_status"] != 401 and case["expect"].get("error_class") != "quota_exhausted":
            kind = case.get("headers", {}).get("Content-Type", "application/json")
            body = case["body_text"] if "body_text" in case else json.dumps(case["body"])
            bodies.append({"status": case["http_status"], "type": kind, "body": body})
    for path in sorted((shared / "cases" / "llamacpp").rglob("*.json")):
        case = json.loads(path.read_text())
        if case["status"] not in (None, 404):
            body = case["body"] if isinstance(case["body"], str) else json.dumps(case["body"])
            bodies.append({"status": case["status"], "type": "application/json", "body": body})
    file = tmp_path / "bodies.jsonl"
    file.write_text("\n".join(map(json.dumps, bodies)))
    outcomes: collections.Counter[str] = collections.Counter()
    faults = {"fault_rate": 1.0, "fault_bodies": str(file), "fault_heals_after": 0}
    async with endpoint(tmp_path / "log", **faults) as url:
        asked = client_of(url, ledger, tries=1, temperature=0.0)
        for number in range(120):
            try:
                reply = await asked.ask(
                    [{"role": "user", "content": str(number)}], seed=number, tag=f"{number}"
                )
                outcomes["reply"] += 1
                assert isinstance(reply.content, str)
            except CallFailed as error:
                outcomes[error.reason] += 1
                # The breaker holds back as it should; here every body is to be seen.
                asked._transport._breaker._in_a_row = 0
        await asked.aclose()
    assert outcomes["reply"] > 40
    assert len(outcomes) >= 7
    assert set(outcomes) <= KNOWN


async def test_faults_are_drawn_from_what_is_asked_and_how_often() -> None:
    async def drawn(requests: list[str], **settings: Any) -> list[bool]:
        plan = FaultPlan(SimulatedSettings(fault_kinds="server_error", **settings))
        return [await plan.instead("elm", digest, b"{}") is not None for digest in requests]

    asked = [f"request {number}" for number in range(400)]
    some = await drawn(asked, fault_rate_pool=0.3)
    assert 80 < sum(some) < 160
    assert await drawn(asked[::-1], fault_rate_pool=0.3) == some[::-1]
    assert await drawn(asked, fault_rate_pool=0.3, fault_seed=1) != some
    assert not any(await drawn(asked, fault_rate_judge=1.0))
    # For ever means for ever, and what goes well goes well.
    twice = await drawn([*asked, *asked], fault_rate=0.3, fault_heals_after=0)
    assert twice[:400] == twice[400:]
    healed = await drawn(asked * 3, fault_rate=1.0, fault_heals_after=2)
    assert healed == [True] * 800 + [False] * 400
    with pytest.raises(InputError, match="unknown fault: earthquake"):
        FaultPlan(SimulatedSettings(fault_kinds="earthquake"))
    assert set(ENDS) | {"other_model"} == set(KINDS)
