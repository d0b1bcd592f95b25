"""Faults of the embedded endpoint: what real servers do all day, drawn from what is asked and how often."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.responses import Response, StreamingResponse

from benchfill.errors import InputError
from benchfill.worlds.draws import Draws
from benchfill.worlds.settings import FaultSettings

__all__ = ["KINDS", "FaultPlan"]

_JSON = "application/json"


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    body = {"error": {"message": message, "type": "server_error", "param": None, "code": None}}
    return Response(json.dumps(body).encode(), status, media_type=_JSON, headers=dict(headers or {}))


def _page(status: int) -> Response:
    return Response(
        "<html><head><title>gateway</title></head><body>nginx</body></html>", status, media_type="text/html"
    )


async def _hang(answer: bytes, settings: FaultSettings) -> Response:
    await asyncio.sleep(settings.fault_seconds)
    return Response(answer, media_type=_JSON)


async def _drip(answer: bytes, settings: FaultSettings) -> Response:
    async def bytes_of_it() -> AsyncIterator[bytes]:
        for place in range(len(answer)):
            yield answer[place : place + 1]
            await asyncio.sleep(settings.fault_seconds / len(answer))

    return StreamingResponse(bytes_of_it(), media_type=_JSON, headers={"content-length": str(len(answer))})


async def _reset(answer: bytes, settings: FaultSettings) -> Response:
    async def half_of_it() -> AsyncIterator[bytes]:
        yield answer[: len(answer) // 2]
        # The server closes the connection of a reply that breaks off.
        raise ConnectionResetError

    return StreamingResponse(half_of_it(), media_type=_JSON, headers={"content-length": str(len(answer))})


def _renamed(answer: bytes) -> Response:
    body = {**json.loads(answer), "model": "somebody-else"}
    return Response(json.dumps(body).encode(), media_type=_JSON)


def _plain(make: Callable[[bytes], Response]) -> Callable[[bytes, FaultSettings], Any]:
    async def fault(answer: bytes, settings: FaultSettings) -> Response:
        return make(answer)

    return fault


# Names of faults, each made from the reply that would have gone out.
KINDS: dict[str, Callable[[bytes, FaultSettings], Any]] = {
    "rate_limit": _plain(lambda _: _error(429, "Too many requests")),
    "rate_limit_after": _plain(lambda _: _error(429, "Too many requests", {"retry-after-ms": "50"})),
    "server_error": _plain(lambda _: _error(500, "Internal error")),
    "loading": _plain(lambda _: _error(503, "Loading model")),
    "hang": _hang,
    "drip": _drip,
    "reset": _reset,
    "page": _plain(lambda _: _page(502)),
    "sign_in": _plain(lambda _: _page(200)),
    "error_in_200": _plain(lambda _: _error(200, "upstream fell over")),
    "null_choices": _plain(
        lambda _: Response(b'{"id": "x", "choices": null, "usage": null}', media_type=_JSON)
    ),
    "no_choices": _plain(lambda _: Response(b'{"id": "x", "choices": []}', media_type=_JSON)),
    "cut": _plain(lambda answer: Response(answer[: 2 * len(answer) // 3], media_type=_JSON)),
    "other_model": _plain(_renamed),
}


@dataclass(eq=False)
class FaultPlan:
    """Which request goes wrong, and how: drawn from its content and the number of its try.

    Parameters
    ----------
    settings
        Rates and kinds.

    Raises
    ------
    InputError
        A kind of fault is unknown, or the file of bodies cannot be used.
    """

    settings: FaultSettings
    _tries: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        names = [name.strip() for name in self.settings.fault_kinds.split(",") if name.strip()]
        unknown = sorted(set(names) - set(KINDS))
        if unknown:
            raise InputError(f"unknown fault: {unknown[0]}.", f"Known are {', '.join(KINDS)}.")
        # What stays wrong for ever is not among those that are drawn unless it is named.
        self._kinds = names or [name for name in KINDS if name not in ("sign_in", "other_model")]
        self._bodies = self._read_bodies()

    def _read_bodies(self) -> list[dict[str, Any]]:
        if not self.settings.fault_bodies:
            return []
        try:
            lines = Path(self.settings.fault_bodies).read_text(encoding="utf-8").splitlines()
            return [{"status": 200, "type": _JSON, **json.loads(line)} for line in lines]
        except (OSError, ValueError) as error:
            raise InputError(f"the file of fault bodies cannot be used: {error}.") from None

    def rate(self, model: str) -> float:
        """Share of requests to a model that go wrong."""
        role = model if model in ("rewriter", "judge") else "pool"
        own: float = getattr(self.settings, f"fault_rate_{role}")
        return max(self.settings.fault_rate, own)

    async def instead(self, model: str, digest: str, answer: bytes) -> Response | None:
        """What goes out in place of a reply, None when nothing is wrong with this try.

        Parameters
        ----------
        digest
            Of the request; identical requests are tries of one call.
        answer
            The reply that would have gone out.
        """
        self._tries[digest] += 1
        number, rate = self._tries[digest], self.rate(model)
        if not rate:
            return None
        heals = self.settings.fault_heals_after
        # A fault that never heals belongs to the request; one that does is drawn anew at every try.
        doomed = Draws("fault", self.settings.fault_seed, digest, number if heals else 0)
        if doomed.uniform() >= rate or (heals and number > heals):
            return None
        draws = Draws("kind", self.settings.fault_seed, digest, number)
        if self._bodies:
            body = self._bodies[draws.below(len(self._bodies))]
            return Response(body["body"].encode(), body["status"], media_type=body["type"])
        fault: Response = await KINDS[draws.pick(self._kinds)](answer, self.settings)
        return fault
