"""How long a call waits before its next try, and what it is when it is given up."""

from __future__ import annotations

import hashlib

from benchfill.errors import CallFailed, EndpointDown, RetryableCall

__all__ = ["given_up", "wait_before"]

FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0


def wait_before(tries: int, after: float | None, seed: int, tag: str) -> float:
    """Seconds before the next try: what the server asked for, at least an exponential backoff with jitter."""
    # Drawn from the call itself, so that the same run waits the same.
    digest = hashlib.sha256(f"{seed}:{tag}:{tries}".encode("utf-8", "surrogatepass")).digest()
    jitter = int.from_bytes(digest[:4], "big") / 2**32
    backoff = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (tries - 1)) * (0.5 + 0.5 * jitter)
    return backoff if after is None else max(after, backoff)


def given_up(error: RetryableCall, tries: int) -> CallFailed:
    """The end of a call after its last try."""
    message = f"{error.message} (given up after {tries} {'try' if tries == 1 else 'tries'})"
    # A server that refuses every connection is down for the other calls too.
    kind = EndpointDown if error.reason == "unreachable" else CallFailed
    return kind(message, error.reason)
