"""The simulated world behind the endpoint: which role answers as whom."""

from __future__ import annotations

from benchfill.worlds.chat import ChatRequest, Turn
from benchfill.worlds.settings import SimulatedSettings
from benchfill.worlds.simulated import judge, rewriter
from benchfill.worlds.simulated.respondents import RESPONDENTS, write_answer

__all__ = ["SimulatedWorld"]


class SimulatedWorld:
    """Rewriter, judge and twelve respondents who really work items out."""

    name = "simulated"
    models = ("judge", "rewriter", *sorted(RESPONDENTS))

    def __init__(self, settings: SimulatedSettings) -> None:
        self.settings = settings

    def reply(self, request: ChatRequest) -> Turn:
        """One turn, drawn from the request's seed and content alone."""
        if request.model == "rewriter":
            return rewriter.reply(request, self.settings)
        if request.model == "judge":
            return judge.reply(request, self.settings)
        asked = request.texts("user")
        question = asked[-1] if asked else ""
        return Turn(write_answer(request.model, question, request.seed, no_answer=self.settings.no_answer))
