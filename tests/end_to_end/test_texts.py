"""Chinese, Japanese and Arabic items from a harness log to the export: not a byte of their texts changes on the way."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from benchfill.graph.benchmark import read_benchmark
from benchfill.item import Item
from benchfill.logs.harness.output import write_import
from benchfill.logs.importing import load_responses
from benchfill.memory.export import accepted_items, write_jsonl
from benchfill.memory.pool import Pool
from benchfill.memory.records import AttemptRow, Candidate, Estimate, GapRow, JudgementRow, ScaleRow
from benchfill.prompts.render import PromptBook, PromptItem
from benchfill.review.rounds import export_packets
from benchfill.tools.grading import Grader
from benchfill.tools.sandbox import Sandbox
from tests.logs.harness import made_logs

# question, key, replies that are right, a reply that is wrong
TEXTS = {
    "zh": ("中国最长的河流叫什么名字？（请只写名字，“江”字不要省略）", "长江", "答案是长江。", "答案是黄河。"),
    "ja": ("日本の首都はどこですか。「都」をつけて答えて…ｶﾞ", "東京都", "答えは東京都です。", "答えは大阪府です。"),
    "ar": ("ما عاصمةُ مصر؟ اكتب الاسم فقط — بلا «ال» التعريف.", "قاهرة", "الإجابة: قاهرة", "الإجابة: بغداد"),
}  # fmt: skip


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    """The folder that an import of two models' logs has written."""
    for model, right in (("m", 1.0), ("n", 0.0)):
        rows = [
            made_logs.lm_eval_row(doc, question, key, "none", right, reply)
            for doc, (question, key, reply, _) in enumerate(TEXTS.values())
        ]
        log = tmp_path / "logs" / model / "samples_rivers_2026-01-02T03-04-05.678901.jsonl"
        made_logs.write_jsonl(log, rows)
    write_import(load_responses([tmp_path / "logs"]), tmp_path / "imported", force=False)
    return tmp_path / "imported"


def items_of(folder: Path) -> dict[str, Item]:
    items = read_benchmark("rivers", None, folder).items
    return dict(zip(TEXTS, sorted(items, key=lambda item: item.id), strict=True))


def test_import_keeps_the_bytes(imported: Path) -> None:
    written = (imported / "items.jsonl").read_bytes()
    for language, item in items_of(imported).items():
        question, key, *_ = TEXTS[language]
        assert (item.question, item.answer) == (question, key)
        assert question.encode() in written
        assert f'"{key}"'.encode() in written


def test_prompts_keep_the_texts(imported: Path) -> None:
    book = PromptBook()
    for language, item in items_of(imported).items():
        question, key, *_ = TEXTS[language]
        assert book.answer(item)[-1]["content"] == question
        parent = PromptItem(item, 5.0)
        prompt = book.rewrite(
            target=5,
            parent=parent,
            references=[parent],
            earlier=[],
            writer=1,
            writers=1,
            round=1,
            nonce="abcdef",
        )[-1]["content"]
        assert prompt.count(f"<question-abcdef>{question}</question-abcdef>") == 2
        assert prompt.count(f"<answer-abcdef>{key}</answer-abcdef>") == 2
        assert f'language="{language}"' in prompt
        assert (
            f"<question-abcdef>{question}</question-abcdef>"
            in book.judge_blind(item, nonce="abcdef")[-1]["content"]
        )


def test_replies_in_the_language_are_graded(imported: Path) -> None:
    with Sandbox() as sandbox:
        grader = Grader(sandbox)
        for language, item in items_of(imported).items():
            *_, right, wrong = TEXTS[language]
            assert asyncio.run(grader.self_check(item)).verdict == "correct"
            assert asyncio.run(grader.grade(item, right)).verdict == "correct", language
            assert asyncio.run(grader.grade(item, f"\\boxed{{{item.answer}}}")).verdict == "correct"
            assert asyncio.run(grader.grade(item, wrong)).verdict == "wrong", language


def test_export_keeps_the_bytes(imported: Path, tmp_path: Path) -> None:
    made = tuple(items_of(imported).values())
    pool = Pool(tmp_path / "memory.sqlite")
    pool.save_benchmark("f", "rivers", made, ["m"], {item.id: [[1, 2]] for item in made})
    children = [Item(f"bf-{item.id}", f"{item.question}？", item.answer, item.question) for item in made]

    def estimate(item: str, source: str) -> Estimate:
        return Estimate(item, "frozen", source, 0.5, 0.1, 0.5, 0.01, 0.48, 0.52, 20, None, 0.008)  # type: ignore[arg-type]

    scale = ScaleRow("frozen", "minmax", -3.0, 4.0, "nuts", 1, ["m"], [0.0], [[0.0]], {"passed": True}, {})
    pool.save_scale(scale, [estimate(item.id, "offline") for item in made])
    for gap, child in enumerate(children, 1):
        name = f"g{gap}r01w1"
        candidate = Candidate(
            id=name, item=child.id, gap=gap, round=1, writer=1, target=0.5, parent=made[0].id, reference_ids=[],
            status="accepted", rewriter="r", judge="j", prompt_version="v1", prompt_hashes={},
        )  # fmt: skip
        pool.save_candidate(candidate, child)
        pool.save_estimates([estimate(child.id, "online")])
        pool.save_judgement(JudgementRow(name, "accepted", child.answer, True, True, [], "", 2))
        pool.save_attempts([AttemptRow(child.id, "m", 0, "correct", "", child.answer)])
    pool.save_gaps(
        [
            GapRow(gap, 0.4, 0.6, 0.5, 0.01, 100, "filled", f"g{gap}r01w1", 1)
            for gap in range(1, len(made) + 1)
        ]
    )
    write_jsonl(tmp_path / "out.jsonl", accepted_items(pool))
    packets = export_packets(
        pool, tmp_path, tmp_path / "out", reviewers=["r1"], originals=1.0, seed=1
    ).packets
    pool.close()
    exported, packet = (tmp_path / "out.jsonl").read_bytes(), (packets["r1"] / "review.jsonl").read_bytes()
    for row, child in zip(map(json.loads, exported.decode().splitlines()), children, strict=True):
        assert (row["question"], row["answer"], row["solution"]) == (
            child.question,
            child.answer,
            child.solution,
        )
        assert row["judgement"]["blind_answer"] == child.answer
    for text in (text for child in children for text in (child.question, child.answer)):
        assert text.encode() in exported
        assert text.encode() in packet
