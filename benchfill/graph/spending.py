"""What a run may spend, and what it is expected to spend before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchfill.memory.ledger import Ledger, MeanUsage
from benchfill.settings import BudgetSettings, SearchSettings
from benchfill.tools.budget import Budget, Charge, Limits, check_limits
from benchfill.tools.endpoint import Endpoint

__all__ = ["Asked", "budget_of", "forecast", "search_calls"]

# Without an earlier run to go by: calls of one conversation, and tokens in and out of one call.
# The grader is asked only where the rules cannot tell: its calls are counted by attempt of the pool.
TURNS = {"rewriter": 3.0, "judge": 3.0, "grader": 0.1, "pool": 1.0}
TOKENS = {
    "rewriter": (3000.0, 600.0),
    "judge": (1200.0, 400.0),
    "grader": (800.0, 150.0),
    "pool": (250.0, 700.0),
}
# As the plan of a gap counts on.
ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Asked:
    """So many conversations of a role with a model; of a grader so many attempts that it may be asked about."""

    role: str
    endpoint: Endpoint
    tasks: int


def budget_of(
    settings: BudgetSettings, endpoints: Sequence[Endpoint], *, ledger: Ledger, run: str, go_on: str
) -> Budget:
    """The budget of a run, less what it has spent in earlier sessions.

    Raises
    ------
    InputError
        A limit of the cost that could not be held.
    """
    limits = Limits(settings.max_calls, settings.max_tokens, settings.max_cost, settings.max_time)
    check_limits(limits, endpoints)
    return Budget(limits, Charge(*ledger.charged(run)), go_on)


def search_calls(
    attempts: Mapping[int, int],
    *,
    rewriter: Endpoint,
    judge: Endpoint,
    pool: Sequence[Endpoint],
    settings: SearchSettings,
    anchored: bool,
    grader: Endpoint | None = None,
) -> list[Asked]:
    """What a search is expected to ask: two rounds a gap, and the attempts of its plan shared by the pool.

    Parameters
    ----------
    attempts
        Expected attempts of all models together, by gap.
    anchored
        Whether anchors are asked before.
    """
    written = ROUNDS * settings.candidates * len(attempts)
    each = sum(attempts.values()) / max(len(pool), 1)
    anchors = settings.anchors * settings.anchor_attempts if anchored else 0
    asked = [Asked("pool", endpoint, round(each) + anchors) for endpoint in pool]
    graded = [] if grader is None else [Asked("grader", grader, sum(one.tasks for one in asked))]
    return [Asked("rewriter", rewriter, written), Asked("judge", judge, written), *graded, *asked]


def forecast(asked: Sequence[Asked], usage: Sequence[MeanUsage]) -> list[dict[str, Any]]:
    """Calls, tokens and cost, one row a role and model.

    Parameters
    ----------
    usage
        Means of earlier runs. A model that was never asked in a role goes by the other models of that role, a role
        that was never asked by assumptions, and ``basis`` says which.
    """
    rows = []
    for each in asked:
        basis, turns, tokens_in, tokens_out = _means(each, usage)
        calls = round(each.tasks * turns)
        counts = round(calls * tokens_in), round(calls * tokens_out)
        rows.append(
            {
                "role": each.role,
                "model": each.endpoint.name,
                "calls": calls,
                "input_tokens": counts[0],
                "output_tokens": counts[1],
                "cost": each.endpoint.price(*counts),
                "basis": basis,
            }
        )
    return rows


def _means(asked: Asked, usage: Sequence[MeanUsage]) -> tuple[str, float, float, float]:
    of_role = [mean for mean in usage if mean.role == asked.role]
    own = [mean for mean in of_role if mean.model == asked.endpoint.model]
    known, basis = (own, "its earlier calls") if own else (of_role, "earlier calls of the role")
    if not known:
        return "assumed", TURNS[asked.role], *TOKENS[asked.role]
    calls = sum(mean.calls for mean in known)
    if asked.role == "pool":
        turns = 1.0
    elif asked.role == "grader":
        attempts = sum(mean.calls for mean in usage if mean.role == "pool")
        turns = sum(mean.calls for mean in of_role) / attempts if attempts else TURNS["grader"]
    else:
        turns = calls / sum(mean.tasks for mean in known)
    tokens_in = sum(mean.calls * mean.input_tokens for mean in known) / calls
    return basis, turns, tokens_in, sum(mean.calls * mean.output_tokens for mean in known) / calls
