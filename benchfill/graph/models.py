"""The clients of one run: rewriter, judge and the pool, behind one limit and one ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchfill.memory.ledger import Ledger
from benchfill.settings import SearchSettings
from benchfill.tools.client import Endpoint, ModelClient
from benchfill.tools.limits import ServerLimit
from benchfill.tools.meter import Meter

__all__ = ["Models", "open_models"]


@dataclass(frozen=True, slots=True)
class Models:
    """Everything that can be asked."""

    rewriter: ModelClient
    judge: ModelClient
    respondents: Mapping[str, ModelClient]
    limit: ServerLimit
    ledger: Ledger

    async def close(self) -> None:
        clients = (self.rewriter, self.judge, *self.respondents.values())
        await asyncio.gather(*(client.aclose() for client in clients))
        self.ledger.close()


def open_models(
    base_url: str,
    *,
    ledger_name: str,
    ledger_path: Path,
    run: str,
    pool_models: Sequence[str],
    settings: SearchSettings,
    meter: Meter,
) -> Models:
    """Clients of the embedded endpoint for all roles."""
    ledger = Ledger(ledger_path)
    limit = ServerLimit(settings.concurrency)

    def client(role: str, model: str) -> ModelClient:
        endpoint = Endpoint(
            name=model,
            base_url=base_url,
            model=model,
            ledger_name=ledger_name,
            timeout=settings.timeout,
            send_seed=True,
        )
        return ModelClient(endpoint, ledger=ledger, role=role, run=run, limit=limit, meter=meter)

    return Models(
        rewriter=client("rewriter", "rewriter"),
        judge=client("judge", "judge"),
        respondents={model: client("pool", model) for model in pool_models},
        limit=limit,
        ledger=ledger,
    )
