"""``benchfill run`` with endpoints of benchfill.toml: what is refused before anything is asked or written."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from benchfill.logs.responses import read_responses
from tests.commands.conftest import Said

SAMPLE = Path(str(files("benchfill.worlds.simulated") / "sample"))
ROLES = "".join(
    f'[{role}]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "{role}"\n' for role in ("rewriter", "judge")
)
MODELS = read_responses(SAMPLE / "responses.csv").log.models


def entry(model: str, more: str = "") -> str:
    return f'[[pool]]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "{model}"\n{more}'


def pool(count: int = 6, more: str = "") -> str:
    return "".join(entry(model, more) for model in MODELS[:count])


@pytest.fixture
def refused(
    benchfill: Callable[..., Said], own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)

    def run(toml: str, *flags: str, responses: bool = True) -> str:
        Path("benchfill.toml").write_text(toml, encoding="utf-8")
        log = ["--responses", str(SAMPLE / "responses.csv")] if responses else []
        said = benchfill("run", "--items", str(SAMPLE / "items.jsonl"), *log, "--name", "r", *flags)
        assert (said.code, said.out) == (2, "")
        assert not (own_home / "runs" / "r").exists()
        return said.err

    return run


def test_an_entry_that_the_log_does_not_know(refused: Callable[..., str]) -> None:
    err = refused(ROLES + pool() + entry("stranger"))
    assert "Pool entry stranger is no model of the response log" in err
    assert MODELS[0] in err


def test_a_pool_that_is_too_small(refused: Callable[..., str]) -> None:
    assert f"5 of the log's {len(MODELS)} models; a search needs at least 6" in refused(ROLES + pool(5))


def test_a_role_that_is_missing(refused: Callable[..., str]) -> None:
    assert "has no [rewriter] and no [judge]" in refused(pool())


def test_a_key_that_is_not_there(refused: Callable[..., str]) -> None:
    assert "the variable NO_SUCH_KEY is not set" in refused(
        ROLES + pool(more='api_key_env = "NO_SUCH_KEY"\n')
    )


def test_a_line_of_the_file_that_is_wrong(refused: Callable[..., str]) -> None:
    assert "benchfill.toml line 4: rewriter.temprature: there is no such setting" in refused(
        ROLES.replace("[judge]", "temprature = 1\n[judge]") + pool()
    )


def test_plain_http_to_another_machine(refused: Callable[..., str]) -> None:
    far = (ROLES + pool()).replace("127.0.0.1:9", "models.invalid")
    assert "--allow-http" in refused(far)
    # With leave it goes on to the next fault.
    assert "Pool entry stranger" in refused(far + entry("stranger"), "--allow-http")
