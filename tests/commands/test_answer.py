"""``benchfill answer``: a log by the server's own count, resumable, paid once."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from benchfill.logs.responses import read_responses
from tests.commands.conftest import Said
from tests.commands.pool_server import MODELS, PoolServer, serving_pool

ITEMS = 4
ATTEMPTS = 2
# Two models are enough here, and quickly made.
POOL = MODELS[:2]
ALL = ITEMS * ATTEMPTS * len(POOL)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PoolServer]:
    """A pool, its benchfill.toml, and items of which the even ones are answered right."""
    monkeypatch.chdir(tmp_path)
    write_items(tmp_path / "items.jsonl")
    with serving_pool() as pool:
        pool.toml(tmp_path, models=POOL)
        yield pool


def write_items(path: Path, **changed: dict[str, str]) -> None:
    rows = [
        {"id": f"i{n}", "question": f"What is {n} of it?", "answer": str(42 + n % 2)} for n in range(ITEMS)
    ]
    rows = [{**row, **changed.get(row["id"], {})} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def command(*more: str, items: str = "items.jsonl") -> list[str]:
    return ["answer", items, "--attempts", str(ATTEMPTS), "--out", "log.csv", *more]


def totals(said: Said) -> tuple[int, int]:
    document = json.loads(said.out)
    return document["totals"]["calls"], document["totals"]["from_ledger"]


def test_a_log_is_made_within_its_budget_gone_on_with_and_then_free(
    benchfill: Callable[..., Said], server: PoolServer, tmp_path: Path
) -> None:
    spent = benchfill(*command("--max-calls", "6"))
    assert spent.code == 3
    assert "6 of 6 calls are made (--max-calls)" in spent.err
    assert "benchfill answer items.jsonl --attempts 2 --out log.csv --max-calls N" in spent.err
    assert len(server.asked) == 6
    assert not (tmp_path / "log.csv").exists()

    done = benchfill(*command("--json"))
    assert (done.code, len(server.asked)) == (0, ALL)
    assert totals(done) == (ALL - 6, 6)
    log = read_responses(tmp_path / "log.csv").log
    assert log.models == POOL
    assert log.attempts.tolist() == [[ATTEMPTS] * ITEMS] * len(POOL)
    assert log.correct.tolist() == [[2, 0, 2, 0]] * len(POOL)

    content = (tmp_path / "log.csv").read_bytes()
    again = benchfill(*command("--json"))
    assert (totals(again), len(server.asked)) == ((0, ALL), ALL)
    assert (tmp_path / "log.csv").read_bytes() == content
    # No seed goes out unless it is asked for.
    assert all("seed" not in body for body in server.asked)


def test_an_edited_benchmark_asks_what_is_new_and_another_one_everything(
    benchfill: Callable[..., Said], server: PoolServer, tmp_path: Path
) -> None:
    assert benchfill(*command()).code == 0
    write_items(tmp_path / "items.jsonl", i1={"answer": "42"}, i2={"question": "Something else?"})
    edited = benchfill(*command("--json"))
    assert totals(edited) == (ATTEMPTS * len(POOL), ALL - ATTEMPTS * len(POOL))
    # A corrected key grades the kept replies anew.
    assert read_responses(tmp_path / "log.csv").log.correct.tolist() == [[2, 2, 2, 0]] * len(POOL)
    kept = (tmp_path / "items.jsonl").read_text().splitlines(keepends=True)[1:]
    (tmp_path / "items.jsonl").write_text("".join(kept))
    assert totals(benchfill(*command("--json"))) == (0, ALL - ATTEMPTS * len(POOL))
    # A removed item is not counted any more.
    assert read_responses(tmp_path / "log.csv").log.items == ("i1", "i2", "i3")
    write_items(tmp_path / "other.jsonl")
    other = benchfill(*command("--json", items="other.jsonl"))
    assert totals(other) == (ALL, 0)
    more = ["answer", "other.jsonl", "--attempts", str(ATTEMPTS + 1), "--out", "log.csv", "--json"]
    assert totals(benchfill(*more)) == (ITEMS * len(POOL), ALL)


def test_items_of_the_same_text_have_attempts_of_their_own(
    benchfill: Callable[..., Said], server: PoolServer, tmp_path: Path
) -> None:
    same = {"question": "Twice the same?", "answer": "42"}
    write_items(tmp_path / "items.jsonl", i1=same, i3=same)
    assert totals(benchfill(*command("--json"))) == (ALL, 0)
    assert totals(benchfill(*command("--json"))) == (0, ALL)


def test_fresh_asks_everything_anew_and_goes_on_where_it_was_stopped(
    benchfill: Callable[..., Said], server: PoolServer, tmp_path: Path
) -> None:
    assert benchfill(*command()).code == 0
    assert benchfill(*command("--fresh", "--max-calls", "5")).code == 3
    # The log of before is still there, and the fresh one is gone on with.
    assert (tmp_path / "log.csv").exists()
    rest = benchfill(*command("--fresh", "--json"))
    assert totals(rest) == (ALL - 5, 5)
    assert totals(benchfill(*command("--fresh", "--json"))) == (ALL, 0)
    assert len(server.asked) == 3 * ALL
    assert totals(benchfill(*command("--json"))) == (0, ALL)


def no_answer_on_odd(body: dict[str, Any]) -> str:
    number = int(body["messages"][-1]["content"].split()[2])
    return "I cannot tell." if number % 2 else "\\boxed{42}"


def test_replies_without_an_answer_are_counted_as_it_is_said_without_asking_again(
    benchfill: Callable[..., Said], server: PoolServer, tmp_path: Path
) -> None:
    server.reply = no_answer_on_odd
    said = benchfill(*command("--json"))
    report = json.loads(said.out)["no_answer"]
    assert (report["no_answer"], report["replies"]) == (ALL // 2, ALL)
    assert all(model["rate"] == 0.5 and model["differs"] for model in report["models"])
    file = read_responses(tmp_path / "log.csv")
    assert file.log.attempts.tolist() == [[2, 0, 2, 0]] * len(POOL)
    assert any(f"(no_answer {ALL // 2})" in note for note in file.notes)
    wrong = benchfill(*command("--no-answer", "wrong"))
    assert len(server.asked) == ALL
    log = read_responses(tmp_path / "log.csv").log
    assert log.attempts.tolist() == [[2, 2, 2, 2]] * len(POOL)
    assert log.correct.tolist() == [[2, 0, 2, 0]] * len(POOL)
    assert "Replies without an answer" in wrong.out
    assert "Warning: whether replies without an answer are missing or wrong changes more" in wrong.out


def test_failed_calls_are_missing_and_only_they_are_asked_again(
    benchfill: Callable[..., Said], server: PoolServer, tmp_path: Path
) -> None:
    refuse = (400, {"error": {"message": "too odd", "code": "odd"}})
    server.reply = lambda body: refuse if "3 of it" in body["messages"][-1]["content"] else "\\boxed{42}"
    said = benchfill(*command())
    assert said.code == 0
    assert f"{ATTEMPTS * len(POOL)} are missing, run the same command again to ask those" in said.err
    assert "odd 2" in said.out
    # Without a score they are no attempts, least of all wrong ones.
    log = read_responses(tmp_path / "log.csv").log
    assert log.attempts.tolist() == [[2, 2, 2, 0]] * len(POOL)
    assert log.correct.tolist() == [[2, 0, 2, 0]] * len(POOL)
    server.reply = lambda body: "\\boxed{43}"
    before = len(server.asked)
    assert totals(benchfill(*command("--json"))) == (ATTEMPTS * len(POOL), ALL - ATTEMPTS * len(POOL))
    assert len(server.asked) == before + ATTEMPTS * len(POOL)
    log = read_responses(tmp_path / "log.csv").log
    assert log.attempts.tolist() == [[2, 2, 2, 2]] * len(POOL)
    assert log.correct.tolist() == [[2, 0, 2, 2]] * len(POOL)


def test_another_way_of_grading_grades_the_kept_replies_without_a_call(
    benchfill: Callable[..., Said], server: PoolServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_items(tmp_path / "items.jsonl", **{f"i{n}": {"answer": "0.5"} for n in range(2)})
    server.reply = lambda body: "\\boxed{50\\%}"
    right = []
    for value in ("false", "true"):
        monkeypatch.setenv("BENCHFILL_GRADING__PERCENT_AS_FRACTION", value)
        assert benchfill(*command()).code == 0
        right.append(read_responses(tmp_path / "log.csv").log.correct.tolist())
    assert right == [[[0, 0, 0, 0]] * len(POOL), [[2, 2, 0, 0]] * len(POOL)]
    assert len(server.asked) == ALL


def test_a_grader_without_a_tool_mode_is_found_before_the_pool_is_asked(
    benchfill: Callable[..., Said], server: PoolServer, tmp_path: Path
) -> None:
    settings = tmp_path / "benchfill.toml"
    grader = f'[grader]\nbase_url = "http://127.0.0.1:{server.port}/v1"\nmodel = "m5"\n'
    settings.write_text(grader + settings.read_text(), encoding="utf-8")
    said = benchfill(*command())
    assert said.code == 2
    assert "grader" in said.err
    assert {body["model"] for body in server.asked} == {"m5"}
    expected = json.loads(benchfill(*command("--dry-run", "--json")).out)["expected"]
    assert [(row["role"], row["calls"]) for row in expected] == [
        ("grader", round(0.1 * ALL)),
        *[("pool", ITEMS * ATTEMPTS)] * len(POOL),
    ]


def test_a_pool_that_never_answers_writes_no_log(
    benchfill: Callable[..., Said], server: PoolServer, tmp_path: Path
) -> None:
    server.reply = lambda body: (400, {"error": {"code": "odd"}})
    said = benchfill(*command())
    assert said.code == 5
    assert said.err.splitlines()[-1].startswith(
        "Error: No model answered (odd). When the endpoints are back:"
    )
    assert not (tmp_path / "log.csv").exists()


def test_a_dry_run_says_what_it_takes_and_asks_nothing(
    benchfill: Callable[..., Said], server: PoolServer, tmp_path: Path
) -> None:
    server.toml(tmp_path, models=POOL, price_in=1.0, price_out=4.0, max_tokens=100)
    said = benchfill(*command("--dry-run", "--json"))
    document = json.loads(said.out)
    assert (said.code, server.asked) == (0, [])
    assert document["totals"]["calls"] == ALL
    assert {row["basis"] for row in document["expected"]} == {"assumed"}
    assert benchfill(*command("--max-cost", "1")).code == 0
    known = json.loads(benchfill(*command("--dry-run", "--json")).out)
    assert known["totals"]["cost"] == pytest.approx(ALL * (20 * 1.0 + 5 * 4.0) / 1e6)
    assert "its earlier calls" in benchfill(*command("--dry-run")).out
    server.toml(tmp_path, models=POOL)
    refused = benchfill(*command("--max-cost", "1", "--dry-run"))
    assert refused.code == 2
    assert (
        "--max-cost cannot be held: m0 has no price_in and price_out and no max_tokens, and 1 more"
        in refused.err
    )


def test_a_search_without_a_log_offers_to_make_it_and_asks_nothing_unasked(
    benchfill: Callable[..., Said], server: PoolServer
) -> None:
    said = benchfill("run", "--items", "items.jsonl")
    assert said.code == 2
    assert f"The pool can make one: {ITEMS * 8 * len(POOL)} calls, about" in said.err
    assert "benchfill answer items.jsonl --attempts 8 --out items-responses.csv; then --responses" in said.err
    assert server.asked == []


@pytest.mark.parametrize("yes", [True, False])
def test_somebody_who_is_there_is_asked_whether_to_make_it(
    benchfill: Callable[..., Said],
    server: PoolServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    yes: bool,
) -> None:
    keyboard = io.StringIO("y\n" if yes else "n\n")
    monkeypatch.setattr(keyboard, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", keyboard)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    said = benchfill("run", "--items", "items.jsonl")
    # With its log the run goes on, and finds that nobody is there to rewrite.
    assert said.code == 2
    assert f"The pool can make one: {ITEMS * 8 * len(POOL)} calls" in said.err
    assert (tmp_path / "items-responses.csv").exists() is yes
    assert len(server.asked) == (ITEMS * 8 * len(POOL) if yes else 0)
    assert ("benchfill.toml has no [rewriter]" in said.err) is yes


def test_a_file_of_somebody_elses_is_not_written_over(
    benchfill: Callable[..., Said], server: PoolServer, tmp_path: Path
) -> None:
    (tmp_path / "log.csv").write_text("model,item_id,correct\nm0,i0,1\n")
    said = benchfill(*command())
    assert said.code == 2
    assert "is no log of this command's" in said.err
    assert (tmp_path / "log.csv").read_text().startswith("model,item_id,correct\n")
    assert server.asked == []


def test_without_a_pool_the_simulated_models_answer(benchfill: Callable[..., Said], tmp_path: Path) -> None:
    """The best and the worst model of the packaged log are so here too."""
    sample = files("benchfill.worlds.simulated") / "sample"
    lines = (sample / "items.jsonl").read_text().splitlines()
    items, out = tmp_path / "items.jsonl", tmp_path / "log.csv"
    items.write_text("\n".join(lines[::4]) + "\n")
    assert benchfill("answer", str(items), "--attempts", "2", "--out", str(out)).code == 0
    made = read_responses(out).log
    packaged = read_responses(Path(str(sample / "responses.csv"))).log
    assert made.models == packaged.models
    shares = made.correct.sum(axis=1) / made.attempts.sum(axis=1)
    expected = packaged.correct.sum(axis=1) / packaged.attempts.sum(axis=1)
    best, worst = expected.argmax(), expected.argmin()
    assert shares[best] > shares[worst]
