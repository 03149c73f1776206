"""Every NATS name of Afterwit: subjects, streams, consumers, buckets, headers. Built and parsed here only.

A pool ``agent/alice`` is two subject tokens, ``agent.alice``. Identifiers never hold ``.``, ``*``, ``>`` or spaces
(`afterwit.schemas.words` refuses them at the edge), so a name cannot break out of its token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

ROOT: Final = "afterwit.v1"
SERVICE: Final = "afterwit"
SERVICE_PING: Final = f"$SRV.PING.{SERVICE}"
"""Every memory node answers here, without doing anything (NATS micro)."""
SERVICE_STATS: Final = f"$SRV.STATS.{SERVICE}"
"""Every memory node answers here with what it has done and how its parts are (NATS micro)."""

LOG: Final = "AFTERWIT_LOG"
INGEST: Final = "AFTERWIT_INGEST"
JOBS: Final = "AFTERWIT_JOBS"
CHANGES: Final = "AFTERWIT_CHANGES"
USAGE: Final = "AFTERWIT_USAGE"
DEAD: Final = "AFTERWIT_DEAD"

AGENTS: Final = "AFTERWIT_AGENTS"
POOLS: Final = "AFTERWIT_POOLS"
USEFULNESS: Final = "AFTERWIT_USEFULNESS"
JOB_RECORDS: Final = "AFTERWIT_JOB_RECORDS"
"""How each job stands, for a week."""

APP_ACCOUNT: Final = "APP"
"""The NATS account of the parts (nodes, gateways, operators). It alone has JetStream."""
AGENTS_ACCOUNT: Final = "AGENTS"
"""The NATS account of agents. It imports requests, ingest, rejections and notices from `APP_ACCOUNT`, nothing else."""
AUTH_ACCOUNT: Final = "AUTH"
"""The NATS account in which the auth callout is asked."""
SYSTEM_ACCOUNT: Final = "SYS"
"""The NATS account that may list and end connections."""

INDEXER: Final = "indexer"
"""The durable consumer of the log that all nodes share."""
INGESTER: Final = "ingester"
"""The durable consumer of the ingest stream that all nodes share."""

REFLECT: Final = "reflect"
"""The kind of job that looks back."""
URGENCIES: Final = ("asked", "triggered", "scheduled")
"""How urgent a job is: who waits for it goes first, what is due some time goes last."""

REQUESTS: Final = f"{ROOT}.req.*.*"
LOG_SUBJECTS: Final = f"{ROOT}.log.>"
INGEST_SUBJECTS: Final = f"{ROOT}.ingest.>"
REQUEST_SUBJECTS: Final = f"{ROOT}.req.>"
REJECTED_SUBJECTS: Final = f"{ROOT}.rejected.>"
REVOKED_SUBJECTS: Final = f"{ROOT}.revoked.>"
CHANGED_SUBJECTS: Final = f"{ROOT}.changed.>"
NOTICE_SUBJECTS: Final = f"{ROOT}.notice.>"
"""Where nodes publish notices. The stream keeps what it accepts under `CHANGED_SUBJECTS`, and passes it on there."""
JOB_SUBJECTS: Final = f"{ROOT}.job.>"
USAGE_SUBJECTS: Final = f"{ROOT}.usage.>"
DEAD_SUBJECTS: Final = f"{ROOT}.dead.>"
SPENT: Final = f"{ROOT}.spent"
"""Where nodes tell each other what agents have used of their allowances. No agent may publish or subscribe here."""
ADMIN_SUBJECTS: Final = f"{ROOT}.admin.*"
"""Where nodes answer the operator. No agent may publish here."""
INGEST_FILLER: Final = f"{ROOT}.ingest.filler"
"""What is published here holds nothing, and is there to make the ingest stream begin a new file."""

CONTENT_TYPE: Final = "Content-Type"
ERROR: Final = "Nats-Service-Error"
ERROR_CODE: Final = "Nats-Service-Error-Code"
EXPECTED_SUBJECT_SEQ: Final = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_SUBJECT_SEQ_OVER: Final = "Nats-Expected-Last-Subject-Sequence-Subject"
"""Over which subjects (a pattern) `EXPECTED_SUBJECT_SEQ` is meant, instead of the message's own."""
MESSAGE_ID: Final = "Nats-Msg-Id"
REASON: Final = "Afterwit-Reason"
WAITED_FOR: Final = "Afterwit-Waited-For"
"""On a log entry: somebody waits until it can be found."""
RETRIED: Final = "Afterwit-Retried"
"""Which dead letter a message was before it was sent again."""
AT_WORK: Final = "Afterwit-At-Work"
"""On a sign of life in place of an answer: whoever was asked is about it."""
SUBJECT: Final = "Afterwit-Subject"
"""Where a dead letter was addressed to."""

HEADER_ALLOWANCE: Final = 2048
"""Bytes kept free for headers, which count towards the server's ``max_payload``."""

POOL_KEYS: Final = "pool.*.*"
"""The keys of all pools' records in the pools bucket."""

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+")


def request(agent: str, op: str) -> str:
    """Where ``agent`` asks for ``op``."""
    return _join("req", agent, op)


def request_template(op: str) -> str:
    """What requests for ``op`` are called where every agent's are one: a span's name."""
    return f"{ROOT}.req.{{agent}}.{_token(op)}"


def parse_request(subject: str) -> tuple[str, str]:
    """(agent, op) of a request subject."""
    agent, op = _parts(subject, "req", 2)
    return agent, op


def inbox(agent: str) -> str:
    """The inbox prefix of an agent's connections."""
    return f"_INBOX_{_token(agent)}"


def ingest(agent: str, pool: str) -> str:
    """Where ``agent`` publishes a store request for ``pool``."""
    return _join("ingest", agent, *_pool(pool))


def parse_ingest(subject: str) -> tuple[str, str]:
    """(agent, pool) of an ingest subject."""
    agent, kind, name = _parts(subject, "ingest", 3)
    return agent, f"{kind}/{name}"


def ingest_of_anybody() -> str:
    """Every ingest subject, in the form that `parse_ingest` takes."""
    return f"{ROOT}.ingest.*.*.*"


def rejected(agent: str) -> str:
    """Where ``agent`` learns why an ingested item was refused."""
    return _join("rejected", agent)


def revoked(agent: str) -> str:
    """Where parts tell each other that something was taken from ``agent``. No agent may publish or subscribe here."""
    return _join("revoked", agent)


def parse_revoked(subject: str) -> str:
    """The agent of a revocation's subject."""
    return _parts(subject, "revoked", 1)[0]


def log(pool: str, id: str) -> str:
    """A memory's subject for life."""
    return _join("log", *_pool(pool), id)


def log_of_any_pool(id: str) -> str:
    """The subject of a memory whose pool is not known; ids are unique across pools."""
    return f"{ROOT}.log.*.*.{_token(id)}"


def parse_log(subject: str) -> tuple[str, str]:
    """(pool, id) of a log subject."""
    kind, name, id = _parts(subject, "log", 3)
    return f"{kind}/{name}", id


def changed(pool: str, tier: str, id: str) -> str:
    """Where a change of a memory is made known."""
    return _join("changed", *_pool(pool), tier, id)


def notice(pool: str, tier: str, id: str) -> str:
    """Where a node publishes what is then heard, and kept, under `changed`."""
    return _join("notice", *_pool(pool), tier, id)


def changed_in_any_tier(pool: str, id: str) -> str:
    """All notices of one memory: its tier can change."""
    return ".".join((_join("changed", *_pool(pool)), "*", _token(id)))


def changes_of(pool: str) -> str:
    """All notices of a pool."""
    return _join("changed", *_pool(pool)) + ".>"


def parse_changed(subject: str) -> tuple[str, str, str]:
    """(pool, tier, id) of a notice's subject."""
    kind, name, tier, id = _parts(subject, "changed", 4)
    return f"{kind}/{name}", tier, id


def usage(agent: str, retrieval_id: str) -> str:
    """Where the record of a retrieval, and feedback on it, are kept."""
    return _join("usage", agent, retrieval_id)


def dead(what: str, token: str) -> str:
    """Where what could not be processed is kept; ``what`` is ``log``, ``ingest``, …"""
    return _join("dead", what, token)


def job(what: str, urgency: str, id: str) -> str:
    """Where a job waits for a worker; ``urgency`` is one of `URGENCIES`."""
    return _join("job", what, urgency, id)


def jobs_of(what: str, urgency: str) -> str:
    """All jobs of one kind and urgency."""
    return _join("job", what, urgency) + ".*"


def parse_job(subject: str) -> tuple[str, str, str]:
    """(what, urgency, id) of a job's subject."""
    what, urgency, id = _parts(subject, "job", 3)
    return what, urgency, id


def worker(what: str, urgency: str) -> str:
    """The durable consumer of jobs of one kind and urgency, which all nodes share."""
    return f"{_token(what)}-{_token(urgency)}"


def admin(what: str) -> str:
    """Where an operator asks nodes for ``what``."""
    return _join("admin", what)


def log_of_pool(pool: str) -> str:
    """All memories of a pool in the log."""
    return _join("log", *_pool(pool)) + ".*"


def parse_dead(subject: str) -> str:
    """The kind of work of a dead letter's subject."""
    return _parts(subject, "dead", 2)[0]


def pool_key(pool: str) -> str:
    """The key of a pool's record in the pools bucket."""
    return ".".join(("pool", *_pool(pool)))


def parse_pool_key(key: str) -> str:
    """The pool of a pool record's key."""
    _, kind, name = key.split(".")
    return f"{kind}/{name}"


def settings_key(pool: str) -> str:
    """The key of how a pool is kept, in the pools bucket."""
    return ".".join(("settings", *_pool(pool)))


def review_key(pool: str) -> str:
    """The key of what the last review of a pool found, in the bucket of jobs' records."""
    return ".".join(("review", *_pool(pool)))


def grant_key(pool: str, agent: str) -> str:
    """The key of one grant in the pools bucket."""
    return ".".join(("grant", *_pool(pool), _token(agent)))


def grants_of_agent(agent: str) -> str:
    """Keys of all grants of an agent."""
    return f"grant.*.*.{_token(agent)}"


def grants_in_pool(pool: str) -> str:
    """Keys of all grants in a pool."""
    return ".".join(("grant", *_pool(pool), "*"))


def parse_grant_key(key: str) -> tuple[str, str]:
    """(pool, agent) of a grant's key."""
    _, kind, name, agent = key.split(".")
    return f"{kind}/{name}", agent


def kv_subject(bucket: str, key: str) -> str:
    """The subject under which a key-value bucket keeps a key."""
    return f"$KV.{bucket}.{key}"


def kv_stream(bucket: str) -> str:
    """The stream behind a key-value bucket."""
    return f"KV_{bucket}"


def direct_get(stream: str) -> str:
    """Where ``stream`` is read without a consumer: as it stands by a JSON question, or with ``.<subject>`` added."""
    return f"$JS.API.DIRECT.GET.{stream}"


def leader_get(stream: str) -> str:
    """Where the leader of ``stream`` is asked for a message."""
    return f"$JS.API.STREAM.MSG.GET.{stream}"


def message_delete(stream: str) -> str:
    """Where JetStream is asked to delete one message of ``stream``, and to overwrite it."""
    return f"$JS.API.STREAM.MSG.DELETE.{stream}"


def consumer_next(stream: str, consumer: str) -> str:
    """Where a pull consumer is asked for messages."""
    return f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"


def stream_info(stream: str) -> str:
    """Where JetStream is asked about ``stream``."""
    return f"$JS.API.STREAM.INFO.{stream}"


@dataclass(frozen=True, slots=True)
class AgentPermissions:
    """What an agent's NATS connection may publish and subscribe to."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


def permissions(agent: str, readable_pools: tuple[str, ...]) -> AgentPermissions:
    """Exactly the contract's: its own requests, ingest, inbox and rejections, and the notices it may read."""
    token = _token(agent)
    return AgentPermissions(
        publish=(f"{ROOT}.req.{token}.*", f"{ROOT}.ingest.{token}.*.*"),
        subscribe=(f"{inbox(agent)}.>", rejected(agent), *(changes_of(pool) for pool in readable_pools)),
    )


def _join(*tokens: str) -> str:
    return ".".join((ROOT, *map(_token, tokens)))


def _pool(pool: str) -> tuple[str, str]:
    kind, _, name = pool.partition("/")
    return _token(kind), _token(name)


def _parts(subject: str, family: str, count: int) -> list[str]:
    prefix = f"{ROOT}.{family}."
    parts = subject.removeprefix(prefix).split(".")
    if not subject.startswith(prefix) or len(parts) != count:
        raise ValueError(f"{subject!r} is not a {family} subject")
    return parts


def _token(value: str) -> str:
    if not _TOKEN.fullmatch(value):
        raise ValueError(f"{value!r} cannot stand in a subject")
    return value
