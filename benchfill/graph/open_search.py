"""A search is made of what a run's memory holds and of who is asked: the same in the run's process and in a worker."""

from __future__ import annotations

import numpy as np

from benchfill.calibration.scale import Scale
from benchfill.graph.models import Models
from benchfill.graph.prepare import SCALE_ID
from benchfill.graph.search import Emit, Search
from benchfill.memory.pool import Pool
from benchfill.prompts.render import PromptBook
from benchfill.settings import Settings
from benchfill.tools.grading import Grader
from benchfill.tools.sandbox import Sandbox

__all__ = ["make_search"]


def make_search(
    pool: Pool,
    settings: Settings,
    models: Models,
    sandbox: Sandbox,
    emit: Emit,
    *,
    prompts: PromptBook | None = None,
) -> Search:
    """What every node works with: of the frozen scale the models that are asked.

    Parameters
    ----------
    prompts
        Where the settings' folder of prompts may not be at hand: the book itself.
    """
    run = pool.run()
    scale = pool.scale()
    if scale is None:
        raise LookupError("the scale is not frozen")
    asked = [place for place, model in enumerate(scale.models) if model in models.respondents]
    return Search(
        run=run.id,
        seed=run.seed,
        settings=settings.search,
        pool=pool,
        scale=Scale(scale.name, scale.lo, scale.hi),
        scale_id=SCALE_ID,
        models=tuple(scale.models[place] for place in asked),
        theta=np.asarray(scale.theta)[asked],
        theta_draws=np.asarray(scale.theta_draws)[:, asked],
        prompts=PromptBook(settings.search.prompts) if prompts is None else prompts,
        rewriter=models.rewriter,
        judge=models.judge,
        respondents=models.respondents,
        grader=Grader(sandbox, settings.grading),
        grader_model=models.grader,
        # The replay world knows an item by its text as logged, options and all.
        shuffle=settings.answer.shuffle_options and run.world != "replay",
        sandbox=sandbox,
        emit=emit,
        no_answer=settings.answer.no_answer,
        min_models=settings.answer.min_models,
    )
