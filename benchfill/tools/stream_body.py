"""A completion that came as a stream of events although none was asked for: put together again."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["assemble", "is_stream"]


def is_stream(body: bytes) -> bool:
    """Whether a body is server-sent events."""
    return body.lstrip()[:5] == b"data:"


def assemble(body: bytes) -> dict[str, Any] | None:
    """The completion whose chunks a stream holds.

    Returns
    -------
    dict or None
        None when the stream ended before its completion did, or holds what is no chunk. A chunk with an error is
        the result.
    """
    whole = _Whole()
    ended = False
    for line in body.decode("utf-8", "replace").splitlines():
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == "[DONE]":
            ended = True
            break
        try:
            chunk = json.loads(data, strict=False)
        except (ValueError, RecursionError):
            return None
        if not isinstance(chunk, dict):
            return None
        if chunk.get("error"):
            return chunk
        whole.add(chunk)
    # Without a reason to finish and without an end mark the connection was lost on the way.
    return whole.completion() if ended or whole.finish is not None else None


class _Whole:
    """What the chunks so far add up to."""

    def __init__(self) -> None:
        self.finish: str | None = None
        self._head: dict[str, Any] = {}
        self._usage: Any = None
        self._texts: dict[str, str] = {}
        self._calls: list[dict[str, Any]] = []
        self._indices: list[Any] = []

    def add(self, chunk: dict[str, Any]) -> None:
        self._head = {**{key: chunk[key] for key in ("id", "created", "model") if key in chunk}, **self._head}
        self._usage = chunk.get("usage") or self._usage
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        if isinstance(choice.get("finish_reason"), str):
            self.finish = choice["finish_reason"]
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return
        for name in ("content", "reasoning_content", "reasoning", "refusal"):
            if isinstance(delta.get(name), str):
                self._texts[name] = self._texts.get(name, "") + delta[name]
        for part in delta.get("tool_calls") or ():
            if isinstance(part, dict):
                self._add_call(part)

    def _add_call(self, part: dict[str, Any]) -> None:
        function = part.get("function")
        function = function if isinstance(function, dict) else {}
        index, identity = part.get("index"), part.get("id")
        place = next((k for k in reversed(range(len(self._calls))) if self._indices[k] == index), None)
        # A new id at an index in use is a new call: some servers give all calls the same index.
        if place is None or (identity and self._calls[place].get("id") not in (None, "", identity)):
            self._calls.append(
                {"id": identity, "type": "function", "function": {"name": "", "arguments": ""}}
            )
            self._indices.append(index)
            place = len(self._calls) - 1
        call = self._calls[place]
        call["id"] = call["id"] or identity
        if isinstance(function.get("name"), str) and not call["function"]["name"]:
            call["function"]["name"] = function["name"]
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            arguments = json.dumps(arguments)
        if isinstance(arguments, str):
            call["function"]["arguments"] += arguments

    def completion(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self._texts.get("content"), **self._texts}
        if self._calls:
            message["tool_calls"] = self._calls
        choice = {"index": 0, "message": message, "finish_reason": self.finish}
        return {**self._head, "object": "chat.completion", "choices": [choice], "usage": self._usage}
