"""Tracing by LangSmith happens by the user's settings only, never because a variable of their shell says so."""

from __future__ import annotations

import os
import sys

__all__ = ["apply_tracing", "set_tracing"]

_enabled = False
_held: dict[str, str] = {}


def set_tracing(enabled: bool) -> None:
    """Say for this process whether the user's LANGSMITH_* and LANGCHAIN_* variables count; until then they do not."""
    global _enabled
    _enabled = enabled
    apply_tracing()


def apply_tracing() -> None:
    """Hide the variables from this process and its children, or give them back as the user has set them."""
    if _enabled:
        for name in list(_held):
            os.environ.setdefault(name, _held.pop(name))
    else:
        for name in list(os.environ):
            if name.startswith(("LANGSMITH_", "LANGCHAIN_")):
                _held[name] = os.environ.pop(name)
    # Where langsmith is loaded already it may have read them.
    if "langsmith" in sys.modules:
        import langsmith
        from langsmith.utils import get_env_var

        get_env_var.cache_clear()  # type: ignore[attr-defined]
        langsmith.configure(enabled=None if _enabled else False)
