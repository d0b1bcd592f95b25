"""The simulated world: respondents who work items out, and the sample benchmark made of their answers."""

from __future__ import annotations

from pathlib import Path

__all__ = ["SAMPLE_FOLDER", "SAMPLE_ITEMS", "SAMPLE_RESPONSES"]

SAMPLE_FOLDER = Path(__file__).resolve().parent / "sample"
SAMPLE_ITEMS = SAMPLE_FOLDER / "items.jsonl"
SAMPLE_RESPONSES = SAMPLE_FOLDER / "responses.csv"
