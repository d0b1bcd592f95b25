"""Settings of a model at a server: where it is, how it is asked, what it costs, how hard it may be asked."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

__all__ = [
    "EndpointSettings",
    "PoolEntry",
    "ToolMode",
    "is_loopback",
    "refuse_plain_http",
    "refuse_twins",
    "refuse_two_limits",
    "server_of",
]

# Where an endpoint stands in the settings, e.g. ("pool", 0).
Place = tuple[str | int, ...]

ToolMode = Literal["auto", "tools", "json_schema", "text"]

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# How the keys of well-known providers begin (OpenAI and those who follow it, Groq, Hugging Face, Replicate, Google,
# xAI, NVIDIA, GitHub, JSON web tokens).
KEY_STARTS = (
    "sk-",
    "sk_",
    "gsk_",
    "hf_",
    "r8_",
    "AIza",
    "xai-",
    "nvapi-",
    "ghp_",
    "github_pat_",
    "eyJ",
    "Bearer ",
)
# From here on letters mixed with digits are no name that a person gives.
KEY_LENGTH = 20


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name alone, whatever a resolver says."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def looks_like_a_key(text: str) -> bool:
    """Whether a text is more likely a secret than the name of a variable."""
    if text.startswith(KEY_STARTS):
        return True
    mixed = any(c.isdigit() for c in text) and any(c.isalpha() for c in text)
    spelled = "_" in text and text.upper() == text
    return len(text) >= KEY_LENGTH and mixed and not spelled


def server_of(base_url: str) -> str:
    """What two base URLs of one server have in common: scheme, host, port and path, spelled one way."""
    parts = urlsplit(base_url)
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{parts.path.rstrip('/')}"


def _check_variable(name: str) -> str:
    # The text is never repeated in a message: it may be the key itself.
    if looks_like_a_key(name):
        raise PydanticCustomError(
            "key_in_file",
            "this looks like a key; put the key into a variable of the environment and its name here, "
            "e.g. OPENAI_API_KEY",
        )
    if not VARIABLE.fullmatch(name):
        raise PydanticCustomError(
            "variable_name", "this is no name of a variable (letters, digits and _, e.g. OPENAI_API_KEY)"
        )
    return name


def _check_address(url: str) -> str:
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        parts, port_is_fine = urlsplit(""), False
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        raise PydanticCustomError(
            "base_url", "this is no http(s) address of an API, e.g. https://api.openai.com/v1"
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise PydanticCustomError(
            "base_url", "an address holds no user, key or query; a key goes into the variable of api_key_env"
        )
    return url


def _check_body(body: dict[str, Any]) -> dict[str, Any]:
    for text in _strings(body):
        if text.startswith(KEY_STARTS) and len(text) >= KEY_LENGTH:
            raise PydanticCustomError(
                "key_in_file", "this holds what looks like a key; a key goes into the variable of api_key_env"
            )
    taken = sorted(set(body) & {"model", "messages", "stream", "n", "seed", "tools", "tool_choice"})
    if taken:
        raise PydanticCustomError(
            "extra_body", "{fields} is set by BenchFill itself", {"fields": ", ".join(taken)}
        )
    return body


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


class EndpointSettings(BaseModel):
    """One model at one OpenAI-compatible server."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: Annotated[str, AfterValidator(_check_address)] = Field(
        description="address of the API, as a rule ending in /v1"
    )
    model: str = Field(min_length=1, description="the model's name at that server")
    api_key_env: Annotated[str, AfterValidator(_check_variable)] | None = Field(
        default=None, description="name of the variable that holds the key; unset sends none"
    )
    temperature: float | None = Field(default=None, ge=0, le=2, description="sent when set")
    top_p: float | None = Field(default=None, gt=0, le=1, description="sent when set")
    max_tokens: int | None = Field(
        default=None, ge=1, description="tokens of one reply at most, reasoning included; sent when set"
    )
    reasoning_effort: str | None = Field(
        default=None, min_length=1, description="sent when set, e.g. low, medium, high"
    )
    extra_body: Annotated[dict[str, Any], AfterValidator(_check_body)] = Field(
        default_factory=dict, description="further fields of the request's body"
    )
    tool_mode: ToolMode = Field(
        default="auto",
        description="how structured replies are asked for: tools, json_schema, text; auto probes",
    )
    concurrency: int | None = Field(
        default=None, ge=1, le=1024, description="calls in flight at this server; default search.concurrency"
    )
    requests_per_minute: float | None = Field(
        default=None, ge=1, description="requests a minute at this server at most"
    )
    tokens_per_minute: float | None = Field(
        default=None, ge=1, description="tokens a minute, sent and received, at this server at most"
    )
    timeout: float | None = Field(
        default=None, gt=0, description="seconds for one try of a call; default search.timeout"
    )
    price_in: float | None = Field(default=None, ge=0, description="price of a million tokens sent")
    price_out: float | None = Field(default=None, ge=0, description="price of a million tokens received")
    send_seed: bool = Field(default=False, description="whether the seed of a call is sent")

    send_reasoning: bool = Field(
        default=False, description="whether a model's reasoning goes back to it with its earlier turns"
    )

    @model_validator(mode="after")
    def _both_prices(self) -> EndpointSettings:
        if (self.price_in is None) != (self.price_out is None):
            raise PydanticCustomError("prices", "price_in and price_out are given together or not at all")
        return self


class PoolEntry(EndpointSettings):
    """One model of the pool."""

    name: str = Field(default="", description="what the model is called here; default its model name")
    log_name: str | None = Field(
        default=None, min_length=1, description="its name in the response log, when that is another"
    )

    @property
    def label(self) -> str:
        """Name of the entry."""
        return self.name or self.model

    @property
    def in_log(self) -> str:
        """Name of the model in the response log."""
        return self.log_name or self.label

    def asks(self) -> tuple[object, ...]:
        """What the replies depend on: two entries that agree in it are one model asked in one way."""
        body = json.dumps(self.extra_body, sort_keys=True)
        way = (self.temperature, self.top_p, self.max_tokens, self.reasoning_effort, body)
        return (server_of(self.base_url), self.model, *way)


def refuse_plain_http(endpoints: Sequence[tuple[Place, EndpointSettings]]) -> None:
    """Texts and keys leave this machine encrypted only."""
    for place, endpoint in endpoints:
        parts = urlsplit(endpoint.base_url)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise PydanticCustomError(
                "plain_http",
                "texts and keys would go to {host} unencrypted; use https, or allow_http = true (--allow-http)",
                {"host": parts.hostname, "at": (*place, "base_url")},
            )


def refuse_twins(pool: Sequence[PoolEntry]) -> None:
    """Each member of the pool has a name, a model of the log and a way of being asked of its own."""
    labels: dict[object, int] = {}
    logged: dict[object, int] = {}
    asked: dict[object, int] = {}
    for number, entry in enumerate(pool):
        first = labels.setdefault(entry.label, number)
        if first != number:
            raise PydanticCustomError(
                "twins",
                "entry {first} of the pool is called {label} too; a model under other settings needs a name of its own",
                {"first": first + 1, "label": entry.label, "at": _at(number, entry, "name")},
            )
        first = logged.setdefault(entry.in_log, number)
        if first != number:
            raise PydanticCustomError(
                "twins",
                "entry {first} of the pool stands for {label} of the response log too",
                {"first": first + 1, "label": entry.in_log, "at": _at(number, entry, "log_name")},
            )
        first = asked.setdefault(entry.asks(), number)
        if first != number:
            raise PydanticCustomError(
                "twins",
                "entry {first} of the pool asks the same model in the same way; its answers would count twice",
                {"first": first + 1, "at": ("pool", number)},
            )


def _at(number: int, entry: PoolEntry, field: str) -> Place:
    return ("pool", number, field) if getattr(entry, field) else ("pool", number)


def refuse_two_limits(endpoints: Sequence[tuple[Place, EndpointSettings]]) -> None:
    """A server has one limit of each kind, shared by all its models."""
    seen: dict[tuple[str, str], float] = {}
    for place, endpoint in endpoints:
        for field in ("concurrency", "requests_per_minute", "tokens_per_minute"):
            value = getattr(endpoint, field)
            if value is None:
                continue
            other = seen.setdefault((server_of(endpoint.base_url), field), value)
            if other != value:
                raise PydanticCustomError(
                    "two_limits",
                    "{other} was given for this server before; it has one limit, shared by all its models",
                    {"other": f"{other:g}", "at": (*place, field)},
                )
