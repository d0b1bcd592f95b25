"""Tracing variables of the user's shell count when the settings say so, and never by themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from benchfill.tools.tracing import apply_tracing, set_tracing


@pytest.fixture(autouse=True)
def off_afterwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "lsv2_x")
    monkeypatch.setenv("LANGCHAIN_PROJECT", "p")
    yield
    set_tracing(False)


def seen() -> dict[str, str]:
    return {
        name: value for name, value in os.environ.items() if name.startswith(("LANGSMITH_", "LANGCHAIN_"))
    }


def traced() -> bool:
    """Whether langsmith itself would trace a run now."""
    from langsmith.utils import tracing_is_enabled

    return bool(tracing_is_enabled())


def test_without_a_word_of_the_settings_nothing_is_traced() -> None:
    apply_tracing()
    assert seen() == {}
    assert not traced()


def test_with_it_the_variables_are_as_the_user_set_them() -> None:
    set_tracing(False)
    assert not traced()
    set_tracing(True)
    assert seen() == {
        "LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "lsv2_x", "LANGCHAIN_PROJECT": "p",
    }  # fmt: skip
    assert traced()
    # Clients that are opened later change nothing of it.
    apply_tracing()
    assert traced()
    set_tracing(False)
    assert seen() == {}
    assert not traced()


def test_the_settings_alone_trace_nothing_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    set_tracing(True)
    assert not traced()
