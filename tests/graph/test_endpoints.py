"""Who is asked: the pool matched with the log, keys from variables, one limit a server."""

from __future__ import annotations

from typing import Any

import pytest

from benchfill.errors import InputError
from benchfill.graph.endpoints import (
    configured_pool,
    configured_roles,
    hosts_of,
    least_left,
    with_todays_connections,
)
from benchfill.graph.models import open_models
from benchfill.settings import Settings
from benchfill.tools.meter import Meter
from tests.tools.test_roles_over_http import NoLedger

KEY = "sk-planted0123456789abcdefghij"
LOG = [f"m{number}" for number in range(8)]


def entry(model: str, **options: Any) -> dict[str, Any]:
    return {"base_url": "http://127.0.0.1:8000/v1", "model": model, **options}


def settings(pool: list[dict[str, Any]], **sections: Any) -> Settings:
    roles = {"rewriter": entry("r"), "judge": entry("j")}
    return Settings.model_validate({**roles, "pool": pool, **sections})


def six(**options: Any) -> list[dict[str, Any]]:
    return [entry(f"m{number}", **options) for number in range(6)]


def test_entries_are_matched_by_model_name_or_log_name() -> None:
    pool = [*six()[:4], entry("x", name="m4"), entry("served", name="mine", log_name="m7")]
    roles = configured_roles(settings(pool), LOG)
    assert {name: (each.name, each.model) for name, each in roles.pool.items()} == {
        **{f"m{n}": (f"m{n}", f"m{n}") for n in range(4)},
        "m4": ("m4", "x"),
        "m7": ("mine", "served"),
    }


def test_an_entry_that_is_not_in_the_log_is_named() -> None:
    with pytest.raises(InputError, match=r"Pool entry m9 is no model of the response log\.") as caught:
        configured_roles(settings([*six(), entry("m9")]), LOG)
    assert caught.value.kind == "unmatched_pool"
    with pytest.raises(InputError, match="Pool entry a is no model of the response log under the name b"):
        configured_roles(settings([*six(), entry("a", log_name="b")]), LOG)


def test_fewer_than_six_are_refused() -> None:
    with pytest.raises(InputError, match="5 of the log's 8 models; a search needs at least 6") as caught:
        configured_roles(settings(six()[:5]), LOG)
    assert caught.value.kind == "small_pool"
    assert len(configured_roles(settings(six()), LOG).pool) == 6


@pytest.mark.parametrize("role", ["rewriter", "judge", "pool"])
def test_a_role_that_is_not_configured_is_named(role: str) -> None:
    whole = settings(six()).model_dump()
    lacking = Settings.model_validate({**whole, role: () if role == "pool" else None})
    with pytest.raises(InputError, match=rf"no \[+{role}\]+\."):
        configured_roles(lacking, LOG)


def test_parameters_reach_the_endpoint() -> None:
    options = {
        "temperature": 0.3, "top_p": 0.9, "max_tokens": 50, "reasoning_effort": "low",
        "extra_body": {"top_k": 5}, "tool_mode": "text", "timeout": 7.0, "price_in": 1.0, "price_out": 2.0,
        "send_seed": True, "send_reasoning": True,
    }  # fmt: skip
    endpoint = configured_roles(settings(six(**options)), LOG).pool["m0"]
    for field in set(options) - {"reasoning_effort", "extra_body"}:
        assert getattr(endpoint, field) == options[field]
    assert endpoint.extra_body == {"reasoning_effort": "low", "top_k": 5}
    plain = configured_roles(settings(six(), search={"timeout": 33.0}), LOG).pool["m0"]
    assert (plain.timeout, plain.send_seed, plain.tool_mode, plain.api_key) == (33.0, False, "auto", None)


def test_keys_come_from_variables_and_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", f" {KEY}\n")
    given = settings(six(api_key_env="THE_KEY"))
    roles = configured_roles(given, LOG)
    assert roles.pool["m0"].api_key == KEY
    assert KEY not in repr(roles) + str(roles) + repr(given) + given.model_dump_json()
    monkeypatch.delenv("THE_KEY")
    with pytest.raises(InputError, match="THE_KEY is not set") as caught:
        configured_pool(given)
    assert caught.value.kind == "missing_key"
    monkeypatch.setenv("THE_KEY", f"{KEY} two")
    with pytest.raises(InputError, match="characters that no key has") as caught:
        configured_pool(given)
    assert KEY not in str(caught.value)


async def test_all_models_of_one_server_share_one_limit() -> None:
    far = {"base_url": "https://far.example/v1", "concurrency": 3, "requests_per_minute": 20.0}
    pool = [*six(), {**entry("m6"), **far}, {**entry("m7"), "base_url": "https://FAR.example/v1/"}]
    roles = configured_roles(settings(pool, search={"concurrency": 9}), LOG)
    assert sorted(roles.limits) == ["http://127.0.0.1:8000/v1", "https://far.example/v1"]
    models = open_models(roles, ledger=NoLedger(), run="r", meter=Meter())
    limits = {client.endpoint.name: client._limit for client in models.everyone()}
    assert len({id(limit) for limit in limits.values()}) == 2
    assert limits["m6"] is limits["m7"]
    assert limits["rewriter"] is limits["judge"] is limits["m0"]
    assert (limits["m7"]._value, limits["m0"]._value) == (3, 9)
    assert [client.role for client in models.everyone()] == ["rewriter", "judge", *["pool"] * 8]
    await models.close()


def test_hosts() -> None:
    far = entry("m6", base_url="https://far.example/v1")
    assert hosts_of(settings([*six(), far])) == ["127.0.0.1:8000", "far.example"]


def test_a_resumed_run_takes_todays_connections_and_keeps_what_it_asks() -> None:
    stored = settings(six(temperature=0.5, price_in=1.0, price_out=1.0), search={"rounds": 3})
    moved = [{**each, "base_url": "http://127.0.0.1:9000/v1", "temperature": 0.9} for each in six()[:2]]
    today = Settings.model_validate({"pool": moved, "tracing": {"enabled": True}, "search": {"rounds": 7}})
    merged = with_todays_connections(stored, today)
    assert [each.base_url[-7:-3] for each in merged.pool] == ["9000", "9000", "8000", "8000", "8000", "8000"]
    assert {each.temperature for each in merged.pool} == {0.5}
    assert merged.pool[0].price_in is None
    assert merged.pool[5].price_in == 1.0
    assert merged.search.rounds == 3
    assert merged.tracing.enabled
    assert merged.rewriter == stored.rewriter
    # From a folder without a file everything is as it was, but for tracing, which nobody asked for today.
    assert with_todays_connections(stored, Settings()) == stored
    traced = Settings.model_validate({**stored.model_dump(), "tracing": {"enabled": True}})
    assert not with_todays_connections(traced, Settings()).tracing.enabled


@pytest.mark.parametrize(
    ("models", "minimum", "needed"), [(12, 6, 6), (14, 6, 7), (6, 6, 6), (8, 4, 4), (3, 6, 3), (20, 2, 10)]
)
def test_how_many_must_be_left(models: int, minimum: int, needed: int) -> None:
    assert least_left(models, minimum) == needed
