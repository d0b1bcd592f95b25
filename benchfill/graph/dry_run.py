"""What a search is expected to ask, before it asks anything."""

from __future__ import annotations

import numpy as np

from benchfill.calibration.fit import fit_1pl
from benchfill.calibration.scale import minmax_scale
from benchfill.graph.endpoints import configured_roles, embedded_roles, without_keys
from benchfill.graph.plan import GapRequest, plan_gaps
from benchfill.graph.prepare import Inputs
from benchfill.graph.spending import Asked, search_calls
from benchfill.settings import Settings

__all__ = ["expected_search"]

# Nothing is sent there: only names and the absence of prices matter.
NOWHERE = "http://127.0.0.1:9/v1"


def expected_search(inputs: Inputs, request: GapRequest, settings: Settings) -> list[Asked]:
    """Plan the search on a quick fit (the mode of the posterior, not the frozen scale) and count what it asks.

    Raises
    ------
    InputError
        The pool does not fit the log, or no gap is as asked for.
    """
    log = inputs.benchmark.log
    fit = fit_1pl(log, engine="mml", guessing=np.asarray([item.guessing for item in inputs.benchmark.items]))
    scale = minmax_scale(fit)
    if inputs.world:
        roles = embedded_roles(NOWHERE, inputs.world, log.models, settings.search)
    else:
        roles = configured_roles(without_keys(settings), log.models)
    asked = [place for place, model in enumerate(fit.models) if model in roles.pool]
    z = [float(scale.to_z(b)) for b in fit.b]
    gaps = plan_gaps(z, request, scale=scale, theta=fit.theta[asked], settings=settings.search)
    return search_calls(
        {gap.gap: gap.expected_attempts or 0 for gap in gaps if gap.status == "open"},
        rewriter=roles.rewriter,
        judge=roles.judge,
        pool=[roles.pool[model] for model in sorted(roles.pool)],
        settings=settings.search,
        anchored=not inputs.world,
        grader=roles.grader,
    )
