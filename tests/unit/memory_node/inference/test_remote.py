"""Models behind HTTP, tried against a scripted service."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from afterwit.memory_node.index import Calibration
from afterwit.memory_node.inference import RemoteEmbedder, Reranker
from afterwit.schemas import Unavailable
from tests.embedders import WordEmbedder


class Service:
    """Answers as vLLM does; ``answer`` is what it says instead, ``asked`` what came."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.answer: tuple[int, bytes] | None = None
        self.url = ""
        self.keys: list[str | None] = []

    def reply(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        self.asked.append(body)
        if self.answer is not None:
            return self.answer
        if path == "/v1/embeddings":
            vectors = 3 * WordEmbedder().embed(body["input"], "passage")  # not of unit length
            data = [{"index": i, "embedding": v.tolist(), "object": "embedding"} for i, v in enumerate(vectors)]
            return 200, json.dumps({"data": data[::-1], "model": body["model"], "usage": {}}).encode()
        words = set(body["query"].split())
        scores = [len(words & set(text.split())) / len(words) for text in body["documents"]]
        order = sorted(range(len(scores)), key=lambda i: -scores[i])
        results = [{"index": i, "relevance_score": scores[i], "document": {"text": ""}} for i in order]
        return 200, json.dumps({"id": "x", "results": results}).encode()


@contextmanager
def serving(service: Service) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            service.keys.append(self.headers["Authorization"])
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, data = service.reply(self.path, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def service(no_leaks: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    for patience in ("CONNECT_S", "EMBED_S", "RERANK_S"):
        monkeypatch.setattr(f"afterwit.memory_node.inference.remote.{patience}", 60.0)
    service = Service()
    with serving(service):
        yield service


def test_a_remote_embedder_is_an_embedder_like_any(service: Service) -> None:
    embedder = RemoteEmbedder.connect(service.url, "bge", api_key="k", query_prefix="find: ")
    try:
        assert (embedder.model, embedder.dimensions) == ("bge", WordEmbedder.dimensions)
        vectors = embedder.embed(["one text", "another"], "passage")
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        assert np.allclose(vectors, WordEmbedder().embed(["one text", "another"], "passage"), atol=1e-5)
        embedder.embed(["a query"], "query")
        assert service.asked[-1]["input"] == ["find: a query"]
        assert service.asked[-1]["truncate_prompt_tokens"] == -1
        assert set(service.keys) == {"Bearer k"}
        assert Calibration.measure(embedder).dimensions == WordEmbedder.dimensions
    finally:
        embedder.close()


def test_a_service_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="does not answer"):
        RemoteEmbedder.connect("http://127.0.0.1:9", "bge")


@pytest.mark.parametrize(
    "answer",
    [
        (500, b"out of memory"), (200, b"not json"), (200, b'{"data": []}'),
        (200, b'{"data": [{"index": 0, "embedding": [1.0]}]}'), (200, b'{"data": [{"index": 1, "embedding": []}]}'),
    ],
)  # fmt: skip
def test_no_usable_vectors_are_unavailable(service: Service, answer: tuple[int, bytes]) -> None:
    embedder = RemoteEmbedder.connect(service.url, "bge")
    service.answer = answer
    try:
        with pytest.raises(Unavailable):
            embedder.embed(["one"], "passage")
    finally:
        embedder.close()


async def test_marks_come_in_the_order_of_the_texts(service: Service) -> None:
    async with Reranker.at(service.url, "judge", api_key="k") as reranker:
        assert await reranker.scores("a b", ["x", "a b", "a"]) == [0.0, 1.0, 0.5]
    assert service.asked[-1]["model"] == "judge"
    assert service.keys == ["Bearer k"]


@pytest.mark.parametrize("answer", [(404, b"no such model"), (200, b"{}"), (200, b'{"results": []}')])
async def test_no_usable_marks_are_unavailable(service: Service, answer: tuple[int, bytes]) -> None:
    service.answer = answer
    async with Reranker.at(service.url, "judge") as reranker:
        with pytest.raises(Unavailable):
            await reranker.scores("a", ["b"])


async def test_a_reranker_that_is_not_there_is_unavailable(no_leaks: None) -> None:
    async with Reranker.at("http://127.0.0.1:9", "judge") as reranker:
        with pytest.raises(Unavailable, match="does not answer"):
            await reranker.scores("a", ["b"])
