"""langchain-openai's chat model, with a third of its processor time a call taken out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_openai import ChatOpenAI

__all__ = ["LeanChatOpenAI"]


class LeanChatOpenAI(ChatOpenAI):
    """Sends the same body as its base class.

    The OpenAI client walks all messages and tool schemas along its type annotations, in search of names to
    translate; a chat completion has none. What is in ``extra_body`` is merged into the body as it is, so the two
    large fields travel there. Callbacks still see the messages.
    """

    def _get_request_payload(
        self,
        input_: Any,
        *,
        stop: list[str] | None = None,
        reasoning: Mapping[int, str] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        # The base class drops what a model thought in its earlier turns.
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        for place, thought in (reasoning or {}).items():
            payload["messages"][place]["reasoning_content"] = thought
        large = {name: payload.pop(name) for name in ("messages", "tools") if name in payload}
        # The client requires the argument; the body takes the one of extra_body.
        return {**payload, "messages": [], "extra_body": {**(payload.get("extra_body") or {}), **large}}
