"""The main job on the sample: three gaps found and filled over real HTTP. Everything here is simulated."""

from __future__ import annotations

import collections
import contextlib
import itertools
import json
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchfill.calibration.measure import top_k_gap_sum
from benchfill.item import Item
from benchfill.memory.pool import Pool
from benchfill.worlds.simulated.chain import Chain
from benchfill.worlds.simulated.language import read_question
from benchfill.worlds.simulated.truth import true_z
from benchmarks.kill_resume import CONCURRENCY, export, kill_and_resume, requests_of
from tests.end_to_end.conftest import RUN, Finished, call, command, environment


def test_three_gaps_are_filled_and_the_events_say_so(finished: Finished):
    assert finished.code == 0, finished.errors
    assert finished.errors == ""
    assert all(event["v"] == 1 for event in finished.events)
    names = [event["event"] for event in finished.events]
    assert names[0] == "run_started"
    assert names.index("plan") < names.index("gap_started")
    assert names[-1] == "summary"
    gaps = finished.summary["gaps"]
    assert [gap["status"] for gap in gaps] == ["filled"] * 3
    assert max(gap["rounds"] for gap in gaps) > 1
    for gap in gaps:
        assert gap["expected_deviation"] <= gap["tolerance"]
        assert gap["z_lo90"] < gap["z_mean"] < gap["z_hi90"]
        assert gap["confirmed"]
        assert gap["attempts"] > gap["confirmation_attempts"] > 0
        assert gap["calls"] > gap["attempts"] - 1
    assert finished.summary["totals"]["calls"] == sum(gap["calls"] for gap in gaps)


def test_the_planned_gaps_are_the_widest_of_the_benchmark(finished: Finished):
    (diagnosis,) = (event for event in finished.events if event["event"] == "diagnosis")
    (plan,) = (event for event in finished.events if event["event"] == "plan")
    z = sorted(item["z"] for item in diagnosis["items"])
    widths = sorted((right - left for left, right in itertools.pairwise(z)), reverse=True)
    assert [gap["width"] for gap in plan["gaps"]] == pytest.approx(widths[:3])
    assert min(gap["width"] for gap in plan["gaps"]) >= 0.15
    assert diagnosis["gate"]["passed"]


def accepted(finished: Finished) -> list[dict]:
    return [json.loads(line) for line in export(finished.home, RUN).decode().splitlines()]


def test_by_the_worlds_own_truth_the_reduction_is_as_near_the_oracles_as_the_tolerance_says(
    finished: Finished,
):
    """Top-3 sum with the accepted items at their true z, against the oracle's midpoints."""
    pool = Pool(finished.home / "runs" / RUN / "memory.sqlite", create=False)
    scale = pool.scale()
    places = [each.z for each in pool.estimates().values() if each.source == "offline"]
    gaps = pool.gaps()
    pool.close()
    assert scale is not None
    midpoints = [(gap.lo + gap.hi) / 2 for gap in gaps]
    true = [
        true_z(scale.theta, row["question"], scale.lo, scale.hi, scale.models) for row in accepted(finished)
    ]
    before = top_k_gap_sum(places, 3)
    oracle = before - top_k_gap_sum([*places, *midpoints], 3)
    reached = before - top_k_gap_sum([*places, *true], 3)
    # Off its midpoint by its tolerance, an item leaves that much more of its gap.
    assert oracle >= reached >= oracle - sum(gap.tolerance for gap in gaps) > 0
    assert all(min(abs(each - gap.target) for each in true) < 2 * gap.tolerance for gap in gaps)


def test_every_accepted_key_is_right(finished: Finished):
    rows = accepted(finished)
    assert len(rows) == 3
    for row in rows:
        question = read_question(row["question"])
        assert question is not None
        assert int(row["answer"].replace(",", "")) == worked(question.chain)


def worked(chain: Chain) -> int:
    """The chain's value by Python's own integers, not by the world's solver."""
    value = chain.start
    for step in chain.steps:
        value = {
            "add": value + step.a,
            "sub": value - step.a,
            "mul": value * step.a,
            "div": value // step.a,
            "addprod": value + step.a * step.b,
            "subprod": value - step.a * step.b,
        }[step.kind]
    return value


def test_killed_three_times_it_ends_with_the_same_bytes(finished: Finished, unsearched: Path):
    draw = random.Random(7)
    moments = sorted(float(draw.randint(1, finished.summary["totals"]["calls"] - 1)) for _ in range(3))
    outcome = kill_and_resume(unsearched, RUN, command("resume", RUN), moments=moments)
    assert outcome.kills == 3
    assert outcome.export == export(finished.home, RUN)
    assert outcome.repeated <= CONCURRENCY * outcome.kills


@contextlib.contextmanager
def running(
    home: Path, *, until: str, extra: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A resumed run that has just sent its first event of that name."""
    with subprocess.Popen(
        command("resume", RUN, "--json"),
        env={**environment(home), **(extra or {})},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == until:
                break
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_in_order_and_repeats_nothing(finished: Finished, unsearched: Path, signum: int):
    with running(unsearched, until="posterior") as process:
        sent = time.monotonic()
        process.send_signal(signum)
        rest, _ = process.communicate(timeout=10)
    assert process.returncode == 128 + signum
    assert time.monotonic() - sent < 5
    last = json.loads(rest.splitlines()[-1])
    assert (last["event"], last["resume"]) == ("interrupted", f"benchfill resume {RUN}")
    assert json.loads(call(unsearched, "status", RUN, "--json").stdout)["status"] == "interrupted"
    if signum == signal.SIGINT:
        again = call(unsearched, "resume", RUN, "--json")
        assert again.returncode == 0
        assert export(unsearched, RUN) == export(finished.home, RUN)
        assert requests_of(unsearched, RUN)[1] == 0


def test_a_signal_during_the_fit_leaves_as_quickly(tmp_path: Path):
    with subprocess.Popen(
        command("run", "--gaps", "1", "--name", RUN, "--json"),
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if json.loads(line)["event"] == "stage")
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert time.monotonic() - sent < 5
    assert json.loads(rest.splitlines()[-1])["event"] == "interrupted"


def test_a_run_in_use_is_refused_and_a_second_signal_leaves_at_once(unsearched: Path):
    with running(unsearched, until="round_started") as process:
        second = call(unsearched, "resume", RUN)
        assert second.returncode == 2
        assert re.fullmatch(r"Error: Run reference is in use by another process\..*\n", second.stderr)
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=3)
    assert process.returncode == 130


def test_a_finished_run_is_not_run_again(finished: Finished):
    before = requests_of(finished.home, RUN)
    again = call(finished.home, "resume", RUN, "--json")
    assert again.returncode == 0
    (event,) = [json.loads(line) for line in again.stdout.splitlines()]
    assert event == finished.summary
    assert requests_of(finished.home, RUN) == before


def test_the_same_seed_again_costs_nothing(finished: Finished, unsearched: Path):
    shutil.copy(finished.home / "ledger.sqlite", unsearched)
    again = call(unsearched, "resume", RUN, "--json")
    assert again.returncode == 0
    totals = json.loads(again.stdout.splitlines()[-1])["totals"]
    assert totals["calls"] == 0
    assert totals["from_ledger"] == finished.summary["totals"]["calls"]
    assert not (unsearched / "runs" / RUN / "requests.log").read_text()


def test_lists_status_and_path(finished: Finished):
    listed = call(finished.home, "runs")
    assert RUN in listed.stdout
    (row,) = json.loads(call(finished.home, "runs", "--json").stdout)["runs"]
    assert (row["run"], row["status"], row["filled"]) == (RUN, "finished", 3)
    assert "filled" in call(finished.home, "status").stdout
    assert call(finished.home, "path").stdout.strip() == str(finished.home)


def test_the_export_holds_no_time_path_or_run_name(finished: Finished, tmp_path: Path):
    text = export(finished.home, RUN).decode()
    assert str(finished.home) not in text
    assert RUN not in text.replace("references", "")
    assert not re.search(r"\d{4}-\d{2}-\d{2}|\d{2}:\d{2}:\d{2}", text)


def test_no_file_of_a_run_is_open_to_others(finished: Finished):
    assert (finished.home / "runs" / RUN).stat().st_mode & 0o077 == 0


def test_tracing_variables_send_nothing(unsearched: Path):
    """With tracing switched on by the environment, a listener at its address hears nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        where = f"http://127.0.0.1:{listener.getsockname()[1]}"
        traced = {
            "LANGSMITH_TRACING": "true",
            "LANGCHAIN_TRACING_V2": "true",
            "LANGSMITH_API_KEY": "k",
            "LANGSMITH_ENDPOINT": where,
            "LANGCHAIN_ENDPOINT": where,
        }
        with running(unsearched, until="posterior", extra=traced) as process:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=10)
        heard = []
        with contextlib.suppress(TimeoutError):
            heard.append(listener.accept())
    assert heard == []


def test_items_of_the_memory_are_what_the_files_say(finished: Finished):
    pool = Pool(finished.home / "runs" / RUN / "memory.sqlite", create=False)
    items = pool.items("original")
    counts = collections.Counter(candidate.status for candidate in pool.candidates())
    pool.close()
    assert len(items) == finished.events[0]["n_items"]
    assert all(isinstance(item, Item) and item.question for item in items)
    assert counts["accepted"] == 3
