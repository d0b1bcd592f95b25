"""Who is asked: the models of the settings, matched with those of the response log, or the embedded ones."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchfill.endpoint_settings import EndpointSettings, PoolEntry, server_of
from benchfill.errors import InputError
from benchfill.settings import SearchSettings, Settings
from benchfill.tools.endpoint import Endpoint
from benchfill.tools.limits import ServerLimit

__all__ = [
    "LEAST_MODELS",
    "Roles",
    "configured_grader",
    "configured_pool",
    "configured_roles",
    "embedded_roles",
    "endpoint_of",
    "hosts_of",
    "least_left",
    "limits_of",
    "with_todays_connections",
    "without_keys",
]

# Fewer models than this tell too little of an item: their abilities are what its difficulty is read from.
LEAST_MODELS = 6


@dataclass(frozen=True, slots=True)
class Roles:
    """Everybody who is asked in a run, and how hard.

    Parameters
    ----------
    pool
        By the model's name in the response log.
    limits
        One a server, by :func:`~benchfill.endpoint_settings.server_of` its base URL.
    grader
        The last resort of grading, None where none is configured.
    """

    rewriter: Endpoint
    judge: Endpoint
    pool: Mapping[str, Endpoint]
    limits: Mapping[str, ServerLimit]
    grader: Endpoint | None = None

    def everyone(self) -> list[Endpoint]:
        """All endpoints of the run."""
        grader = [] if self.grader is None else [self.grader]
        return [self.rewriter, self.judge, *grader, *self.pool.values()]


def configured_roles(settings: Settings, log_models: Sequence[str]) -> Roles:
    """Rewriter, judge and pool as benchfill.toml names them.

    Raises
    ------
    InputError
        A role is not configured, a key is not there, or the pool does not fit the log.
    """
    if settings.rewriter is None or settings.judge is None or not settings.pool:
        lacking = [
            *(["[rewriter]"] if settings.rewriter is None else []),
            *(["[judge]"] if settings.judge is None else []),
            *([] if settings.pool else ["[[pool]]"]),
        ]
        raise InputError(
            f"benchfill.toml has no {' and no '.join(lacking)}.",
            "A search needs a rewriter, a judge and a pool; `benchfill init` writes a file to begin with.",
            kind="not_configured",
        )
    _match(settings.pool, log_models)
    return Roles(
        rewriter=endpoint_of("rewriter", settings.rewriter, settings.search),
        judge=endpoint_of("judge", settings.judge, settings.search),
        pool={entry.in_log: endpoint_of(entry.label, entry, settings.search) for entry in settings.pool},
        limits=limits_of(settings),
        grader=configured_grader(settings),
    )


def configured_grader(settings: Settings) -> Endpoint | None:
    """The last resort of grading, if there is one."""
    return None if settings.grader is None else endpoint_of("grader", settings.grader, settings.search)


def configured_pool(settings: Settings) -> tuple[dict[str, Endpoint], Mapping[str, ServerLimit]]:
    """The pool alone, by the names that a log made from its answers will have, and the limits of its servers.

    Raises
    ------
    InputError
        There is none, or a key is not there.
    """
    if not settings.pool:
        raise InputError(
            "benchfill.toml has no [[pool]].",
            "`benchfill init` writes a file to begin with.",
            kind="not_configured",
        )
    pool = {entry.in_log: endpoint_of(entry.label, entry, settings.search) for entry in settings.pool}
    return pool, limits_of(settings)


def embedded_roles(base_url: str, name: str, models: Sequence[str], search: SearchSettings) -> Roles:
    """All roles at the embedded endpoint, which stands in ledger keys by its name: its port changes."""

    def endpoint(model: str) -> Endpoint:
        return Endpoint(
            name=model,
            base_url=base_url,
            model=model,
            ledger_name=name,
            timeout=search.timeout,
            send_seed=True,
        )

    return Roles(
        rewriter=endpoint("rewriter"),
        judge=endpoint("judge"),
        pool={model: endpoint(model) for model in models},
        limits={server_of(base_url): ServerLimit(search.concurrency)},
    )


def least_left(models: int, minimum: int) -> int:
    """Members of a pool that must be left for a run to go on: the minimum, and half of them."""
    return max(min(minimum, models), (models + 1) // 2)


# How an endpoint is reached and what it costs may change while a run rests; what it is asked may not.
CONNECTION = (
    "base_url",
    "api_key_env",
    "concurrency",
    "requests_per_minute",
    "tokens_per_minute",
    "timeout",
    "price_in",
    "price_out",
)


def with_todays_connections(stored: Settings, today: Settings) -> Settings:
    """The settings a run began with, its endpoints reached as they are today.

    Parameters
    ----------
    stored
        Of the start of the run.
    today
        Of this session; an endpoint that it does not name is reached as at the start.
    """

    def merged(old: EndpointSettings | None, new: EndpointSettings | None) -> dict[str, object] | None:
        if old is None:
            return None
        changed = {} if new is None else {field: getattr(new, field) for field in CONNECTION}
        return {**old.model_dump(), **changed}

    todays = {entry.label: entry for entry in today.pool}
    return Settings.model_validate(
        {
            **stored.model_dump(),
            "rewriter": merged(stored.rewriter, today.rewriter),
            "judge": merged(stored.judge, today.judge),
            "grader": merged(stored.grader, today.grader),
            "pool": [merged(entry, todays.get(entry.label)) for entry in stored.pool],
            "tracing": today.tracing.model_dump(),
            "allow_http": stored.allow_http or today.allow_http,
        }
    )


def without_keys(settings: Settings) -> Settings:
    """The same settings where nothing is sent: nobody needs the keys."""
    document = settings.model_dump()
    for entry in (*document.values(), *document["pool"]):
        if isinstance(entry, dict) and "api_key_env" in entry:
            entry["api_key_env"] = None
    return Settings.model_validate(document)


def hosts_of(settings: Settings) -> list[str]:
    """Hosts, with their ports, that the settings make a run contact; sorted."""
    return sorted({server_of(each.base_url).split("/")[2] for _, each in settings.endpoints()})


def _match(pool: Sequence[PoolEntry], log_models: Sequence[str]) -> None:
    """Every entry stands for a model of the log: an answer of a model without an ability measures nothing."""
    unmatched = [entry for entry in pool if entry.in_log not in set(log_models)]
    if unmatched:
        first, more = unmatched[0], len(unmatched) - 1
        raise InputError(
            f"Pool entry {first.label} is no model of the response log"
            + (f" under the name {first.in_log}" if first.log_name else "")
            + (f", and {more} more are not" if more else "")
            + ".",
            f"The log has {', '.join(log_models[:20])}{', ...' if len(log_models) > 20 else ''}; "
            "log_name says which of them an entry is.",
            kind="unmatched_pool",
        )
    if len(pool) < LEAST_MODELS:
        raise InputError(
            f"The pool has {len(pool)} of the log's {len(log_models)} models; a search needs at least {LEAST_MODELS}.",
            "Add [[pool]] entries to benchfill.toml.",
            kind="small_pool",
        )


def endpoint_of(name: str, settings: EndpointSettings, search: SearchSettings) -> Endpoint:
    """An endpoint with its key, as the settings name them.

    Raises
    ------
    InputError
        The key is not there (kind ``missing_key``).
    """
    effort = {} if settings.reasoning_effort is None else {"reasoning_effort": settings.reasoning_effort}
    return Endpoint(
        name=name,
        base_url=settings.base_url,
        model=settings.model,
        api_key=_key(name, settings.api_key_env),
        timeout=search.timeout if settings.timeout is None else settings.timeout,
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=settings.max_tokens,
        extra_body={**effort, **settings.extra_body},
        tool_mode=settings.tool_mode,
        send_seed=settings.send_seed,
        send_reasoning=settings.send_reasoning,
        price_in=settings.price_in,
        price_out=settings.price_out,
    )


def _key(name: str, variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise InputError(
            f"The key of {name} is not there: the variable {variable} is not set.",
            f"Set it in this shell: export {variable}=...",
            kind="missing_key",
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(
            f"The variable {variable}, the key of {name}, holds characters that no key has.",
            "Set it anew, without spaces and line breaks.",
            kind="missing_key",
        )
    return key


def limits_of(settings: Settings) -> dict[str, ServerLimit]:
    """What entries of one server say of its limits, which the settings have checked to agree."""
    said: dict[str, dict[str, float]] = {}
    for _, endpoint in settings.endpoints():
        of_server = said.setdefault(server_of(endpoint.base_url), {})
        for field in ("concurrency", "requests_per_minute", "tokens_per_minute"):
            value = getattr(endpoint, field)
            if value is not None:
                of_server[field] = value
    return {
        server: ServerLimit(
            int(limits.get("concurrency", settings.search.concurrency)),
            requests_per_minute=limits.get("requests_per_minute"),
            tokens_per_minute=limits.get("tokens_per_minute"),
        )
        for server, limits in said.items()
    }
