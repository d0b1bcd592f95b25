"""The clients of one run: behind one ledger and one meter, with one limit a server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchfill.endpoint_settings import server_of
from benchfill.graph.endpoints import Roles
from benchfill.tools.client import ModelClient
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.exchange import CallLedger
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter

__all__ = ["Models", "desk_models", "open_clients", "open_models"]


@dataclass(frozen=True, slots=True)
class Models:
    """Everything that can be asked in a search.

    Parameters
    ----------
    respondents
        By the model's name in the response log.
    grader
        The last resort of grading, None where none is configured.
    """

    rewriter: ModelClient
    judge: ModelClient
    respondents: Mapping[str, ModelClient]
    grader: ModelClient | None = None

    def everyone(self) -> list[ModelClient]:
        """All clients: rewriter, judge, grader, then the pool by name."""
        return [*self.structured(), *(self.respondents[name] for name in sorted(self.respondents))]

    def structured(self) -> list[ModelClient]:
        """Those whose replies are calls of tools: rewriter, judge and grader."""
        return [self.rewriter, self.judge, *([] if self.grader is None else [self.grader])]

    async def close(self) -> None:
        await asyncio.gather(*(client.aclose() for client in self.everyone()))


def open_models(roles: Roles, *, ledger: CallLedger, run: str, meter: Meter) -> Models:
    """Clients of all roles of a search."""

    def client(role: str, endpoint: Endpoint) -> ModelClient:
        return open_clients(role, {role: endpoint}, roles.limits, ledger=ledger, run=run, meter=meter)[role]

    return Models(
        rewriter=client("rewriter", roles.rewriter),
        judge=client("judge", roles.judge),
        respondents=open_clients("pool", roles.pool, roles.limits, ledger=ledger, run=run, meter=meter),
        grader=None if roles.grader is None else client("grader", roles.grader),
    )


def desk_models(
    rewriter: Endpoint,
    judge: Endpoint,
    pool: Mapping[str, Endpoint],
    grader: Endpoint | None,
    *,
    ask: Callable[[Any], Awaitable[Any]],
    limits: Mapping[str, int],
    meter: Meter,
) -> Models:
    """Clients of a worker: what they send goes to a desk that has ledger, limits, budget and keys.

    Parameters
    ----------
    ask
        The way to the desk.
    limits
        Calls in flight at most, by server.
    """
    from benchfill.tools.desk_transport import DeskTransport

    # The limits of a server hold at the desk; here they only keep a call in its place between two tries.
    gates = {server: ServerLimit(concurrency) for server, concurrency in limits.items()}

    def client(role: str, endpoint: Endpoint) -> ModelClient:
        return ModelClient(
            endpoint,
            role=role,
            run="",
            limit=gates[server_of(endpoint.base_url)],
            meter=meter,
            transport=DeskTransport(ask, endpoint=endpoint, role=role),
        )

    return Models(
        rewriter=client("rewriter", rewriter),
        judge=client("judge", judge),
        respondents={name: client("pool", endpoint) for name, endpoint in pool.items()},
        grader=None if grader is None else client("grader", grader),
    )


def open_clients(
    role: str,
    endpoints: Mapping[str, Endpoint],
    limits: Mapping[str, ServerLimit],
    *,
    ledger: CallLedger,
    run: str,
    meter: Meter,
) -> dict[str, ModelClient]:
    """A client an endpoint, in one role; those of one server share its limit."""
    return {
        name: ModelClient(
            endpoint,
            ledger=ledger,
            role=role,
            run=run,
            limit=limits[server_of(endpoint.base_url)],
            meter=meter,
        )
        for name, endpoint in endpoints.items()
    }
