"""A Qdrant server for tests: its REST API, as far as our adapter uses it, over the engine of Qdrant Edge.

::

    python -m tests.engines.qdrant_facade --port 0 --ready-file F [--data-dir D]

writes ``{"url": "http://127.0.0.1:…"}`` to F when it listens. With ``--data-dir`` it keeps its collections there, so
that it can be killed and started again. The engine is real, and so is the client that asks; only the translation
between them is ours. What our adapter never sends is refused, lest a mistake go unseen.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import json
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import qdrant_edge as edge
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_MODES: Final = {
    None: None,
    "upsert": edge.UpdateMode.Upsert,
    "insert_only": edge.UpdateMode.InsertOnly,
    "update_only": edge.UpdateMode.UpdateOnly,
}


class Refused(Exception):
    """The request is wrong; ``status`` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Store:
    """The collections and aliases in a directory. Calls come one at a time: each operation is atomic."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._aliases_file = directory / "aliases.json"
        directory.mkdir(parents=True, exist_ok=True)
        found = self._aliases_file.read_bytes() if self._aliases_file.exists() else b"{}"
        self.aliases: dict[str, str] = json.loads(found)
        self.shards = {path.name: edge.EdgeShard.load(str(path)) for path in directory.iterdir() if path.is_dir()}

    def shard(self, name: str) -> edge.EdgeShard:
        """By its name or alias."""
        shard = self.shards.get(self.aliases.get(name, name))
        if shard is None:
            raise Refused(404, f"Collection `{name}` doesn't exist!")
        return shard

    def create(self, name: str, body: dict[str, Any]) -> bool:
        """Make a collection."""
        if name in self.shards or name in self.aliases:
            raise Refused(409, f"Collection `{name}` already exists!")
        vectors = {
            vector: edge.EdgeVectorParams(size=params["size"], distance=getattr(edge.Distance, params["distance"]))
            for vector, params in body["vectors"].items()
        }
        sparse = {
            vector: edge.EdgeSparseVectorParams(modifier={"idf": edge.Modifier.Idf}[params["modifier"]])
            for vector, params in body["sparse_vectors"].items()
        }
        path = self._directory / name
        path.mkdir()
        self.shards[name] = edge.EdgeShard.create(str(path), edge.EdgeConfig(vectors=vectors, sparse_vectors=sparse))
        return True

    def drop(self, name: str) -> bool:
        """Remove a collection and its aliases; whether there was one."""
        shard = self.shards.pop(name, None)
        if shard is None:
            return False
        shard.close()
        shutil.rmtree(self._directory / name)
        self._keep({alias: target for alias, target in self.aliases.items() if target != name})
        return True

    def change_aliases(self, actions: list[dict[str, Any]]) -> bool:
        """All of ``actions`` or none."""
        aliases = dict(self.aliases)
        for action in actions:
            match action:
                case {"create_alias": {"collection_name": name, "alias_name": alias}} if name in self.shards:
                    aliases[alias] = name
                case {"delete_alias": {"alias_name": alias}} if alias in aliases:
                    del aliases[alias]
                case _:
                    raise Refused(404, f"{action}: no such collection or alias")
        self._keep(aliases)
        return True

    def close(self) -> None:
        """Let go of the directory."""
        for shard in self.shards.values():
            shard.close()

    def _keep(self, aliases: dict[str, str]) -> None:
        temporary = self._aliases_file.with_suffix(".new")
        temporary.write_text(json.dumps(aliases))
        temporary.replace(self._aliases_file)
        self.aliases = aliases


def app_of(store: Store) -> Starlette:
    """The REST API over ``store``."""

    def route(method: str, path: str, answer: Callable[[str, Any], Any]) -> Route:
        async def endpoint(request: Request) -> Response:
            body = await request.body()
            try:
                result = answer(request.path_params.get("name", ""), msgspec.json.decode(body) if body else None)
            except Refused as e:
                return JSONResponse({"status": {"error": str(e)}, "time": 0.0}, e.status)
            except (KeyError, TypeError, ValueError) as e:
                return JSONResponse({"status": {"error": f"Format error: {e!r}"}, "time": 0.0}, 400)
            text = msgspec.json.encode({"result": result, "status": "ok", "time": 0.0}, enc_hook=str)
            return Response(text, media_type="application/json")

        return Route(path, endpoint, methods=[method])

    async def version(_: Request) -> Response:
        running = importlib.metadata.version("qdrant-client")  # it is the client's contract that we keep
        return JSONResponse({"title": "qdrant - vector search engine", "version": running})

    collection, points = "/collections/{name}", "/collections/{name}/points"
    return Starlette(
        routes=[
            Route("/", version),
            route("GET", "/aliases", lambda _, __: {"aliases": [
                {"alias_name": alias, "collection_name": name} for alias, name in store.aliases.items()
            ]}),
            route("GET", "/collections", lambda _, __: {"collections": [{"name": name} for name in store.shards]}),
            route("POST", "/collections/aliases", lambda _, body: store.change_aliases(body["actions"])),
            route("GET", f"{collection}/exists", lambda name, _: {"exists": name in store.shards}),
            route("PUT", collection, store.create),
            route("DELETE", collection, lambda name, _: store.drop(name)),
            route("PUT", f"{collection}/index", lambda name, body: _index(store.shard(name), **body)),
            route("POST", f"{points}/batch", lambda name, body: [
                _upsert(store.shard(name), **operation["upsert"]) for operation in body["operations"]
            ]),
            route("POST", f"{points}/query/batch", lambda name, body: _query(store.shard(name), body["searches"])),
            route("POST", f"{points}/scroll", lambda name, body: _scroll(store.shard(name), **body)),
            route("POST", f"{points}/count", lambda name, body: {"count": store.shard(name).count(
                edge.CountRequest(exact=body["exact"], filter=_filter(body.get("filter")))
            )}),
            route("POST", points, lambda name, body: _records(
                store.shard(name).retrieve(body["ids"], body["with_payload"], body.get("with_vector") or False)
            )),
            route("POST", f"{collection}/facet", lambda name, body: _facet(store.shard(name), **body)),
        ]
    )  # fmt: skip


def _index(shard: edge.EdgeShard, field_name: str, field_schema: Any) -> dict[str, Any]:
    match field_schema:
        case {"type": "keyword", "is_tenant": True}:
            params: Any = edge.KeywordIndexParams(is_tenant=True)
        case "keyword":
            params = edge.KeywordIndexParams()
        case "float":
            params = edge.FloatIndexParams()
        case "integer":
            params = edge.IntegerIndexParams()
        case _:
            raise Refused(400, f"no index of {field_schema}")
    shard.update(edge.UpdateOperation.create_field_index(field_name, params))
    return _DONE


def _upsert(
    shard: edge.EdgeShard,
    points: list[dict[str, Any]],
    update_filter: dict[str, Any] | None = None,
    update_mode: str | None = None,
) -> dict[str, Any]:
    made = [edge.Point(p["id"], {n: _vector(v) for n, v in p["vector"].items()}, p["payload"]) for p in points]
    shard.update(edge.UpdateOperation.upsert_points(made, _filter(update_filter), _MODES[update_mode]))
    return _DONE


def _query(shard: edge.EdgeShard, searches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    requests = [_request(**search) for search in searches]
    answers = shard.query_batch(edge.QueryBatchRequest(requests))
    return [{"points": [{"id": p.id, "version": 0, "score": p.score} for p in points]} for points in answers]


def _request(
    query: dict[str, Any],
    using: str,
    limit: int,
    *,
    with_payload: bool,
    with_vector: bool,
    filter: Any = None,
    params: Any = None,
) -> edge.QueryRequest:
    assert (with_payload, with_vector) == (False, False)
    return edge.QueryRequest(
        limit=limit,
        query=edge.Query.Nearest(_vector(query["nearest"]), using=using),
        filter=_filter(filter),
        params=edge.SearchParams(idf=edge.IdfParams(corpus=_filter(params["idf"]["corpus"]))) if params else None,
        with_payload=False,
        with_vector=False,
    )


def _scroll(
    shard: edge.EdgeShard,
    limit: int,
    *,
    with_payload: Any,
    with_vector: bool,
    filter: Any = None,
    offset: Any = None,
    order_by: Any = None,
) -> dict[str, Any]:
    order = order_by and edge.OrderBy(order_by["key"], {"desc": edge.Direction.Desc}[order_by["direction"]])
    records, following = shard.scroll(
        edge.ScrollRequest(
            limit=limit,
            filter=_filter(filter),
            offset=offset,
            with_payload=with_payload,
            with_vector=with_vector,
            order_by=order,
        )
    )
    return {"points": _records(records), "next_page_offset": following}


def _facet(shard: edge.EdgeShard, key: str, limit: int, exact: bool, filter: Any = None) -> dict[str, Any]:
    hits = shard.facet(edge.FacetRequest(key, limit=limit, exact=exact, filter=_filter(filter))).hits
    return {"hits": [{"value": hit.value, "count": hit.count} for hit in hits]}


def _records(records: list[Any]) -> list[dict[str, Any]]:
    return [{"id": record.id, "payload": record.payload, "vector": _plain(record.vector)} for record in records]


def _plain(vectors: Any) -> Any:
    def plain(vector: Any) -> Any:
        return {"indices": vector.indices, "values": vector.values} if hasattr(vector, "indices") else vector

    return {name: plain(vector) for name, vector in vectors.items()} if vectors else None


def _vector(vector: Any) -> Any:
    return vector if isinstance(vector, list) else edge.SparseVector(vector["indices"], vector["values"])


def _filter(filter: dict[str, Any] | None) -> edge.Filter | None:
    if filter is None:
        return None
    assert filter.keys() <= {"must", "must_not", "should"}
    return edge.Filter(
        must=[_condition(each) for each in filter.get("must") or ()],
        must_not=[_condition(each) for each in filter.get("must_not") or ()],
        should=[_condition(each) for each in filter.get("should") or ()] or None,
    )


def _condition(condition: dict[str, Any]) -> Any:
    match condition:
        case {"has_id": ids, **rest} if not rest:
            return edge.HasIdCondition(set(ids))
        case {"has_vector": name, **rest} if not rest:
            return edge.HasVectorCondition(name)
        case {"key": key, "match": {"any": values, **rest}} if not rest:
            return edge.FieldCondition(key, match=edge.MatchAny(values))
        case {"key": key, "match": {"except": values, **rest}} if not rest:
            return edge.FieldCondition(key, match=edge.MatchExcept(values))
        case {"key": key, "range": bounds}:
            return edge.FieldCondition(key, range=edge.RangeFloat(**bounds))
    raise Refused(400, f"the condition {condition} is not understood")


_DONE: Final = {"operation_id": 0, "status": "completed"}


async def serve(host: str, port: int, ready_file: Path, directory: Path) -> None:
    """Serve until SIGTERM or SIGINT."""
    store = Store(directory)
    listener = socket.create_server((host, port))
    server = uvicorn.Server(uvicorn.Config(app_of(store), log_level="warning", lifespan="off"))
    temporary = ready_file.with_suffix(".new")
    temporary.write_text(json.dumps({"url": f"http://{host}:{listener.getsockname()[1]}"}))
    temporary.replace(ready_file)  # who connects now is taken when the server runs
    await server.serve([listener])
    store.close()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ready-file", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="qdrant-facade-") as temporary:
        asyncio.run(serve(options.host, options.port, options.ready_file, options.data_dir or Path(temporary)))


if __name__ == "__main__":
    main()
