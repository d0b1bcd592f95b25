"""The look at every endpoint before a run, and members of the pool that die during one."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchfill.endpoint_settings import server_of
from benchfill.errors import BenchfillError, InputError, RunPaused
from benchfill.graph.answer import answer
from benchfill.graph.attempts import Panel
from benchfill.graph.models import Models, open_clients
from benchfill.graph.probe import check_before_work, find_faults, refuse_faults
from benchfill.item import Item
from benchfill.memory.ledger import Ledger
from benchfill.memory.records import Candidate
from benchfill.prompts.render import PromptBook
from benchfill.settings import Settings
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.grading import Grader
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter
from benchfill.tools.sandbox import Sandbox
from tests.graph.made_search import make_search
from tests.tools.fake_endpoint import FakeEndpoint, Request, Response, completion, serving

LISTED = {"object": "list", "data": [{"id": f"m{number:02d}"} for number in range(12)]}
UNKNOWN = Response({"error": {"code": "model_not_found", "message": "no such model"}}, status=404)
REFUSED = Response({"error": {"message": "Incorrect API key"}}, status=401)
READY = Response(completion("\\boxed{1}"))


def model_server(
    chat: Callable[[Request], Response] = lambda request: READY, *, listed: Any = LISTED
) -> Callable[[Request], Response]:
    """A plan for the fake endpoint: a list of models, and a chat."""

    def plan(request: Request) -> Response:
        if request.method == "GET":
            return listed if isinstance(listed, Response) else Response(listed)
        return chat(request)

    return plan


@contextlib.asynccontextmanager
async def clients_of(
    tmp_path: Path, *endpoints: Endpoint, role: str = "pool"
) -> AsyncIterator[dict[str, ModelClient]]:
    limits = {server_of(endpoint.base_url): ServerLimit(8) for endpoint in endpoints}
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        clients = open_clients(
            role, {each.name: each for each in endpoints}, limits, ledger=ledger, run="r", meter=Meter()
        )
        try:
            yield clients
        finally:
            for client in clients.values():
                await client.aclose()


def chats(fake: FakeEndpoint) -> list[str]:
    return [request.body["model"] for request in fake.requests if request.method == "POST"]


async def faults_of(tmp_path: Path, *endpoints: Endpoint) -> dict[str, str]:
    async with clients_of(tmp_path, *endpoints) as clients:
        return {name: fault.reason for name, fault in (await find_faults(list(clients.values()))).items()}


async def test_a_listed_model_without_a_key_costs_nothing(tmp_path: Path) -> None:
    async with serving(model_server()) as fake:
        assert await faults_of(tmp_path, Endpoint("a", fake.url, "m01"), Endpoint("b", fake.url, "m02")) == {}
        assert chats(fake) == []
        assert len(fake.requests) == 1


async def test_a_key_is_proven_by_one_question_for_all_models_of_a_server(tmp_path: Path) -> None:
    async with serving(model_server()) as fake:
        endpoints = [Endpoint(f"e{n}", fake.url, f"m{n:02d}", api_key="k" * 20) for n in range(5)]
        assert await faults_of(tmp_path, *endpoints) == {}
        assert len(chats(fake)) == 1


async def test_a_bad_key_is_found_though_the_list_is_public_and_nobody_else_is_asked(tmp_path: Path) -> None:
    async with serving(model_server(lambda request: REFUSED)) as bad, serving(model_server()) as good:
        endpoints = [Endpoint("bad", bad.url, "m01", api_key="k" * 20), Endpoint("good", good.url, "m02")]
        assert await faults_of(tmp_path, *endpoints) == {"bad": "bad_key"}
        assert chats(good) == []


async def test_a_key_refused_for_the_list_ends_it_before_any_question(tmp_path: Path) -> None:
    async with serving(model_server(listed=REFUSED)) as bad, serving(model_server()) as good:
        endpoints = [
            Endpoint("bad", bad.url, "m01", api_key="k" * 20),
            Endpoint("good", good.url, "m02", api_key="k" * 20),
            Endpoint("unlisted", good.url, "m99", api_key="k" * 20),
        ]
        assert await faults_of(tmp_path, *endpoints) == {"bad": "bad_key"}
        assert chats(good) + chats(bad) == []


async def test_an_unknown_model_is_found_before_the_others_are_paid(tmp_path: Path) -> None:
    async with serving(model_server(lambda request: UNKNOWN)) as bad, serving(model_server()) as good:
        endpoints = [Endpoint("bad", bad.url, "m99"), Endpoint("good", good.url, "m02", api_key="k" * 20)]
        assert await faults_of(tmp_path, *endpoints) == {"bad": "unknown_model"}
        assert (chats(bad), chats(good)) == (["m99"], [])


@pytest.mark.parametrize(
    "listed", [Response("<html>", status=404), Response({"data": 3}), Response("[", 200)]
)
async def test_a_server_without_a_list_is_asked_once_a_model(tmp_path: Path, listed: Response) -> None:
    async with serving(model_server(listed=listed)) as fake:
        assert await faults_of(tmp_path, Endpoint("a", fake.url, "m01"), Endpoint("b", fake.url, "m02")) == {}
        assert sorted(chats(fake)) == ["m01", "m02"]


async def test_an_answer_of_the_ledger_proves_nothing(tmp_path: Path) -> None:
    async with serving(model_server(listed=UNKNOWN)) as fake:
        for expected in ({}, {"a": "unknown_model"}):
            assert await faults_of(tmp_path, Endpoint("a", fake.url, "m01")) == expected
            fake.plan = [model_server(lambda request: UNKNOWN, listed=UNKNOWN)]


async def test_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchfill.tools.reaching.AGAIN_AFTER", 0.0)
    async with serving(model_server()) as good:
        endpoints = [Endpoint("gone", "http://127.0.0.1:9/v1", "m01"), Endpoint("good", good.url, "m99")]
        assert await faults_of(tmp_path, *endpoints) == {"gone": "unreachable"}
        assert chats(good) == []


async def test_faults_of_the_settings_are_usage_errors_and_others_are_not(tmp_path: Path) -> None:
    refuse_faults({}, go_on="again")
    async with (
        serving(model_server(lambda request: UNKNOWN)) as fake,
        clients_of(tmp_path, Endpoint("a", fake.url, "m99")) as clients,
    ):
        faults = await find_faults(list(clients.values()))
    with pytest.raises(InputError, match=r"a: HTTP 404.*benchfill\.toml\. Then: again") as caught:
        refuse_faults(faults, go_on="again")
    assert (caught.value.exit_code, caught.value.kind) == (2, "unknown_model")
    faults["a"].reason = "unreachable"
    with pytest.raises(BenchfillError) as failed:
        refuse_faults(faults, go_on="again")
    assert failed.value.exit_code == 1


async def before_work(
    tmp_path: Path, servers: dict[str, FakeEndpoint], *, begun: bool
) -> list[dict[str, Any]]:
    """Check a run of rewriter, judge and twelve models, each role at a server of its own."""
    search, _, events = make_search(tmp_path)
    if not begun:
        search.pool.scale = lambda: None  # type: ignore[method-assign]

    def endpoint(name: str, model: str) -> Endpoint:
        return Endpoint(name, servers[name if name in servers else "pool"].url, model, tries=1)

    pool = [endpoint(f"m{n:02d}", f"m{n:02d}") for n in range(12)]
    async with (
        clients_of(tmp_path, *pool) as respondents,
        clients_of(tmp_path, endpoint("rewriter", "m00"), role="rewriter") as rewriter,
        clients_of(tmp_path, endpoint("judge", "m00"), role="judge") as judge,
    ):
        models = Models(rewriter["rewriter"], judge["judge"], respondents)
        run: Any = SimpleNamespace(id="r")
        await check_before_work(search.pool, run, models, Settings(), search.emit)
    return events


async def test_a_run_does_not_begin_with_a_broken_member_but_goes_on_without_one(tmp_path: Path) -> None:
    async with (
        serving(model_server()) as good,
        serving(model_server(lambda request: UNKNOWN, listed={})) as bad,
    ):
        servers = {"pool": good, "m03": bad}
        (tmp_path / "new").mkdir()
        with pytest.raises(InputError, match="m03: HTTP 404"):
            await before_work(tmp_path / "new", servers, begun=False)
        (tmp_path / "old").mkdir()
        events = await before_work(tmp_path / "old", servers, begun=True)
        assert any("without m03" in event["message"] for event in events)
        dead = {f"m{n:02d}": bad for n in range(7)}
        (tmp_path / "dead").mkdir()
        with pytest.raises(RunPaused, match="Only 5 of 12 models"):
            await before_work(tmp_path / "dead", {"pool": good, **dead}, begun=True)
        (tmp_path / "judge").mkdir()
        with pytest.raises(InputError, match="judge: HTTP 404"):
            await before_work(tmp_path / "judge", {"pool": good, "judge": bad}, begun=True)


async def answered(
    tmp_path: Path, dead: int, response: Response, *, times: int = 1
) -> tuple[Any, list[dict[str, Any]], FakeEndpoint]:
    """Let twelve models answer one candidate, the first `dead` of them being refused by their server."""

    def chat(request: Request) -> Response:
        return response if int(request.body["model"][1:]) < dead else READY

    search, _, events = make_search(tmp_path)
    search.pool.save_candidate(
        Candidate(
            id="c", item="x", gap=1, round=1, writer=1, target=0.5, parent="i00", reference_ids=[],
            status="calibrating", rewriter="r", judge="j", prompt_version="v", prompt_hashes={},
        ),
        Item(id="x", question="What is one?", answer="1"),
    )  # fmt: skip
    async with serving(model_server(chat)) as fake:
        endpoints = [Endpoint(f"m{n:02d}", fake.url, f"m{n:02d}", tries=1) for n in range(12)]
        async with clients_of(tmp_path, *endpoints) as clients:
            sandbox = Sandbox()
            search.__dict__["panel"] = Panel("b", 1, clients, PromptBook(None), Grader(sandbox))
            runtime: Any = SimpleNamespace(context=search)
            state: Any = {"plan": {"c": 2}, "asked": {}}
            try:
                for number in range(times):
                    await answer(
                        {**state, "plan": {"c": 2 * (number + 1)}, "asked": {"c": 2 * number}}, runtime
                    )
            finally:
                sandbox.close()
    return search, events, fake


async def test_a_member_that_dies_leaves_its_attempts_missing_and_is_asked_no_more(tmp_path: Path) -> None:
    search, events, fake = await answered(tmp_path, 3, REFUSED, times=3)
    rows = search.pool.attempts("x")
    missing = {row.model: row.reason for row in rows if row.outcome == "missing"}
    assert missing == dict.fromkeys(("m00", "m01", "m02"), "bad_key")
    assert len(rows) == 12 * 6
    assert {row.outcome for row in rows if row.model not in missing} == {"correct"}
    said = [event["message"] for event in events if event["event"] == "stage"]
    assert [message.split()[0] for message in said] == ["m00", "m01", "m02"]
    # Both attempts of the first block were out together; after them nobody asks again.
    assert all(chats(fake).count(model) <= 2 for model in missing)


async def test_with_too_few_left_the_run_pauses_and_keeps_no_missing_attempts(tmp_path: Path) -> None:
    with pytest.raises(RunPaused, match=r"Only 5 of 12 models of the pool are left \(m00: bad_key") as caught:
        await answered(tmp_path, 7, REFUSED)
    assert caught.value.exit_code == 5
    assert "benchfill resume r" in caught.value.remedy


async def test_a_failure_of_a_single_call_is_no_death(tmp_path: Path) -> None:
    flagged = Response({"error": {"message": "This text was flagged"}}, status=403)
    search, events, _ = await answered(tmp_path, 7, flagged)
    assert search.panel.down == {}
    assert events == []
