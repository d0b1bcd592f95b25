"""Settings: which source wins, what is refused, and that a refusal names the line of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchfill.endpoint_settings import is_loopback
from benchfill.errors import InputError
from benchfill.settings import Settings, load_settings
from benchfill.settings_file import line_of

# Planted where a key must never be: it may not be repeated in any message.
KEY = "sk-planted0123456789abcdefghij"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str) -> None:
    Path("benchfill.toml").write_text(text, encoding="utf-8")


GOOD = """\
[rewriter]
base_url = "https://api.openai.com/v1"
model = "r"
api_key_env = "OPENAI_API_KEY"
temperature = 0.2

[judge]
base_url = "https://api.openai.com/v1"
model = "j"

[[pool]]
base_url = "http://127.0.0.1:8000/v1"
model = "a"

[[pool]]
name = "a cool"
log_name = "a-in-the-log"
base_url = "http://[::1]:8000/v1"
model = "a"
temperature = 0.0
extra_body = { chat_template_kwargs = { enable_thinking = false } }

[budget]
max_time = "1.5h"
"""


def test_a_file_is_read() -> None:
    write(GOOD)
    settings = load_settings()
    assert settings.rewriter is not None
    assert settings.rewriter.api_key_env == "OPENAI_API_KEY"
    assert [entry.label for entry in settings.pool] == ["a", "a cool"]
    assert [entry.in_log for entry in settings.pool] == ["a", "a-in-the-log"]
    assert settings.budget.max_time == 5400.0
    assert Settings.model_validate(settings.model_dump(mode="json")) == settings


def test_flags_win_over_the_environment_over_the_file_over_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().search.rounds == 10
    write(GOOD + "[search]\nrounds = 3\ncandidates = 2\n")
    assert load_settings().search.rounds == 3
    monkeypatch.setenv("BENCHFILL_SEARCH__ROUNDS", "4")
    monkeypatch.setenv("BENCHFILL_REWRITER__TEMPERATURE", "0.9")
    settings = load_settings()
    assert (settings.search.rounds, settings.search.candidates) == (4, 2)
    assert settings.rewriter is not None
    assert (settings.rewriter.temperature, settings.rewriter.model) == (0.9, "r")
    assert load_settings(search={"rounds": 5}).search.rounds == 5


def test_stored_settings_are_not_mixed_with_those_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = load_settings().model_dump(mode="json")
    write(GOOD)
    monkeypatch.setenv("BENCHFILL_SEARCH__ROUNDS", "4")
    assert Settings.model_validate(stored) == Settings()


POOL = '[[pool]]\nmodel = "a"\nbase_url = "http://127.0.0.1/v1"\n'

# The faulty line is the one that ends in "#!".
REFUSED = {
    "unknown key": ("[search]\nrounds = 3\nroundz = 3 #!\n", "the nearest name is rounds"),
    "unknown section": ("[serch] #!\nrounds = 3\n", "the nearest name is search"),
    "impossible value": ("[search]\n\n# how many\nrounds = 0 #!\n", "greater than or equal to 1"),
    "wrong type": ('[search]\nrounds = "many" #!\n', "valid integer"),
    "unknown key of a pool entry": (POOL + POOL.replace('"a"', '"b"') + "top_k = 3 #!\n", "pool.2.top_k"),
    "missing model": (
        POOL + '[[pool]] #!\nbase_url = "http://127.0.0.1/v1"\n',
        "pool.2.model: Field required",
    ),
    "temperature": (POOL + "temperature = 3 #!\n", "less than or equal to 2"),
    "tool mode": (POOL + 'tool_mode = "xml" #!\n', "'tools', 'json_schema' or 'text'"),
    "key as a variable": (POOL + f'api_key_env = "{KEY}" #!\n', "looks like a key"),
    "hex key as a variable": (POOL + 'api_key_env = "a0123456789abcdef0123456789abcde" #!\n', "like a key"),
    "not a variable": (POOL + 'api_key_env = "my key" #!\n', "no name of a variable"),
    "the key itself": (POOL + f'api_key = "{KEY}" #!\n', "api_key_env names the variable"),
    "key in the body": (
        POOL + f'extra_body = {{ a = [ {{ key = "{KEY}" }} ] }} #!\n',
        "looks like a key",
    ),
    "field of ours in the body": (POOL + "extra_body = { seed = 3 } #!\n", "seed is set by BenchFill itself"),
    "user in the address": (f'[judge]\nmodel = "j"\nbase_url = "https://u:{KEY}@h/v1" #!\n', "no user, key"),
    "key in the address": (f'[judge]\nmodel = "j"\nbase_url = "https://h/v1?key={KEY}" #!\n', "no user, key"),
    "no address": ('[judge]\nmodel = "j"\nbase_url = "api.openai.com" #!\n', "no http(s) address"),
    "plain http": ('[judge]\nmodel = "j"\nbase_url = "http://10.0.0.1/v1" #!\n', "allow_http = true"),
    "one price": (POOL.replace("]]\n", "]] #!\n") + "price_in = 1.0\n", "given together"),
    "same name": (POOL + POOL.replace("]]\n", "]] #!\n") + "temperature = 0.5\n", "needs a name of its own"),
    "same name given": (
        POOL + '[[pool]]\nname = "a" #!\nmodel = "b"\nbase_url = "http://localhost/v1"\n',
        "too",
    ),
    "same model of the log": (POOL + POOL + 'name = "b"\ntemperature = 0.5\nlog_name = "a" #!\n', "log too"),
    "same way of asking": (POOL + POOL.replace("]]\n", "]] #!\n") + 'name = "b"\n', "count twice"),
    "two limits": (
        POOL + "concurrency = 4\n" + POOL + 'name = "b"\ntemperature = 1\nconcurrency = 8 #!\n',
        "4 was given for this server",
    ),
    "duration": ('[budget]\nmax_time = "soon" #!\n', "no duration"),
    "after a long value": (
        '[world]\nx = """\n[search]\nrounds = 0\n"""\n[search]\nrounds = -1 #!\n',
        "rounds",
    ),
    "inside a long value": ("[search]\nrounds = 3\n[budget]\nmax_calls = [ #!\n  1,\n]\n", "max_calls"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_line(name: str) -> None:
    text, expected = REFUSED[name]
    write(text)
    line = next(number for number, each in enumerate(text.splitlines(), start=1) if each.endswith("#!"))
    with pytest.raises(InputError) as caught:
        load_settings()
    assert f"benchfill.toml line {line}: " in str(caught.value)
    assert expected in str(caught.value)
    assert caught.value.lines == (line,)
    assert KEY not in str(caught.value)
    assert "0123456789" not in str(caught.value)


def test_what_is_no_toml_names_the_line_too() -> None:
    write("[search]\nrounds = \n")
    with pytest.raises(InputError, match="line 2") as caught:
        load_settings()
    assert caught.value.lines == (2,)


def test_a_fault_of_the_environment_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    write("[search]\nrounds = 3\n")
    monkeypatch.setenv("BENCHFILL_SEARCH__ROUNDS", "0")
    with pytest.raises(InputError, match="BENCHFILL_SEARCH__ROUNDS") as caught:
        load_settings()
    assert caught.value.lines == ()


def test_a_fault_of_a_flag_does_not_blame_the_file() -> None:
    write("[search]\nrounds = 3\n")
    with pytest.raises(InputError, match=r"search\.rounds") as caught:
        load_settings(search={"rounds": 0})
    assert caught.value.lines == ()


def test_plain_http_is_allowed_by_name_only() -> None:
    write('allow_http = true\n[judge]\nmodel = "j"\nbase_url = "http://10.0.0.1/v1"\n')
    assert load_settings().judge is not None
    write('[judge]\nmodel = "j"\nbase_url = "http://10.0.0.1/v1"\n')
    assert load_settings(allow_http=True).judge is not None


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.3.2.1", "::1"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["localhost.example.org", "10.0.0.1", "192.168.0.1", "127.0.0.1.example.org", ""]
)
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_dotted_keys_and_inline_tables_have_lines() -> None:
    text = 'search.rounds = 3\nbudget = { max_calls = 3 }\n# a\n"judge".model = "x"\n'
    assert line_of(text, ("search", "rounds")) == 1
    assert line_of(text, ("budget", "max_calls")) == 2
    assert line_of(text, ("judge", "model")) == 4
    assert line_of(text, ("judge", "base_url")) == 4
    assert line_of(text, ("pool", 0)) is None
