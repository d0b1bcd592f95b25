"""``benchfill review``: what is said on both streams, the exit codes, and faults as one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.review.conftest import MakeRun, make_run

__all__ = ["make_run"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--reviewers", "2", "--reviewer", "ada"], "the same thing twice"),
        (["--reviewer", "../ada"], "cannot be called"),
        (["--reviewer", "ada", "--reviewer", "Ada"], "one name"),
        (["--adjudicate"], "No item is disputed"),
    ],
)
def test_what_cannot_be_exported_is_one_line(
    make_run: MakeRun, benchfill: Callable[..., Any], tmp_path: Path, flags: list[str], said: str
) -> None:
    make_run()
    found = benchfill("review", "export", "--out", str(tmp_path / "out"), *flags)
    assert found.code == 2
    assert said in found.err
    assert len(found.err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_folders_go_to_stdout_and_the_hash_is_told(
    make_run: MakeRun, benchfill: Callable[..., Any], tmp_path: Path
) -> None:
    run = make_run()
    nothing = benchfill("review", "import", str(tmp_path))
    assert (nothing.code, "holds no decisions" in nothing.err) == (2, True)
    found = benchfill("review", "export", "hand", "--reviewer", "ada", "--out", str(tmp_path / "out"))
    assert (found.code, found.out) == (0, f"{tmp_path / 'out' / 'ada'}\n")
    told = json.loads(benchfill("review", "status", "hand", "--json").out)
    assert told["rounds"][0]["key_sha256"] in found.err
    assert {each["outcome"] for each in told["items"].values()} == {"unreviewed"}
    assert told["agreement"]["all"]["reason"] == "no doubly reviewed item"
    assert told["agreement"]["all"]["kappa"] is None

    # One decision that counts and two that cannot: the first is kept, the others are told, the exit code is 1.
    key = json.loads((run.path / "reviews" / "round-1.key.json").read_text())["packets"][0]["items"]
    key.sort(key=lambda item: item["origin"] != "original")
    rows = [{"blind_id": key[0]["blind_id"], "verdict": "unsure"}, {"blind_id": "nobody", "verdict": "approve"},
            {"blind_id": key[1]["blind_id"], "verdict": "approved"}]  # fmt: skip
    path = tmp_path / "back.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    taken = benchfill("review", "import", str(path))
    assert taken.code == 1
    assert taken.err.splitlines() == [
        f"{path}, line 2: no item was handed out as 'nobody'",
        f"{path}, line 3: 'approved' is no verdict; approve, reject or unsure is",
        "1 decision taken in (run hand).",
    ]
    again = benchfill("review", "import", str(path))
    assert again.err.splitlines()[-1] == "0 decisions taken in, 1 known already (run hand)."
    shown = benchfill("review", "status").out
    assert "4 unreviewed" in shown
    assert "1 of 8" in shown
