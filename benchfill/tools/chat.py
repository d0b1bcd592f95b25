"""langchain-openai's chat model, with a third of its processor time a call taken out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI

__all__ = ["LeanChatOpenAI"]


class LeanChatOpenAI(ChatOpenAI):
    """Sends the same body as its base class, and says the same of the reply.

    The OpenAI client walks the body along its type annotations in search of names to translate, of which a chat
    completion has none, builds a typed object of the reply, and the base class makes a dictionary of it again in
    another thread. Here the body goes out and the reply comes in as they are.
    """

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        *,
        reasoning: Mapping[int, str] | None = None,
        extra_headers: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        payload = self._get_request_payload(messages, stop=stop, **kwargs)
        # The base class drops what a model thought in its earlier turns.
        for place, thought in (reasoning or {}).items():
            payload["messages"][place]["reasoning_content"] = thought
        extra = payload.pop("extra_body", None) or {}
        body = {"stream": False, **payload, **extra}
        response = await self.root_async_client.post(
            "/chat/completions", cast_to=httpx2.Response, body=body, options={"headers": extra_headers or {}}
        )
        return self._create_chat_result(response.json())
