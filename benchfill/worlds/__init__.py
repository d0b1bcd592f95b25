"""The worlds of the embedded endpoint, and what names them.

`world_name` is the endpoint's part of a ledger key: it holds the world's version and all that shapes its replies,
never a port, so that a reply is found again exactly as long as the same world would give it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

__all__ = ["WORLD_VERSION", "world_name"]

# Raised with every change after which some request gets another reply.
WORLD_VERSION = "1"


def world_name(config: Mapping[str, Any]) -> str:
    """Stable name of the world a configuration describes, e.g. ``embedded-simulated-1-1a2b3c4d5e6f``."""
    given = dict(config.get("settings") or {})
    # Delays and faults come between a reply and who asked for it; they do not change it.
    settings = {k: v for k, v in given.items() if k != "latency_ms" and not k.startswith("fault_")}
    shaping = {**config, "settings": settings}
    text = json.dumps(shaping, sort_keys=True, ensure_ascii=True)
    return f"embedded-{config.get('world', 'simulated')}-{WORLD_VERSION}-{sha256(text.encode()).hexdigest()[:12]}"
