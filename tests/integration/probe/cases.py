"""Every question that can be put to the bus about things of somebody else. An operation without a case fails a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .world import Things

Request = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One question. ``comparable``: what is not there must be answered like what is not for the one who asks.

    Not so where the point is to say whether a name is taken, and where the name is searched for as text.
    """

    op: str
    request: Request
    comparable: bool = True


@dataclass(frozen=True, slots=True)
class Own:
    """What the one who asks has itself."""

    agent: str
    pool: str
    memory: str
    retrieval: str
    extra: Request = field(default_factory=dict)


def cases(op: str, own: Own, its: Things) -> Iterator[Case]:
    """The questions of ``op`` about ``its`` things."""
    for request in CASES[op](own, its):
        searched = op == "retrieve" and any(word in request["query"] for word in (its.word, its.entity))
        yield Case(op, request, comparable=not searched and request not in _telling_existence(own, its))


def _telling_existence(own: Own, its: Things) -> list[Request]:
    return [
        {"pool": its.pool, "description": "mine"},
        {"pool": own.pool, "agent": its.agent, "role": "reader"},
    ]


def _where(own: Own, its: Things) -> list[Request]:
    """The filters, each on what somebody else has."""
    return [
        {"pools": [its.pool]},
        {"pools": [its.private_pool]},
        {"pools": [own.pool, its.pool]},
        {"tags": [its.tag]},
        {"entities": [its.entity]},
        {"task_type": its.task_type},
        {"session_id": its.session},
        {"clearance": [its.label]},
        {"include_archived": True, "tags": [its.tag]},
        {"tier": "semantic", "min_confidence": 0.1},
    ]


def _ids(its: Things) -> tuple[str, str]:
    return its.private_id, its.shared_id


def _store(own: Own, its: Things) -> list[Request]:
    return [
        {"content": "x", "pool": its.pool},
        {"content": "x", "pool": its.private_pool},
        {"content": "x", "pool": its.pool, "idempotency_key": its.key},
        {"content": "x", "idempotency_key": its.key},
        {"content": "x", "pool": its.pool, "ack": "accepted"},
        *({"content": "x", "caused_by": [own.memory, id]} for id in _ids(its)),
    ]


def _update(own: Own, its: Things) -> list[Request]:
    return [
        {"id": id, "expected_version": version, **change}
        for id in _ids(its)
        for version in (1, 2, 9)
        for change in ({"content": "x"}, {"restore_version": 1}, {"status": "archived"})
    ]


def _forget(own: Own, its: Things) -> list[Request]:
    named = [
        {"ids": ids, "reason": "x", **how}
        for ids in ([its.private_id], [its.shared_id], [own.memory, its.shared_id])
        for how in ({}, {"cascade": True}, {"purge": True})
    ]
    narrow = (
        where for where in _where(own, its) if where.keys() & {"pools", "tags", "entities", "task_type", "session_id"}
    )
    return [*named, *({"where": where, "reason": "x"} for where in narrow)]


def _feedback(own: Own, its: Things) -> list[Request]:
    return [
        {"retrieval_id": retrieval, "used": [{"id": id, "effect": "misled"}]}
        for retrieval in (its.retrieval, own.retrieval)
        for id in (*_ids(its), own.memory)
        if (retrieval, id) != (own.retrieval, own.memory)
    ]


def _link(own: Own, its: Things) -> list[Request]:
    pairs = [(own.memory, id) for id in _ids(its)] + [(id, own.memory) for id in _ids(its)] + [_ids(its)]
    return [{"source": source, "target": target, "rel": "related_to"} for source, target in pairs]


CASES: dict[str, Callable[[Own, Things], list[Request]]] = {
    "store": _store,
    "store_many": lambda own, its: [{"items": _store(own, its)}, {"items": _store(own, its), "ack": "accepted"}],
    "get": lambda own, its: [
        *({"id": id, **version} for id in _ids(its) for version in ({}, {"version": 1}, {"version": 77})),
        {"uri": f"memory://{its.private_pool}/{its.private_id}"},
        {"uri": f"memory://{its.pool}/{its.shared_id}"},
        {"uri": f"memory://{own.pool}/{its.shared_id}"},
        {"uri": f"memory://{its.pool}/{own.memory}"},
    ],
    "retrieve": lambda own, its: [
        {"query": its.word},
        {"query": f"{its.word} relay", "top_k": 50, "hops": 2, "include_archived": True},
        {"query": its.entity, "profile": "hybrid", "max_content_length": 5000},
        *({"query": "relay", **where} for where in _where(own, its)),
    ],
    "context": lambda own, its: [{"session_id": its.session}, {"session_id": its.session, "max_tokens": 5}],
    "trace": lambda own, its: [
        *({"id": id, "direction": direction} for id in _ids(its) for direction in ("causes", "effects")),
        {"session_id": its.session},
        {"session_id": its.session, "signals": {"mean_logprob": -3.0}},
    ],
    "update": _update,
    "link": _link,
    "share": lambda own, its: [
        *({"id": id, "pool": own.pool} for id in _ids(its)),
        {"id": its.private_id, "pool": its.pool},
        {"id": own.memory, "pool": its.pool},
        {"id": own.memory, "pool": its.private_pool},
    ],
    "reflect": lambda own, its: [
        {"session_id": its.session, "wait": True},
        {"pool": its.pool, "wait": True},
        {"pool": its.private_pool, "dry_run": True},
        {"session_id": its.session, "pool": its.pool, "focus": its.entity},
    ],
    "end_session": lambda own, its: [{"session_id": its.session}, {"session_id": its.session, "outcome": "success"}],
    "forget": _forget,
    "history": lambda own, its: [{"id": id, **how} for id in _ids(its) for how in ({}, {"cursor": "1", "limit": 1})],
    "list": lambda own, its: [
        {"pool": pool, **how}
        for pool in (its.pool, its.private_pool)
        for how in ({}, {"history": True}, {"cursor": "1"})
    ],
    "entity": lambda own, its: [
        *({"pool": pool, "name": name} for pool in (its.pool, its.private_pool) for name in (its.entity, "Harbour")),
        {"pool": own.pool, "name": its.entity},
        {"pool": own.pool, "name": its.word, "clearance": [its.label]},
    ],
    "feedback": _feedback,
    "explain": lambda own, its: [{"retrieval_id": its.retrieval}],
    "changes": lambda own, its: [
        {},
        {"limit": 1000},
        {"pools": [its.pool]},
        {"pools": [its.private_pool]},
        {"pools": [own.pool, its.pool], "cursor": "0", "wait_ms": 1},
        {"cursor": "1"},
    ],
    "pools": lambda own, its: [{}],
    "pool_create": lambda own, its: [
        {"pool": its.private_pool},
        {"pool": its.pool, "description": "mine"},
    ],
    "pool_set": lambda own, its: [
        {"pool": its.pool, "retention_days": {"episodic": 1}},
        {"pool": its.private_pool, "retention_days": {}},
    ],
    "pool_grant": lambda own, its: [
        {"pool": its.pool, "agent": own.agent, "role": "owner"},
        {"pool": its.private_pool, "agent": own.agent, "role": "reader"},
        {"pool": its.pool, "agent": its.agent, "role": "reader"},
        {"pool": own.pool, "agent": its.agent, "role": "reader"},
    ],
    "pool_revoke": lambda own, its: [
        {"pool": its.pool, "agent": its.agent},
        {"pool": its.private_pool, "agent": its.agent},
        {"pool": own.pool, "agent": its.agent},
        {"pool": its.pool, "agent": own.agent},
        {"pool": its.private_pool, "agent": own.agent},
    ],
    "health": lambda own, its: [
        {"pool": pool, "newest": 50, "tags": 100, "entities": 100} for pool in (its.pool, its.private_pool)
    ],
}
"""By operation; those that are not there yet have theirs waiting."""


def resources(own: Own, its: Things) -> dict[str, list[str]]:
    """URIs to read and to watch, by the template that they are of."""
    return {
        "memory://pools": ["memory://pools"],
        "memory://agent/{agent}": [f"memory://{its.private_pool}"],
        "memory://shared/{name}": [f"memory://{its.pool}"],
        "memory://{kind}/{pool}/{id}": [
            f"memory://{its.private_pool}/{its.private_id}",
            f"memory://{its.pool}/{its.shared_id}",
            f"memory://{own.pool}/{its.shared_id}",
            f"memory://{its.pool}/{own.memory}",
        ],
        "memory://{kind}/{pool}/{id}/history{?cursor}": [
            f"memory://{its.private_pool}/{its.private_id}/history",
            f"memory://{its.pool}/{its.shared_id}/history",
            f"memory://{own.pool}/{its.shared_id}/history",
            f"memory://{its.pool}/{its.shared_id}/history?cursor=1",
        ],
        "memory://{kind}/{pool}/entity/{entity}": [
            f"memory://{its.private_pool}/entity/{its.entity}",
            f"memory://{its.pool}/entity/{its.entity}",
            f"memory://{its.pool}/entity/{its.word}",
            f"memory://{own.pool}/entity/{its.entity}",
        ],
        "memory://agent/{agent}/session/{session}": [
            f"memory://agent/{its.agent}/session/{its.session}",
            f"memory://agent/{own.agent}/session/{its.session}",
        ],
    }


def prompts(own: Own, its: Things) -> dict[str, list[dict[str, str]]]:
    """Arguments, by the prompt that they are for."""
    return {
        "recall": [
            {"topic": its.word},
            {"topic": "relay", "pool": its.pool},
            {"topic": "relay", "pool": its.private_pool},
            {"topic": "relay", "tag": its.tag},
        ],
        "look_back": [{"session": its.session}],
    }


def completions(own: Own, its: Things) -> list[tuple[str, str, dict[str, str]]]:
    """(argument, what was typed, what else was given)."""
    return [
        ("pool", its.pool[:10], {}),
        ("pool", "", {}),
        ("pool", "zq", {}),
        ("name", "zq", {}),
        ("agent", its.agent[:4], {}),
        ("kind", "", {}),
        ("session", its.session[:4], {}),
        ("id", its.shared_id[:8], {"kind": "shared", "pool": its.pool}),
        ("entity", "", {"kind": "shared", "pool": its.pool.partition("/")[2]}),
        ("entity", its.entity[:4], {"kind": "agent", "pool": its.agent}),
        ("tag", "", {"pool": its.pool}),
        ("tag", "zq", {}),
        ("topic", its.word[:4], {}),
    ]
