"""The same recorded run in every mode: plain lines, NDJSON, the live picture, the result."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Mapping
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from benchfill.display.console import make_console
from benchfill.display.live import FullDisplay, picture
from benchfill.display.ndjson import event_line
from benchfill.display.plain import event_lines
from benchfill.display.run import choose_mode, make_display, print_result
from benchfill.display.session import Session
from benchfill.display.tables import print_runs, print_status, result_table
from tests.display.recorded import recorded

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def shown(mode: Any, events: list[dict[str, Any]]) -> tuple[str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    with make_display(mode, stdout=stdout, stderr=stderr) as display:
        for event in events:
            display(event)
    return stdout.getvalue(), stderr.getvalue()


def find(events: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(event for event in events if event["event"] == name)


def test_json_is_every_event_on_stdout_and_nothing_else() -> None:
    events = recorded()
    stdout, stderr = shown("json", events)
    lines = stdout.splitlines()
    assert stderr == ""
    assert [json.loads(line) for line in lines] == [{"v": 1, **event} for event in events]
    assert all(line.startswith('{"v":1,"event":"') for line in lines)
    assert stdout.isascii()


def test_json_is_flushed_line_by_line() -> None:
    class Slow(io.StringIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    stdout = Slow()
    display = make_display("json", stdout=stdout, stderr=io.StringIO())
    for count, event in enumerate(recorded()[:5], start=1):
        display(event)
        assert stdout.flushed == count


def test_json_has_null_for_what_is_undefined() -> None:
    line = event_line({"event": "posterior", "z_mean": math.nan, "inner": [{"z_hi90": math.inf}], "n": 3})
    assert json.loads(line, parse_constant=pytest.fail) == {
        "v": 1,
        "event": "posterior",
        "z_mean": None,
        "inner": [{"z_hi90": None}],
        "n": 3,
    }


def test_plain_is_one_line_an_event_without_control_characters() -> None:
    stdout, stderr = shown("plain", recorded())
    assert not CONTROL.search(stdout + stderr)
    assert stderr.isascii(), "a log of any encoding can hold the lines"
    lines = stderr.splitlines()
    assert lines[:2] == [
        "run calm-gauge | seed 0 | simulated world 1.0 | 19 items, 12 models",
        "simulated endpoint: rewriter, judge, pool (12 models)",
    ]
    for line in (
        "plan: gap 1 [0.330, 0.510] width 0.180, target 0.420, tolerance 0.0090, about 1,800 attempts",
        "gap 2 of 2: [0.640, 0.820], target 0.730, tolerance 0.0090",
        "gap 1 round 1 g1-r1-c3: refused (near red [bold]copy[/bold] of s-03)",
        "gap 1 filled: g1-r1-c2, z 0.419 [0.399, 0.439], expected deviation 0.0081, 1,536 attempts, "
        "confirmed by fresh attempts, 1 round, 1,606 calls",
        "gap 2 unfilled, 1 round, 1,606 calls",
    ):
        assert lines.count(line) == 1
    assert lines.count("waiting 0:12 for judge: 429 slow down") == 2, "once in each gap"
    # What is planned is said before anything is searched.
    assert max(k for k, line in enumerate(lines) if line.startswith("plan:")) < lines.index(
        "gap 1 of 2: [0.330, 0.510], target 0.420, tolerance 0.0090"
    )


def test_plain_keeps_to_a_rate_a_log_can_bear() -> None:
    events = recorded()
    lines = shown("plain", events)[1].splitlines()
    moves = [line for line in lines if line.startswith("gap 1 round 1 g1-r1-c1: z ")]
    attempts = [int(re.findall(r"([\d,]+) attempts", line)[0]) for line in moves]
    assert attempts == [12, 24, 48, 96, 192, 384, 768]
    assert [line for line in lines if line.startswith("fit:")] == [
        f"fit: draw {k} of 100 ({k}%)" for k in (0, 25, 50, 75, 100)
    ]
    seconds = [e["elapsed"] for e in events if e["event"] == "meter"]
    assert sum(line.endswith("no prices | 2 retries | 0:30 elapsed | ETA 1:00") for line in lines) == 1
    assert sum(" calls | " in line for line in lines) <= max(seconds) / 30


def test_interrupted_says_how_to_go_on() -> None:
    for signum in (2, "SIGINT"):
        event = {"event": "interrupted", "signal": signum, "resume": "benchfill resume calm-gauge"}
        line = "interrupted by SIGINT; go on with: benchfill resume calm-gauge\n"
        assert shown("plain", [event]) == ("", line)


def test_unknown_events_are_passed_over_by_people_and_kept_for_programs() -> None:
    event = {"event": "novelty", "x": 1}
    assert shown("plain", [event]) == ("", "")
    assert shown("json", [event])[0] == '{"v":1,"event":"novelty","x":1}\n'


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_picture_fits_the_terminal_all_along(width: int) -> None:
    session = Session()
    for count, event in enumerate(recorded()):
        session.update(event)
        if event["event"] in ("stage", "posterior", "meter") and count % 13:
            continue
        text = drawn(session, width)
        assert not CONTROL.search(text)
        assert max(cell_len(line) for line in text.splitlines()) <= width
        assert len(text.splitlines()) < 40


def drawn(session: Session, width: int, height: int = 40, since: float = 0.0) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as capture:
        console.print(picture(session, width, height, since))
    return capture.get()


def test_picture_says_where_the_search_is() -> None:
    events = recorded()
    session = Session()
    for event in events[: events.index(find(events, "waiting")) + 1]:
        session.update(event)
    text = drawn(session, 120, since=5.0)
    assert "simulated endpoint: rewriter, judge, pool (12 models)" in text
    assert "DDM 0.071  Max Gap 0.180  top-3 gap sum 0.540" in text
    assert "▶ gap 1 [0.330, 0.510] round 1, best deviation 0.0096 (wanted 0.0090), z 0.420" in text
    assert "· gap 2 [0.640, 0.820] target 0.730" in text
    assert "0/2 gaps" in text
    assert "waiting 0:12 for judge: 429 slow down" in text
    assert "1,536 calls | 576k tokens in, 22.4k out | no prices | 2 retries | 0:43 elapsed | ETA 0:55" in text
    rows = text.splitlines()
    best = next(k for k, row in enumerate(rows) if row.startswith("g1-r1-c2"))
    assert rows[best + 1].startswith("g1-r1-c1"), "the closest candidate stands first"
    target = next(row for row in rows[best - 3 :] if "▼" in row).index("▼")
    assert abs(rows[best].index("●") - target) <= 1
    assert rows[best + 1].index("●") > target + 10


def test_picture_of_a_low_terminal_keeps_its_end() -> None:
    session = Session()
    events = recorded()
    for event in events[: events.index(find(events, "waiting"))]:
        session.update(event)
    whole, low = drawn(session, 80).splitlines(), drawn(session, 80, height=8).splitlines()
    assert low == whole[-7:]


def test_many_gaps_show_those_around_the_one_in_work() -> None:
    session = Session()
    gaps = [{"gap": k, "lo": k / 50, "hi": k / 50 + 0.02, "target": k / 50 + 0.01} for k in range(1, 21)]
    session.update({"event": "plan", "gaps": gaps})
    session.update({"event": "gap_started", **gaps[11], "of": 20, "tolerance": 0.001})
    text = drawn(session, 80)
    assert re.findall(r"gap (\d+) \[", text) == ["9", "10", "11", "12", "13", "14"]
    assert "and 14 more gaps" in text


def test_full_mode_redraws_and_leaves_plan_and_ends_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    stdout, stderr = io.StringIO(), Terminal()
    with make_display("auto", stdout=stdout, stderr=stderr) as display:
        for event in recorded():
            display(event)
    text = stderr.getvalue()
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1, "the cursor comes back"
    visible = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert "\x1b" not in visible
    assert "\x07" not in visible
    assert "gap 1 filled: g1-r1-c2" in visible
    assert "expected attempts" in visible
    assert "Result" in stdout.getvalue()
    assert "\x1b" not in stdout.getvalue(), "stdout is a file here"


def test_full_mode_restores_the_terminal_when_the_run_fails() -> None:
    stderr = Terminal()

    def fail() -> None:
        with make_display("full", stdout=io.StringIO(), stderr=stderr) as display:
            display(recorded()[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    text = stderr.getvalue()
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1
    assert text.index("\x1b[?25l") < text.index("\x1b[?25h")


def test_full_mode_goes_on_with_the_clock_between_events() -> None:
    now = [100.0]
    console = Console(file=Terminal(), width=100, height=40, force_terminal=True, color_system=None)
    display = FullDisplay(console, clock=lambda: now[0])
    events = recorded()
    display(find(events, "run_started"))
    now[0] = 161.0
    assert "1:01 elapsed" in drawn_by(display)
    display({**find(events, "meter"), "elapsed": 61.0, "eta": 90.0})
    now[0] = 163.0
    assert "1:03 elapsed | ETA 1:28" in drawn_by(display)


def drawn_by(display: FullDisplay) -> str:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    with console.capture() as capture:
        console.print(display._draw())
    return capture.get()


@pytest.mark.parametrize(
    ("terminal", "encoding", "environment", "mode"),
    [
        (True, "utf-8", {}, "full"),
        (True, "UTF8", {"NO_COLOR": "1"}, "full"),
        (True, "utf-8", {"TERM": "dumb"}, "plain"),
        (True, "ascii", {}, "plain"),
        (False, "utf-8", {}, "plain"),
        (False, "utf-8", {"FORCE_COLOR": "1"}, "plain"),
    ],
)
def test_auto_mode(
    terminal: bool, encoding: str, environment: Mapping[str, str], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(type(stream), "encoding", encoding, raising=False) if terminal else None
    assert choose_mode("auto", stream) == mode


def test_colours_follow_no_color_and_force_color(monkeypatch: pytest.MonkeyPatch) -> None:
    event = find(recorded(), "gap_finished")
    assert "\x1b" not in shown("plain", [event])[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[32mgap 1 filled" in shown("plain", [event])[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in shown("plain", [event])[1]


def test_result_shows_gaps_coverage_totals_and_export(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    stdout = shown("plain", recorded())[0]
    lines = [re.sub(r" {2,}", "  ", line.strip()) for line in stdout.splitlines()]
    assert "1  0.420  g1-r1-c2  0.419  [0.399, 0.439]  none  0.0081  1,536  filled" in lines
    assert "2  0.730  -  -  -  -  -  1,536  unfilled" in lines
    assert {"Result (simulated)", "Coverage (simulated)"} <= set(lines)
    # (0.54 - 0.45) / (0.54 - 0.36) of the oracle's reduction; none where the oracle cannot reduce it.
    assert "top-3 gap sum  0.540  0.450  0.360  50.0%" in lines
    assert "Max Gap  0.180  0.180  0.180  -" in lines
    assert lines[-2:] == [
        "3,212 calls (12 from the ledger) | 2,304 attempts | 1.2M tokens in, 45.7k out | no prices | 1:23 elapsed",
        "export: benchfill export calm-gauge --out items.jsonl",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_tables_never_break_a_word_or_an_interval(width: int) -> None:
    summary = find(recorded(), "summary")
    summary["gaps"][0]["status"] = "accepted_outside_tolerance"
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as capture:
        print_result(console, summary)
    text = capture.get()
    for whole in ("g1-r1-c2", "[0.399, 0.439]", "0.0081", "unfilled", "tolerance", "50.0%"):
        assert whole in text
    assert "accepted outside tolerance" in re.sub(r"[^a-z]+", " ", text.split("Coverage")[0])


def test_lists_of_runs_and_candidates_show_foreign_text_as_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    reason = "near_duplicate of [red]s-03[/red]\x1b[31m"
    run = {"run": "calm-gauge", "status": "running", "world": "simulated", "benchmark": "sample", "seed": 0}
    run |= {"filled": 1, "n_gaps": 3}
    gaps = [{"gap": 1, "target": 0.4, "status": "filled", "accepted": "c2", "z_mean": 0.41, "attempts": 12}]
    candidates = [{"gap": 1, "round": 2, "candidate": "c\x1b[1m3", "status": "refused", "reason": reason}]
    print_runs([run, {"run": "deep-lens"}])
    print_status({**run, "gaps": gaps, "candidates": candidates})
    lines = [re.sub(r" {2,}", "  ", line.strip()) for line in capsys.readouterr().out.splitlines()]
    assert lines.count("calm-gauge  running  simulated  sample  0  1 of 3") == 2
    assert "deep-lens  -  -  -  -  -" in lines
    assert "1  0.400  -  c2  0.410  -  12  filled, unconfirmed" in lines
    assert "1, 2  c3  -  -  -  -  refused: near duplicate of [red]s-03[/red]" in lines


def test_no_runs_is_said_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    print_runs([])
    assert capsys.readouterr() == ("", "There is no run yet. Start one: benchfill run --gaps 3\n")


def test_a_resumed_run_shows_what_was_done_before() -> None:
    events = recorded()
    plan = find(events, "plan")
    plan["gaps"][0]["status"] = "filled"
    session = Session()
    for event in (find(events, "run_started"), find(events, "diagnosis"), plan):
        session.update(event)
    session.update({"event": "round_started", "gap": 2, "round": 3, "parents": [], "references": 16})
    text = drawn(session, 80)
    assert "✓ gap 1 [0.330, 0.510] filled" in text
    assert "▶ gap 2 [0.640, 0.820] round 3" in text
    assert "1/2 gaps" in text
    assert text.count("▼") == 2, "the target stands on the axis and on the gap in work"


def test_a_poor_encoding_replaces_characters_instead_of_failing() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    print_result(make_console(stream), {**find(recorded(), "summary"), "export": "benchfill export ü"})
    stream.flush()
    assert b"export: benchfill export ?" in raw.getvalue()


def test_an_item_without_a_confirmation_is_marked_wherever_it_is_shown() -> None:
    end = next(event for event in recorded() if event["event"] == "gap_finished" and event["accepted"])
    for confirmed, marked in ((True, False), (False, True)):
        gap = {**end, "confirmed": confirmed}
        (status,) = result_table([gap]).columns[-1].cells
        assert ("unconfirmed" in str(status)) is marked
        (line,) = event_lines(gap, Session())
        assert (", unconfirmed" in line) is marked
