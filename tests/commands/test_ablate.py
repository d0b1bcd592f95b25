"""``benchfill ablate`` from the command line: what it refuses, and its document."""

from __future__ import annotations

import json
from pathlib import Path


def test_its_document_and_picture(benchfill, tmp_path: Path):
    picture = tmp_path / "a.svg"
    result = benchfill(
        "ablate",
        "--seeds",
        "1",
        "--gaps",
        "1",
        "--tolerance",
        "0.05",
        "--jobs",
        "1",
        "--json",
        "--svg",
        str(picture),
    )
    assert result.code == 0, result.err
    document = json.loads(result.out)
    assert (document["v"], document["world"], document["seeds"]) == (1, "simulated", 1)
    assert list(document["methods"]) == ["benchfill", "fixed", "baseline", "oracle"]
    assert document["methods"]["benchfill"]["searches"] == 1
    assert "ablate: 1 of 1 seeds" in result.err
    assert picture.read_text(encoding="utf-8").startswith("<svg ")


def test_the_replay_world_needs_its_files(benchfill):
    result = benchfill("ablate", "--world", "replay")
    assert result.code == 2
    assert "--items" in result.err
