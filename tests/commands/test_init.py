"""``benchfill init``: the file that is written is one that can be read, with every example in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from benchfill.settings import load_settings
from tests.commands.conftest import Said


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_written_file_is_valid_and_names_every_kind_of_server(benchfill: Callable[..., Said]) -> None:
    said = benchfill("init")
    assert said.code == 0
    settings = load_settings()
    hosts = {endpoint.base_url.split("/")[2] for _, endpoint in settings.endpoints()}
    assert hosts >= {
        "api.openai.com", "127.0.0.1:8000", "127.0.0.1:30000", "127.0.0.1:11434", "127.0.0.1:8080",
        "api.minimax.io", "api.deepseek.com", "openrouter.ai",
    }  # fmt: skip
    assert len(settings.pool) >= 6
    text = Path("benchfill.toml").read_text(encoding="utf-8")
    for server in ("OpenAI", "vLLM", "SGLang", "Ollama", "llama.cpp", "MiniMax", "DeepSeek", "OpenRouter"):
        assert f"# {server}" in text


def test_what_is_commented_out_in_it_is_valid_too(benchfill: Callable[..., Said]) -> None:
    benchfill("init")
    path = Path("benchfill.toml")
    text = path.read_text(encoding="utf-8")
    uncommented = re.sub(r"^# (\w+ = |\[)", r"\1", text, flags=re.MULTILINE)
    path.write_text(uncommented, encoding="utf-8")
    settings = load_settings()
    assert settings.grader is not None
    assert settings.budget.max_time == 8 * 3600
    assert settings.search.prompts == Path("my-prompts")
    assert [entry.in_log for entry in settings.pool][-1] == "meta-llama/Llama-3.1-8B-Instruct"
    assert text.count("\n# ") > 20
    # Nothing that looks like a setting is left out of this check.
    assert not re.search(r"^#\s*\w+ = ", uncommented, flags=re.MULTILINE)


def test_a_file_that_is_there_is_kept_unless_forced(benchfill: Callable[..., Said]) -> None:
    Path("benchfill.toml").write_text("[search]\nrounds = 3\n")
    said = benchfill("init")
    assert (said.code, said.out) == (2, "")
    assert "--force" in said.err
    assert load_settings().search.rounds == 3
    assert benchfill("init", "--force").code == 0
    assert load_settings().search.rounds == 10
