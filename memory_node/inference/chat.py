"""A language model behind the OpenAI-compatible ``/v1/chat/completions``, which answers in JSON of a given schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Literal, Self

import httpx2
import msgspec

from ...schemas import Unavailable

CONNECT_S: Final = 2.0
ANSWER_S: Final = 120.0
"""A model that was just started takes long for its first answer."""

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said; ``cut`` if it was not done when it ran out of tokens."""

    text: str
    cut: bool


class _Message(msgspec.Struct, frozen=True):
    content: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct, frozen=True):
    choices: list[_Choice]


class Chat:
    """An async context manager."""

    def __init__(self, client: httpx2.AsyncClient, model: str) -> None:
        self._client = client
        self.model = model

    @classmethod
    def at(cls, url: str, model: str, *, api_key: str | None = None, within_s: float = ANSWER_S) -> Self:
        """The model ``model`` at ``url`` (up to, and without, ``/v1``). Nothing is asked yet."""
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        timeout = httpx2.Timeout(within_s, connect=CONNECT_S)
        return cls(httpx2.AsyncClient(base_url=url, headers=headers, timeout=timeout), model)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def answer(
        self, messages: Sequence[Message], *, schema: dict[str, Any], name: str, max_tokens: int
    ) -> Answer:
        """What the model says to ``messages``, under the JSON schema ``schema`` as far as the service keeps to it.

        Raises:
            Unavailable: it does not answer, not in time, or not as the API says.
        """
        body = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "temperature": 0,
            "max_tokens": max_tokens,
            "response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": schema}},
        }
        try:
            response = await self._client.post("/v1/chat/completions", json=body)
        except httpx2.HTTPError as e:
            raise Unavailable(f"the language model does not answer: {type(e).__name__} {e}") from e
        if response.status_code != httpx2.codes.OK:
            raise Unavailable(f"the language model answers {response.status_code}: {response.text[:200]}")
        try:
            choices = msgspec.json.decode(response.content, type=_Completion).choices
        except msgspec.MsgspecError as e:
            raise Unavailable(f"the language model's service gives an answer that cannot be read: {e}") from e
        if not choices:
            raise Unavailable("the language model's service gives an answer without a choice")
        return Answer(choices[0].message.content or "", choices[0].finish_reason == "length")
