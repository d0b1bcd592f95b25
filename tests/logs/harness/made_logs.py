"""Logs made by the documented formats, for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

QUESTIONS = (
    "一个袋子里有 3 个红球和 5 个蓝球，一共有几个球？",
    "りんごが6個あります。2個食べると何個残りますか。",
    "إذا كان لدى سلمى ٧ كتب وأعطت صديقتها ٣ كتب، فكم كتابًا بقي لديها؟",
    "What is 7 × 8?\tTwo columns — “quoted”, e\u0301 decomposed, \u00e9 composed.",
)


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_json(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return path


def lm_eval_row(
    doc_id: int, question: str, key: str, filter_name: str, score: float, reply: str
) -> dict[str, Any]:
    return {
        "doc_id": doc_id,
        "doc": {"question": question, "answer": key},
        "target": key,
        "arguments": {"gen_args_0": {"arg_0": f"Question: {question}\nAnswer:", "arg_1": {"until": ["\n"]}}},
        "resps": [[reply]],
        "filtered_resps": [reply],
        "filter": filter_name,
        "metrics": ["exact_match"],
        "doc_hash": f"{doc_id:064x}",
        "exact_match": score,
    }


def lm_eval_folder(
    folder: Path,
    scores: Mapping[str, Sequence[int]],
    *,
    questions: Sequence[str] | None = None,
    filters: Sequence[str] = ("none",),
    task: str = "sums",
) -> Path:
    """Samples and results of several models, a folder each, as ``--log_samples --output_path`` writes them.

    The first filter has the scores; each further one is right everywhere.
    """
    time = "2026-01-02T03-04-05.678901"
    for model, right in scores.items():
        rows = [
            lm_eval_row(
                doc,
                questions[doc] if questions else f"What is {doc} + {doc}?",
                str(2 * doc),
                name,
                float(score if place == 0 else 1),
                f"{model} says {score} to {doc}",
            )
            for place, name in enumerate(filters)
            for doc, score in enumerate(right)
        ]
        own = folder / model.replace("/", "__")
        write_jsonl(own / f"samples_{task}_{time}.jsonl", rows)
        write_json(
            own / f"results_{time}.json",
            {
                "results": {task: {"alias": task}},
                "config": {"model": "hf", "model_args": f"pretrained={model}"},
                "model_name": model,
                "n-samples": {task: {"original": len(right), "effective": len(right)}},
            },
        )
    return folder


def rasch_scores(models: Sequence[str], items: int, seed: int = 1) -> dict[str, list[int]]:
    """Answers drawn from a 1PL: abilities from -1.5 to 1.5, difficulties from -2 to 2."""
    rng = np.random.default_rng(seed)
    difficulty = np.linspace(-2, 2, items)
    return {
        model: (rng.random(items) < 1 / (1 + np.exp(difficulty - ability))).astype(int).tolist()
        for model, ability in zip(models, np.linspace(-1.5, 1.5, len(models)), strict=True)
    }


def inspect_log(
    samples: Sequence[Mapping[str, Any]], *, model: str = "m/one", status: str = "success"
) -> dict[str, Any]:
    return {
        "version": 2,
        "status": status,
        "eval": {"task": "t", "model": model, "config": {"epochs": 1}, "dataset": {"name": "d"}},
        "samples": list(samples),
    }


def inspect_sample(item: Any, value: Any, *, epoch: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "id": item,
        "epoch": epoch,
        "input": f"question {item}",
        "target": "5",
        "scores": {"match": {"value": value}},
        **more,
    }
