"""Plain tables through an import are what `read_responses` reads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchfill.errors import InputError
from benchfill.logs.importing import load_responses
from benchfill.logs.responses import read_responses


@pytest.mark.parametrize(
    "name",
    [
        "matrices/terminal-bench-1.0/responses_long.csv.gz",
        "matrices/noises_lowk_temp0.7__gpqa_cot/responses_long.csv.gz",
        "matrices/evalarena_gsm8k/responses_wide.csv.gz",
    ],
)
def test_public_tables(shared: Path, name: str) -> None:
    same_as_reader(shared / "data" / name)


def test_handed_tables(shared: Path) -> None:
    """Hostile ones too: read alike, or refused with the same kind."""
    entries = json.loads((shared / "cases" / "index.json").read_text(encoding="utf-8"))["entries"]
    paths = [shared / "cases" / entry["file"] for entry in entries if entry["file"].startswith("matrices/")]
    refused = {path: kind for path in paths if (kind := reason(path))}
    assert len(paths) - len(refused) >= 10
    for path in paths:
        if path not in refused:
            same_as_reader(path)
            continue
        with pytest.raises(InputError) as caught:
            load_responses([path])
        assert caught.value.kind == refused[path], path.name


def reason(path: Path) -> str:
    try:
        read_responses(path)
    except InputError as error:
        return error.kind
    return ""


def same_as_reader(path: Path) -> None:
    expected = read_responses(path).log
    log = load_responses([path]).log
    assert (log.models, log.items) == (expected.models, expected.items), path.name
    assert np.array_equal(log.correct, expected.correct)
    assert np.array_equal(log.attempts, expected.attempts)


def test_guessing_rates_stand_in_the_order_of_the_log(shared: Path) -> None:
    imported = load_responses([shared / "data" / "formats"])
    rates = dict(zip(imported.log.items, imported.guessing().tolist(), strict=True))
    assert rates["inspect_evals/pubmedqa/12377809"] == pytest.approx(1 / 3)
    assert rates["inspect_evals/arc_easy/1"] == 0.25
    assert rates["gsm8k_main/0"] == 0.0
