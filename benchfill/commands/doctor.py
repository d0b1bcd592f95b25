"""``benchfill doctor``: is everything there that a run needs, and what to do where it is not."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Annotated

import typer

__all__ = ["doctor"]


def doctor(
    allow_http: Annotated[
        bool, typer.Option("--allow-http", help="Let texts and keys go to other machines without encryption.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Look at this machine and at every endpoint of benchfill.toml, and say what to do where something is wrong.

    A server that does not list its models, or needs a key, is asked one short question a model or key; rewriter and
    judge are asked for one structured reply. Exit code 1 when something is broken.

    Examples:

      benchfill doctor

      benchfill doctor --json
    """
    from benchfill.commands.health import Check, check_endpoints, check_machine, hosts_contacted
    from benchfill.display.health import print_checks
    from benchfill.errors import InputError
    from benchfill.settings import benchfill_home, load_settings

    home = benchfill_home()
    checks = list(check_machine(home))
    hosts: list[str] = []
    try:
        settings = load_settings(**({"allow_http": True} if allow_http else {}))
    except InputError as error:
        checks.append(Check("settings", "broken", error.message, error.remedy or "Correct it."))
    else:
        hosts = hosts_contacted(settings)
        checks += check_endpoints(settings, home)
    broken = any(check.status == "broken" for check in checks)
    if as_json:
        rows = [dataclasses.asdict(check) for check in checks]
        typer.echo(json.dumps({"v": 1, "ok": not broken, "checks": rows, "hosts": hosts}, ensure_ascii=False))
    else:
        print_checks(sys.stdout, [dataclasses.astuple(check) for check in checks], hosts)
    raise typer.Exit(1 if broken else 0)
