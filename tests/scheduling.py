"""Which tests share a worker under ``-n``: those that look at one costly thing made once."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

# Folders and files whose session and module fixtures take seconds: whole runs, fits, searches.
TOGETHER = (
    "tests/calibration/test_fit.py",
    "tests/calibration/test_gap_check.py",
    "tests/calibration/test_nuts_aime.py",
    "tests/calibration/test_rank_stability.py",
    "tests/commands/test_verify.py",
    "tests/end_to_end",
    "tests/engines",
    "tests/graph/test_ablation.py",
    "tests/graph/test_gap_check.py",
    "tests/graph/test_simulated_claims.py",
    "tests/merge",
    "tests/report/test_page.py",
)


def group_of(nodeid: str) -> str:
    """The folder or file a test shares its worker with, or the test alone."""
    file = nodeid.partition("::")[0]
    return next((each for each in TOGETHER if file == each or file.startswith(f"{each}/")), nodeid)


class Together(LoadScopeScheduling):
    """Groups by path; marks of groups are lost where pytest keeps the ids of tests to itself (9.2 does)."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
