"""Models behind HTTP, as vLLM serves them (the OpenAI-compatible ``/v1/embeddings``, and ``/v1/rerank``)."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import httpx2
import msgspec
import numpy as np
from numpy.typing import NDArray

from ...schemas import Unavailable
from .embedder import Role

CONNECT_S: Final = 2.0
EMBED_S: Final = 20.0
RERANK_S: Final = 3.0
"""A caller waits for it: an answer without it is better than none."""
_WHOLE_INPUT: Final = -1
"""``truncate_prompt_tokens``: cut at what the model reads."""

T = TypeVar("T")


class _Embedding(msgspec.Struct, frozen=True):
    index: int
    embedding: list[float]


class _Embeddings(msgspec.Struct, frozen=True):
    data: list[_Embedding]


class _Rank(msgspec.Struct, frozen=True):
    index: int
    relevance_score: float


class _Ranks(msgspec.Struct, frozen=True):
    results: list[_Rank]


class RemoteEmbedder:
    """See `Embedder`: a model of an inference service. Its calibration is measured when it is first used."""

    def __init__(self, client: httpx2.Client, model: str, dimensions: int, *, query_prefix: str = "") -> None:
        self._client = client
        self._model = model
        self._dimensions = dimensions
        self._query_prefix = query_prefix

    @classmethod
    def connect(cls, url: str, model: str, *, api_key: str | None = None, query_prefix: str = "") -> Self:
        """The model ``model`` at ``url`` (up to, and without, ``/v1``); one text is embedded to see how it answers.

        Raises:
            Unavailable: it does not.
        """
        timeout = httpx2.Timeout(EMBED_S, connect=CONNECT_S)
        client = httpx2.Client(base_url=url, headers=_headers(api_key), timeout=timeout)
        try:
            dimensions = len(_asked(client, model, ["ready?"])[0])
        except Unavailable:
            client.close()
            raise
        return cls(client, model, dimensions, query_prefix=query_prefix)

    @property
    def model(self) -> str:
        """Its name, as the service knows it."""
        return self._model

    @property
    def dimensions(self) -> int:
        """Of its vectors."""
        return self._dimensions

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """See `Embedder.embed`. ``query_prefix`` goes before each query."""
        prefix = self._query_prefix if role == "query" else ""
        vectors = np.array(_asked(self._client, self._model, [prefix + text for text in texts]), dtype=np.float32)
        if vectors.shape != (len(texts), self._dimensions) or not np.isfinite(vectors).all():
            raise Unavailable(f"the embedding service gave {vectors.shape} for {len(texts)} texts")
        norms: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not norms.all():
            raise Unavailable("the embedding service gave a vector of no length")
        return (vectors / norms).astype(np.float32)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class Reranker:
    """A cross-encoder of an inference service; an async context manager."""

    def __init__(self, client: httpx2.AsyncClient, model: str) -> None:
        self._client = client
        self._model = model

    @classmethod
    def at(cls, url: str, model: str, *, api_key: str | None = None) -> Self:
        """The model ``model`` at ``url`` (up to, and without, ``/v1``). Nothing is asked yet."""
        timeout = httpx2.Timeout(RERANK_S, connect=CONNECT_S)
        return cls(httpx2.AsyncClient(base_url=url, headers=_headers(api_key), timeout=timeout), model)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers ``query``, 0…1, in order.

        Raises:
            Unavailable: the service does not say, or not in time.
        """
        body = {
            "model": self._model,
            "query": query,
            "documents": list(texts),
            "truncate_prompt_tokens": _WHOLE_INPUT,
        }
        try:
            response = await self._client.post("/v1/rerank", json=body)
        except httpx2.HTTPError as e:
            raise Unavailable(f"the reranking service does not answer: {type(e).__name__} {e}") from e
        ranks = _decoded(response, _Ranks).results
        scores = {rank.index: min(1.0, max(0.0, rank.relevance_score)) for rank in ranks}
        if scores.keys() != set(range(len(texts))):
            raise Unavailable(f"the reranking service scored {len(scores)} of {len(texts)} texts")
        return [scores[i] for i in range(len(texts))]


def _asked(client: httpx2.Client, model: str, texts: Sequence[str]) -> list[list[float]]:
    body: dict[str, Any] = {
        "model": model,
        "input": list(texts),
        "encoding_format": "float",
        "truncate_prompt_tokens": _WHOLE_INPUT,
    }
    try:
        response = client.post("/v1/embeddings", json=body)
    except httpx2.HTTPError as e:
        raise Unavailable(f"the embedding service does not answer: {type(e).__name__} {e}") from e
    data = sorted(_decoded(response, _Embeddings).data, key=lambda each: each.index)
    if [each.index for each in data] != list(range(len(texts))):
        raise Unavailable(f"the embedding service gave {len(data)} vectors for {len(texts)} texts")
    return [each.embedding for each in data]


def _decoded(response: httpx2.Response, type: type[T]) -> T:
    if response.status_code != httpx2.codes.OK:
        raise Unavailable(f"the inference service answers {response.status_code}: {response.text[:200]}")
    try:
        return msgspec.json.decode(response.content, type=type)
    except msgspec.MsgspecError as e:
        raise Unavailable(f"the inference service gives an answer that cannot be read: {e}") from e


def _headers(api_key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}
