"""Is a server there, does it take the key, which models does it say it has: one free request."""

from __future__ import annotations

import asyncio
import email.utils
import json
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx2

from benchfill.tools.endpoint import Endpoint
from benchfill.tools.wire import inner_transport

__all__ = ["Reach", "reach"]

SECONDS = 20.0
# One refused connection may be a server that is just being restarted.
AGAIN_AFTER = 1.0


@dataclass(frozen=True, slots=True)
class Reach:
    """What one ``GET /models`` told.

    Parameters
    ----------
    fault
        Empty, or ``unreachable``, ``timeout``, ``bad_key``.
    listed
        Names of the models that the server lists; None when it lists none.
    skew
        Seconds by which this machine's clock is ahead of the server's; None when it sent no date.
    """

    fault: str
    listed: frozenset[str] | None = None
    skew: float | None = None


async def reach(endpoint: Endpoint) -> Reach:
    """Ask a server for its models; nothing of that is billed. Never raises for what the server does."""
    headers = {"accept": "application/json"}
    if endpoint.api_key:
        headers["authorization"] = f"Bearer {endpoint.api_key}"
    url = endpoint.base_url.rstrip("/") + "/models"
    transport = inner_transport(endpoint)
    async with httpx2.AsyncClient(transport=transport, timeout=min(SECONDS, endpoint.timeout)) as client:
        fault = ""
        for wait in (AGAIN_AFTER, 0.0):
            try:
                async with asyncio.timeout(SECONDS):
                    response = await client.get(url, headers=headers)
                return _read(response)
            except (TimeoutError, httpx2.TimeoutException):
                return Reach("timeout")
            except (httpx2.TransportError, httpx2.DecodingError):
                fault = "unreachable"
                await asyncio.sleep(wait)
        return Reach(fault)


def _read(response: httpx2.Response) -> Reach:
    skew = _skew(response.headers.get("date", ""))
    if response.status_code == 401:
        return Reach("bad_key", None, skew)
    if response.status_code != 200:
        # Not every server has the list, and some keep it from keys that may chat.
        return Reach("", None, skew)
    try:
        data = json.loads(response.content)["data"]
        listed = frozenset(entry["id"] for entry in data if isinstance(entry.get("id"), str))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Reach("", None, skew)
    return Reach("", listed or None, skew)


def _skew(date: str) -> float | None:
    try:
        theirs = email.utils.parsedate_to_datetime(date)
    except ValueError:
        return None
    if theirs.tzinfo is None:
        theirs = theirs.replace(tzinfo=UTC)
    return (datetime.now(UTC) - theirs).total_seconds()
