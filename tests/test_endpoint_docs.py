"""docs/endpoints.md says what the settings are: its tables are those of the models, row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchfill.endpoint_settings import EndpointSettings, PoolEntry

PAGE = Path(__file__).resolve().parents[1] / "docs" / "endpoints.md"


def row(name: str, field: Any) -> str:
    if field.is_required():
        default = "required"
    elif name == "extra_body":
        default = "none"
    else:
        default = {None: "unset", True: "true", False: "false", "": "unset"}.get(field.default, field.default)
    return f"| `{name}` | {field.description} | {default} |"


def rows() -> tuple[list[str], list[str]]:
    """Of every endpoint, and of the pool's beside them."""
    common = [row(name, field) for name, field in EndpointSettings.model_fields.items()]
    own = set(PoolEntry.model_fields) - set(EndpointSettings.model_fields)
    return common, [row(name, field) for name, field in PoolEntry.model_fields.items() if name in own]


def test_the_tables_are_the_settings() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    tables = [
        [line for line in part.split("\n") if line.startswith("| `")]
        for part in "\n".join(lines).split("| setting | meaning | default |")[1:]
    ]
    common, pool = rows()
    assert tables[0] == common
    assert tables[1][: len(pool)] == pool


def test_every_setting_has_a_description() -> None:
    assert all(field.description for field in PoolEntry.model_fields.values())
