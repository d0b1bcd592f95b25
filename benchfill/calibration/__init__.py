"""The statistics: numbers in, dataclasses out. Knows no LLM, no graph, no SQLite."""
