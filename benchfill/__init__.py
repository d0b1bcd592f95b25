"""BenchFill: a benchmark as a measure over difficulty, diagnosed and repaired."""

__version__ = "0.1.0"
