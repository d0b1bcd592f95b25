"""A model that replies from a script, a grader that compares texts, a sandbox in place: fakes of the contracts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from benchfill.errors import CallFailed
from benchfill.tools.reply import Reply
from benchfill.tools.reply_body import ToolCall


def reply(
    *calls: tuple[str, dict[str, Any]], text: str = "", malformed: Sequence[str] = (), finish: str = "stop"
) -> Reply:
    """One reply with tool calls ``(name, arguments)``."""
    made = tuple(ToolCall(f"c{place}", name, arguments) for place, (name, arguments) in enumerate(calls))
    return Reply(text, made, tuple(malformed), "", finish, 10, 5, False, "key")


class ScriptedModel:
    """Replies in order; an exception in the script is raised. Remembers what it was asked."""

    def __init__(self, *script: Reply | Exception) -> None:
        self.script = list(script)
        self.asked: list[SimpleNamespace] = []
        self.endpoint = SimpleNamespace(name="m1")

    async def ask(
        self,
        messages: Sequence[dict[str, Any]],
        *,
        tools: Sequence[Any] = (),
        tool_choice: str | None = None,
        seed: int,
        tag: str,
    ) -> Reply:
        self.asked.append(
            SimpleNamespace(
                messages=copy.deepcopy(list(messages)),
                tools=tools,
                tool_choice=tool_choice,
                seed=seed,
                tag=tag,
            )
        )
        if not self.script:
            raise AssertionError("the script is over")
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


class TextGrader:
    """Answers are equal when their texts are; ``verdicts`` overrules by answer."""

    def __init__(self, **verdicts: str) -> None:
        self.verdicts = verdicts

    async def equivalent(self, item: Any, answer: str) -> SimpleNamespace:
        verdict = self.verdicts.get(answer, "correct" if answer == item.answer else "wrong")
        return SimpleNamespace(verdict=verdict, extracted=answer, reason="")

    async def grade(self, item: Any, response: str, *, finish_reason: str = "stop") -> SimpleNamespace:
        return await self.equivalent(item, response)

    async def self_check(self, item: Any) -> SimpleNamespace:
        return await self.equivalent(item, item.answer)


class PlaceSandbox:
    """Runs a task where it is called."""

    async def call(self, task: Callable[..., Any], *args: Any, seconds: float = 5.0) -> Any:
        return task(*args)


def assert_well_formed(messages: Sequence[dict[str, Any]]) -> None:
    """Every tool call is answered once, in order, right behind its turn, and nothing else is."""
    place = 0
    while place < len(messages):
        message = messages[place]
        place += 1
        assert message["role"] in {"system", "user", "assistant"}, message
        assert isinstance(message["content"], str)
        ids = [call["id"] for call in message.get("tool_calls", ())]
        assert len(set(ids)) == len(ids)
        answered = []
        while place < len(messages) and messages[place]["role"] == "tool":
            answered.append(messages[place]["tool_call_id"])
            place += 1
        assert answered == ids


def down(reason: str = "timeout") -> CallFailed:
    return CallFailed("the call is over", reason)
