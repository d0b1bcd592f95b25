"""Before anything is spent: does every endpoint answer, take its key and know its model, and in which tool mode?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from benchfill.endpoint_settings import server_of
from benchfill.errors import BenchfillError, CallFailed, EndpointDown, InputError, RunPaused
from benchfill.graph.endpoints import least_left
from benchfill.graph.models import Models
from benchfill.graph.search import Emit
from benchfill.memory.pool import Pool
from benchfill.memory.records import RunRow
from benchfill.settings import Settings
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.reaching import Reach, reach

__all__ = [
    "check_before_work",
    "find_all_faults",
    "find_faults",
    "find_tool_modes",
    "refuse_faults",
    "remedy_for",
]

READY = [{"role": "user", "content": "Reply with the word: ready"}]

REMEDIES = {
    "bad_key": "Check the key: the variable that api_key_env names.",
    "unknown_model": "Check the model's name in benchfill.toml.",
    "not_found": "Check base_url, as a rule it ends in /v1, and the model's name in benchfill.toml.",
    "no_credit": "The account behind the key has no credit.",
    "unreachable": "Is the server running, and is base_url its address?",
    "timeout": "Is the server overloaded or still loading a model? `timeout` of the endpoint allows more.",
    "not_json": "Is base_url the address of an API? As a rule it ends in /v1.",
    "no_tool_mode": "This model cannot do the work of this role; configure another.",
}
WHAT = {"bad_key": "the key is refused", "timeout": "no reply in time"}
# What only another setting changes: the exit code is that of a usage error.
OF_THE_SETTINGS = frozenset({"bad_key", "unknown_model", "not_found", "not_json", "no_tool_mode"})


def remedy_for(reason: str) -> str:
    """What to do about a fault of an endpoint."""
    return REMEDIES.get(reason, "`benchfill doctor` looks at every endpoint.")


async def check_before_work(pool: Pool, run: RunRow, models: Models, settings: Settings, emit: Emit) -> None:
    """Refuse to begin with an endpoint that cannot work, and go on without members of the pool that have died.

    Raises
    ------
    InputError
        A key, a model or an address is wrong (kind: the fault).
    RunPaused
        The run began earlier, and too few of its pool are left.
    BenchfillError
        An endpoint cannot be reached, or does not answer.
    """
    emit("stage", name="probe", message="looking at the endpoints", fraction=None)
    faults = await find_faults(models.everyone())
    go_on = f"benchfill resume {run.id}"
    members = {client.endpoint.name for client in models.respondents.values()}
    if pool.scale() is not None and set(faults) <= members:
        for name in sorted(faults):
            emit("stage", name="probe", message=f"without {faults[name].message}", fraction=None)
        left = len(members) - len(faults)
        if faults and left < least_left(len(members), settings.answer.min_models):
            first = faults[min(faults)]
            raise RunPaused(
                f"Only {left} of {len(members)} models of the pool answer ({first.message}).",
                f"{remedy_for(first.reason)} Then: {go_on}",
            )
    else:
        refuse_faults(faults, go_on=go_on)
    await find_tool_modes(
        models.structured(), lambda message: emit("stage", name="probe", message=message, fraction=None)
    )


def refuse_faults(faults: Mapping[str, CallFailed], *, go_on: str) -> None:
    """Raise the first fault, as what it is.

    Parameters
    ----------
    go_on
        The command that begins again.

    Raises
    ------
    InputError
        A key, a model or an address is wrong (kind: the fault).
    BenchfillError
        An endpoint cannot be reached, or does not answer.
    """
    if not faults:
        return
    first = next(iter(faults.values()))
    more = f" {len(faults) - 1} more endpoints fail too." if len(faults) > 1 else ""
    remedy = f"{remedy_for(first.reason)}{more} Then: {go_on}"
    if first.reason in OF_THE_SETTINGS:
        raise InputError(f"{first.message}.", remedy, kind=first.reason)
    raise BenchfillError(f"{first.message}.", remedy)


async def find_faults(clients: Sequence[ModelClient]) -> dict[str, CallFailed]:
    """What is wrong with each endpoint that cannot work, by its name.

    Servers are asked for their models first, which costs nothing. Where that leaves a doubt whether a model or a key is
    right, one short question is asked: the doubtful models first, and only when they are fine one question a
    key. With a fault anywhere nothing more is asked.
    """
    reached = await _reach_servers([client.endpoint for client in clients])
    faults: dict[str, CallFailed] = {}
    for client in clients:
        found = reached[_door(client.endpoint)]
        if found.fault:
            what = WHAT.get(found.fault, "no connection")
            message = f"{client.endpoint.name}: {what} ({urlsplit(client.endpoint.base_url).netloc})"
            faults[client.endpoint.name] = EndpointDown(message, found.fault)
    if faults:
        return faults
    doubtful = [client for client in clients if not _is_listed(client.endpoint, reached)]
    faults = await _ask_all(doubtful)
    if faults:
        return faults
    # Several servers show their list to everybody.
    proven = {_door(client.endpoint) for client in doubtful}
    keyed = {_door(each.endpoint): each for each in clients if each.endpoint.api_key is not None}
    return await _ask_all([client for door, client in keyed.items() if door not in proven])


async def find_all_faults(clients: Sequence[ModelClient]) -> dict[str, CallFailed]:
    """As :func:`find_faults`, asking on among those that are left until none of them fails."""
    faults: dict[str, CallFailed] = {}
    while True:
        found = await find_faults([client for client in clients if client.endpoint.name not in faults])
        if not found:
            return faults
        faults |= found


async def _reach_servers(endpoints: Sequence[Endpoint]) -> dict[tuple[str, str | None], Reach]:
    doors = {_door(endpoint): endpoint for endpoint in endpoints}
    found = await asyncio.gather(*(reach(endpoint) for endpoint in doors.values()))
    return dict(zip(doors, found, strict=True))


def _door(endpoint: Endpoint) -> tuple[str, str | None]:
    return server_of(endpoint.base_url), endpoint.api_key


def _is_listed(endpoint: Endpoint, reached: Mapping[tuple[str, str | None], Reach]) -> bool:
    listed = reached[_door(endpoint)].listed
    return listed is not None and endpoint.model in listed


async def _ask_all(clients: Sequence[ModelClient]) -> dict[str, CallFailed]:
    # A question of its own each time: an answer of the ledger says nothing of today.
    tag = f"probe/{time.time_ns()}"

    async def ask(client: ModelClient) -> CallFailed | None:
        try:
            await client.ask(READY, seed=0, tag=tag)
        except CallFailed as fault:
            return fault
        return None

    found = await asyncio.gather(*(ask(client) for client in clients))
    return {client.endpoint.name: fault for client, fault in zip(clients, found, strict=True) if fault}


async def find_tool_modes(clients: Sequence[ModelClient], say: Callable[[str], None]) -> None:
    """Settle how these are asked for structured replies, where the settings leave it open.

    Parameters
    ----------
    say
        Told what was found.

    Raises
    ------
    InputError
        A model gives structured replies in no mode (kind ``no_tool_mode``).
    CallFailed
        The endpoint does not answer.
    """
    from benchfill.tools.tool_modes import probe

    for client in clients:
        if client.endpoint.tool_mode != "auto":
            continue
        try:
            client.mode = await probe(client)
        except CallFailed as fault:
            if fault.reason in OF_THE_SETTINGS:
                raise InputError(f"{fault.message}.", remedy_for(fault.reason), kind=fault.reason) from None
            raise
        say(f"{client.role} {client.endpoint.model}: structured replies as {client.mode}")
