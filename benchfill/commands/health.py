"""What ``benchfill doctor`` looks at: this machine, then every endpoint of the settings."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchfill.errors import BenchfillError, CallFailed, InputError

if TYPE_CHECKING:
    from benchfill.settings import Settings
    from benchfill.tools.client import ModelClient

__all__ = ["Check", "check_endpoints", "check_machine", "hosts_contacted"]

GIB = 2**30
# A run of days leaves a few hundred megabytes; a full disk ends it.
LITTLE_DISK, TOO_LITTLE_DISK = 2 * GIB, GIB // 4
# Certificates and dates of Retry-After go wrong from here on.
SKEW_SECONDS = 60.0
TRACER = "api.smith.langchain.com"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding; a remedy where it is not fine."""

    name: str
    status: Literal["ok", "warning", "broken"]
    found: str
    remedy: str = ""


def check_machine(home: Path) -> Iterator[Check]:
    """Python, PyTensor, BLAS, disk, and whether runs and ledger can be written."""
    yield _python()
    yield _pytensor()
    yield _blas()
    yield _disk(home)
    yield _write(home)


def _python() -> Check:
    found = f"{platform.python_version()}, {platform.system()} {platform.machine()}"
    return Check("python", "ok", found)


def _pytensor() -> Check:
    from benchfill.calibration.nuts import import_pymc

    start = time.monotonic()
    try:
        pymc = import_pymc()
        import pytensor
        import pytensor.tensor as pt

        x = pt.vector("x")
        # The mode that fits use, whatever a .pytensorrc of the user's says.
        double = pytensor.function([x], 2 * x, mode="NUMBA")
        if list(double([1.0, 2.5])) != [2.0, 5.0]:
            raise ArithmeticError("a compiled function computes wrongly")
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        return Check(
            "pytensor",
            "broken",
            f"{type(error).__name__}: {reason}",
            "Install PyMC and numba anew, and see that the home folder is writable.",
        )
    seconds = time.monotonic() - start
    found = f"PyMC {pymc.__version__}, PyTensor {pytensor.__version__}, compiles by numba in {seconds:.1f} s"
    return Check("pytensor", "ok", f"{found}; no C compiler is needed")


def _blas() -> Check:
    import numpy as np

    # What numpy was built with; annotated as None because it may print instead.
    built: Any = np.show_config(mode="dicts")
    blas = built.get("Build Dependencies", {}).get("blas", {})
    name = str(blas.get("name") or "")
    if not name:
        return Check(
            "blas",
            "warning",
            f"numpy {np.__version__} without a BLAS",
            "Fits are slower; numpy's wheels bring one.",
        )
    return Check("blas", "ok", f"numpy {np.__version__} with {name} {blas.get('version', '')}".strip())


def _disk(home: Path) -> Check:
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    found = f"{free / GIB:.1f} GiB free at {place}"
    remedy = "Free some space, or set BENCHFILL_HOME to a larger disk."
    if free < TOO_LITTLE_DISK:
        return Check("disk", "broken", found, remedy)
    return Check("disk", "ok", found) if free >= LITTLE_DISK else Check("disk", "warning", found, remedy)


def _write(home: Path) -> Check:
    """A database with a write-ahead log, as runs and the ledger are, made and removed."""
    from benchfill.memory.database import open_database

    path = home / f".doctor-{os.getpid()}.sqlite"
    try:
        database = open_database(path)
        try:
            database.connection.execute("CREATE TABLE written (x)")
        finally:
            database.close()
    except (BenchfillError, OSError) as error:
        remedy = "Set BENCHFILL_HOME to a folder on a local disk that you can write to."
        return Check("write", "broken", str(getattr(error, "message", error)), remedy)
    finally:
        for leftover in home.glob(f"{path.name}*"):
            leftover.unlink()
    return Check("write", "ok", f"runs and ledger can be written to {home}")


def check_endpoints(settings: Settings, home: Path) -> Iterator[Check]:
    """Keys, reachability, models, tool modes and the clock, for everything that the settings name.

    Asks short questions where a server's own list of models leaves a doubt; what they cost is in the ledger.
    """
    everyone = [(_label(place, endpoint), endpoint) for place, endpoint in settings.endpoints()]
    if not everyone:
        yield Check("endpoints", "ok", "none configured: the embedded simulated models are asked")
        return
    yield from _keys(everyone)
    yield from _proxies(settings)
    yield from asyncio.run(_ask(settings, everyone, home / "ledger.sqlite"))


def hosts_contacted(settings: Settings) -> list[str]:
    """Every host, with its port, that this configuration makes BenchFill contact; sorted."""
    from benchfill.graph.endpoints import hosts_of

    hosts = set(hosts_of(settings))
    if settings.tracing.enabled:
        named = os.environ.get("LANGSMITH_ENDPOINT") or os.environ.get("LANGCHAIN_ENDPOINT") or ""
        hosts.add(named.split("://")[-1].split("/")[0] or TRACER)
    return sorted(hosts)


def _label(place: tuple[str | int, ...], endpoint: Any) -> str:
    return str(place[0]) if len(place) == 1 else str(endpoint.label)


def _keys(everyone: list[tuple[str, Any]]) -> Iterator[Check]:
    users: dict[str, list[str]] = {}
    for name, endpoint in everyone:
        if endpoint.api_key_env is not None:
            users.setdefault(endpoint.api_key_env, []).append(name)
    for variable, names in sorted(users.items()):
        if os.environ.get(variable, "").strip():
            yield Check(f"key {variable}", "ok", f"set, for {', '.join(names)}")
        else:
            remedy = f"export {variable}=... in the shell that runs benchfill."
            yield Check(f"key {variable}", "broken", f"not set, needed for {', '.join(names)}", remedy)


def _proxies(settings: Settings) -> Iterator[Check]:
    from urllib.parse import urlsplit

    from benchfill.endpoint_settings import is_loopback

    proxies = urllib.request.getproxies()
    through: dict[str, list[str]] = {}
    for _, endpoint in settings.endpoints():
        parts = urlsplit(endpoint.base_url)
        proxy = proxies.get(parts.scheme) or proxies.get("all")
        if proxy and not is_loopback(parts.hostname or "") and not urllib.request.proxy_bypass(parts.netloc):
            # Without user and password.
            through.setdefault(proxy.rpartition("@")[2].split("://")[-1], []).append(parts.netloc)
    for proxy, hosts in sorted(through.items()):
        yield Check("proxy", "ok", f"{', '.join(sorted(set(hosts)))} through {proxy}")


async def _ask(settings: Settings, everyone: list[tuple[str, Any]], ledger_path: Path) -> list[Check]:
    from benchfill.graph.endpoints import endpoint_of, limits_of
    from benchfill.graph.models import open_clients
    from benchfill.graph.probe import find_all_faults, remedy_for
    from benchfill.memory.ledger import Ledger
    from benchfill.tools.meter import Meter
    from benchfill.tools.tracing import set_tracing

    set_tracing(settings.tracing.enabled)
    endpoints = {}
    for name, endpoint in everyone:
        try:
            endpoints[name] = endpoint_of(name, endpoint, settings.search)
        except InputError:
            continue  # its key is not set, which has been said
    checks = await _clocks(list(endpoints.values()))
    with Ledger(ledger_path) as ledger:
        clients = open_clients(
            "doctor", endpoints, limits_of(settings), ledger=ledger, run="doctor", meter=Meter()
        )
        try:
            faults = await find_all_faults(list(clients.values()))
            for name, client in clients.items():
                if name in faults:
                    fault = faults[name]
                    checks.append(Check(name, "broken", fault.message, remedy_for(fault.reason)))
                else:
                    checks.append(await _healthy(name, client))
        finally:
            await asyncio.gather(*(client.aclose() for client in clients.values()))
    return checks


async def _healthy(name: str, client: ModelClient) -> Check:
    """An endpoint that answers: how it gives structured replies, where its role needs them."""
    from benchfill.graph.probe import remedy_for
    from benchfill.tools.tool_modes import probe

    found = f"{client.endpoint.model} at {client.endpoint.host} answers"
    if name not in ("rewriter", "judge", "grader"):
        return Check(name, "ok", found)
    if client.endpoint.tool_mode != "auto":
        return Check(name, "ok", f"{found}; structured replies as {client.endpoint.tool_mode}, as configured")
    try:
        mode = await probe(client)
    except CallFailed as fault:
        return Check(name, "broken", fault.message, remedy_for(fault.reason))
    return Check(name, "ok", f"{found}; structured replies as {mode}")


async def _clocks(endpoints: list[Any]) -> list[Check]:
    """This machine's clock beside those of the servers: the one that differs least counts."""
    from benchfill.endpoint_settings import server_of
    from benchfill.tools.reaching import reach

    servers = {server_of(endpoint.base_url): endpoint for endpoint in endpoints}
    reached = await asyncio.gather(*(reach(endpoint) for endpoint in servers.values()))
    skews = [each.skew for each in reached if each.skew is not None]
    if not skews:
        return [Check("clock", "ok", "not compared: no server tells its time")]
    skew = min(skews, key=abs)
    if abs(skew) < SKEW_SECONDS:
        return [Check("clock", "ok", "agrees with the servers' within a minute")]
    ahead = "ahead of" if skew > 0 else "behind"
    remedy = "Set the clock, e.g. switch network time on."
    return [Check("clock", "broken", f"{abs(skew):.0f} s {ahead} the servers'", remedy)]
