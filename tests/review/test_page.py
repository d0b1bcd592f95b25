"""The page in a real browser: a whole packet by keyboard, a reload, two tabs, formulas and foreign texts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchfill.item import Item

from .chromium import HOW_TO_GET_IT, Chromium, Page, find_chromium
from .conftest import MakeRun, sums
from .test_packets import export, form

NEW = [
    Item("n1", "设 $x^2-5x+6=0$，求两根之和。", "5", answer_type="numeric"),
    Item("n2", r"Add: $$\frac{1}{2}+\sqrt{x}$$ <script>document.title='taken'</script><img src=x onerror=alert(1)>",
         r"\frac{1}{2}+\sqrt{x}", answer_type="expr"),
]  # fmt: skip
SHOWN = "document.getElementById('question').innerText"
ITEM = "document.body.dataset.item"


@pytest.fixture(scope="module")
def binary() -> str:
    found = find_chromium()
    if found is None:
        if os.environ.get("BENCHFILL_REQUIRE_CHROMIUM"):
            pytest.fail(HOW_TO_GET_IT)
        pytest.skip(HOW_TO_GET_IT)
    return found


@pytest.fixture
def packet(make_run: MakeRun, tmp_path: Path) -> Path:
    return export(make_run(originals=sums("o", 6), new=NEW), tmp_path / "packets").packets["r1"]


@pytest.fixture
def address(packet: Path) -> Iterator[str]:
    served = subprocess.Popen(
        [sys.executable, "-m", "benchfill", "review", "serve", str(packet)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert served.stdout is not None
        yield served.stdout.readline().strip()
        again = [sys.executable, "-m", "benchfill", "review", "serve", str(packet)]
        second = subprocess.run(again, capture_output=True, text=True, check=False)
        assert (second.returncode, "on another page already" in second.stderr) == (2, True)
        served.send_signal(signal.SIGINT)
        _, errors = served.communicate(timeout=60)
        assert served.returncode in (0, 130)
        assert "Traceback" not in errors
    finally:
        served.kill()
        served.communicate()


def decided(packet: Path) -> list[dict[str, object]]:
    path = packet / "decisions.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def answer(page: Page, text: str, verdict: str, *more: str) -> None:
    """By keyboard alone: answer, key, reasons, verdict; the page goes on by itself."""
    before = page.value("document.getElementById('said').textContent + document.body.dataset.item")
    page.press("Escape", "e", *text, "Enter", *more, verdict)
    page.wait(
        f"document.getElementById('said').textContent + document.body.dataset.item !== {json.dumps(before)}"
    )
    page.wait("document.getElementById('said').textContent.startsWith('Saved')")


def test_a_whole_packet_by_keyboard(packet: Path, address: str, binary: str, tmp_path: Path) -> None:
    rows = {row["blind_id"]: row for row in form(packet)}
    profile = tmp_path / "profile"
    profile.mkdir()
    with Chromium(binary, profile) as browser:
        page = browser.open(address)
        assert page.value("document.getElementById('after').hidden"), (
            "the key is hidden until one has answered"
        )
        first = page.value(ITEM)
        answer(page, "17", "r", "1", "6")
        assert [
            (row["blind_id"], row["verdict"], row["answer"], row["reasons"]) for row in decided(packet)
        ] == [(first, "reject", "17", ["key_wrong", "copy"])]

        # A reload in the middle goes on with the next item, a draft of an answer and all.
        second = page.value(ITEM)
        assert second != first
        page.press(*"draft")
        page.reload()
        assert page.value(ITEM) == second
        assert page.value("document.getElementById('answer').value") == "draft"
        assert page.value("document.getElementById('left').textContent") == "3 left"

        # Two tabs: the one that has not seen the other's decision saves nothing and says so.
        other = browser.open(address)
        assert other.value(ITEM) == second
        answer(other, "8", "a")
        page.press("Enter", "r")
        page.wait("document.getElementById('said').textContent.startsWith('Not saved: you decided approve')")
        assert [row["verdict"] for row in decided(packet)] == ["reject", "approve"]
        page.press("r")
        page.wait("document.getElementById('said').textContent.startsWith('Saved: reject')")
        assert [(row["blind_id"], row["revision"]) for row in decided(packet)][1:] == [
            (second, 1),
            (second, 2),
        ]

        # The rest, and every text shown as it is.
        seen = set()
        for _ in range(len(rows)):
            page.press("Escape", "ArrowLeft")
        for _ in range(len(rows)):
            item = str(page.value(ITEM))
            seen.add(item)
            look(page, rows[item], tmp_path)
            if not page.value("Number(document.body.dataset.revision)"):
                answer(page, "5", "u")
                page.press("Escape")
                while page.value(ITEM) != item:
                    page.press("Escape", "ArrowLeft")
            page.press("Escape", "ArrowRight")
        assert seen == set(rows)
        assert page.value("document.getElementById('left').textContent") == "all decided"
        assert page.value("document.title") == "Review"
        assert page.value("document.scripts.length") == 1
    last = {row["blind_id"]: row["verdict"] for row in decided(packet)}
    assert set(last) == set(rows)
    assert sorted(map(str, last.values())) == ["reject", "reject", "unsure", "unsure"]


def look(page: Page, row: dict[str, str], pictures: Path) -> None:
    if "设" in row["question"]:
        assert "求两根之和" in page.value(SHOWN)
        assert page.value("document.querySelectorAll('#question math msup').length") == 1
        page.screenshot(pictures / "chinese.png")
    if "<script>" in row["question"]:
        assert "<script>document.title='taken'</script><img src=x onerror=alert(1)>" in page.value(SHOWN)
        assert page.value("document.querySelectorAll('#question script, #question img').length") == 0
        # Drawn as a fraction and a root, not as letters in a row: the numerator stands over the denominator.
        top, bottom = (
            page.value(
                f"document.querySelector('#question mfrac').children[{n}].getBoundingClientRect().bottom"
            )
            for n in (0, 1)
        )
        assert top < bottom
        assert page.value("document.querySelectorAll('#question msqrt').length") == 1
        page.press("Escape", "s")
        assert r"$$\frac{1}{2}+\sqrt{x}$$" in page.value(SHOWN), "the text as it was written"
        page.press("s")
        assert page.value("document.querySelectorAll('#question mfrac').length") == 1
        page.screenshot(pictures / "formula.png")
