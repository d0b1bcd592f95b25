"""What earlier runs learned of a rewriter: taken once when a run begins, kept with the run, added to when it ends."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchfill.graph.measuring import hits_before
from benchfill.graph.search import Emit, Search
from benchfill.memory.pool import Pool
from benchfill.memory.records import HitRow, RunRow
from benchfill.memory.rewriters import RewriterMemory
from benchfill.prompts.render import PromptBook
from benchfill.settings import SearchSettings
from benchfill.tools.endpoint import Endpoint

__all__ = ["REWRITERS", "begin_with_record", "keep_record", "rewriter_id", "uses_record"]

# The file of all rewriters, beside the ledger.
REWRITERS = "rewriters.sqlite"
# Of the endpoint: what changes what it writes, and nothing that only changes how it is reached.
WRITING = ("place", "model", "temperature", "top_p", "max_tokens", "extra_body")


def uses_record(run: RunRow, settings: SearchSettings) -> bool:
    """Whether a run begins with what earlier runs learned, and hands on what it learns.

    Unless the user says otherwise: with models of the user's. Runs of the embedded worlds are to be the same for the
    same seed in every home.
    """
    return not run.world if settings.record is None else settings.record


def rewriter_id(
    rewriter: Endpoint, prompts: PromptBook, fingerprint: str, world: str, world_settings: Mapping[str, Any]
) -> str:
    """Hash of what writes and of the axis it is judged on: model, parameters, prompts, benchmark.

    Where one of them differs nothing is handed on.
    """
    model = {name: getattr(rewriter, name) for name in WRITING}
    return _hash([model, prompts.hashes(), fingerprint, world, dict(world_settings)])


def begin_with_record(pool: Pool, run: RunRow, rewriter: Endpoint, path: Path, emit: Emit) -> None:
    """Take what is known of the rewriter, and keep it with the run: what comes later changes nothing in it.

    Parameters
    ----------
    path
        The file of all rewriters.
    """
    settings = SearchSettings.model_validate(run.settings["search"])
    if not uses_record(run, settings):
        return
    name = _rewriter_of(pool, run, rewriter, settings)
    command = _hash([name, run.seed, dict(run.request), dict(run.settings["search"]), run.settings["answer"]])
    with RewriterMemory(path) as memory:
        hits = memory.begin(name, command)
    pool.save_known_hits(hits)
    if hits:
        runs = len({hit.run for hit in hits})
        message = (
            f"the search begins with where {len(hits)} items of {runs} earlier runs of this rewriter landed"
        )
        emit("stage", name="record", message=message, fraction=None)


def keep_record(search: Search, path: Path) -> None:
    """Hand on where this run's items landed."""
    run = search.pool.run()
    if not uses_record(run, search.settings):
        return
    name = _rewriter_of(search.pool, run, search.rewriter.endpoint, search.settings)
    rows = [
        HitRow(run.id, candidate, *dataclasses.astuple(hit)) for candidate, hit in hits_before(search).items()
    ]
    with RewriterMemory(path) as memory:
        memory.keep(name, rows)


def _rewriter_of(pool: Pool, run: RunRow, rewriter: Endpoint, settings: SearchSettings) -> str:
    stored = pool.benchmark()
    if stored is None:
        raise LookupError("the benchmark is not in the memory")
    return rewriter_id(
        rewriter, PromptBook(settings.prompts), stored[0], run.world, run.settings.get("world") or {}
    )


def _hash(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
