"""The streams and buckets of the contract, made or brought up to date."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import nats.errors
from nats.js import JetStreamContext, api
from nats.js.errors import APIError, BadRequestError, NotFoundError, ServiceUnavailableError

from ..schemas import Unavailable
from . import names
from .connection import client_of, watch
from .notices import KEPT

_DAY_S: Final = 24 * 3600.0
_EXISTS_OTHERWISE: Final = 10058
_PATIENCE_S: Final = 30.0
_PAUSE_S: Final = 0.1

log = logging.getLogger(__name__)


def _limits(name: str, subjects: str, *, discard: api.DiscardPolicy, max_age_s: float = 0.0) -> api.StreamConfig:
    return api.StreamConfig(
        name=name,
        subjects=[subjects],
        retention=api.RetentionPolicy.LIMITS,
        storage=api.StorageType.FILE,
        discard=discard,
        max_age=max_age_s,
        allow_direct=True,
        deny_delete=False,
        deny_purge=False,
    )


def _work_queue(name: str, subjects: str) -> api.StreamConfig:
    return _limits(name, subjects, discard=api.DiscardPolicy.NEW).evolve(retention=api.RetentionPolicy.WORK_QUEUE)


def _notices() -> api.StreamConfig:
    """Keeps what comes to `NOTICE_SUBJECTS` under `CHANGED_SUBJECTS`, and passes it on there once it is kept.

    Listeners would hear a message that the stream refuses, were they on the subject that it is published to.
    """
    return _limits(
        names.CHANGES, names.NOTICE_SUBJECTS, discard=api.DiscardPolicy.OLD, max_age_s=KEPT.total_seconds()
    ).evolve(
        subject_transform=api.SubjectTransform(src=names.NOTICE_SUBJECTS, dest=names.CHANGED_SUBJECTS),
        republish=api.RePublish(src=names.CHANGED_SUBJECTS, dest=names.CHANGED_SUBJECTS),
    )


def _bucket(name: str) -> api.StreamConfig:
    """A key-value bucket with history 1, as nats-py's `create_key_value` makes it, with direct reads."""
    return api.StreamConfig(
        name=names.kv_stream(name),
        subjects=[names.kv_subject(name, ">")],
        retention=api.RetentionPolicy.LIMITS,
        storage=api.StorageType.FILE,
        discard=api.DiscardPolicy.NEW,
        max_msgs_per_subject=1,
        allow_direct=True,
        allow_rollup_hdrs=True,
        allow_msg_ttl=True,
        deny_delete=True,
    )


STREAMS: Final = (
    _limits(names.LOG, names.LOG_SUBJECTS, discard=api.DiscardPolicy.NEW),
    _work_queue(names.INGEST, names.INGEST_SUBJECTS),
    _work_queue(names.JOBS, names.JOB_SUBJECTS),
    _notices(),
    _limits(names.USAGE, names.USAGE_SUBJECTS, discard=api.DiscardPolicy.OLD, max_age_s=30 * _DAY_S),
    _limits(names.DEAD, names.DEAD_SUBJECTS, discard=api.DiscardPolicy.OLD),
    _bucket(names.AGENTS),
    _bucket(names.POOLS),
    _bucket(names.USEFULNESS),
    # In memory: a plan quotes memories, and what is purged must not stay on a disk.
    _bucket(names.JOB_RECORDS).evolve(max_age=7 * _DAY_S, storage=api.StorageType.MEMORY),
)


async def ensure_streams(js: JetStreamContext, *, replicas: int = 1) -> None:
    """Make all streams and buckets, or bring existing ones up to date; repeating it changes nothing.

    What an operator has set beyond our settings (size limits, placement, more replicas) stays.

    Raises:
        Unavailable: JetStream did not do it within half a minute; the text says why.
    """
    for wanted in STREAMS:
        await _ensure(js, wanted.evolve(num_replicas=replicas))


@asynccontextmanager
async def kept_streams(js: JetStreamContext, *, replicas: int = 1) -> AsyncIterator[None]:
    """`ensure_streams`, and again whenever the connection comes back: what is in memory ends with the NATS server."""
    await ensure_streams(js, replicas=replicas)
    back = asyncio.Event()
    unwatch = watch(client_of(js), back=back.set)
    renewing = asyncio.create_task(_renew(js, replicas, back), name="streams")
    try:
        yield
    finally:
        unwatch()
        renewing.cancel()
        await asyncio.wait((renewing,))


async def _renew(js: JetStreamContext, replicas: int, back: asyncio.Event) -> None:
    while await back.wait():
        back.clear()
        try:
            await ensure_streams(js, replicas=replicas)
        except Unavailable as e:
            log.warning("%s; it is tried again", e)
            await asyncio.sleep(_PATIENCE_S)
            back.set()


async def _ensure(js: JetStreamContext, wanted: api.StreamConfig) -> None:
    deadline = asyncio.get_running_loop().time() + _PATIENCE_S
    while True:
        try:
            return await _create_or_update(js, wanted)
        except (ServiceUnavailableError, NotFoundError, nats.errors.TimeoutError, nats.errors.NoRespondersError) as e:
            # JetStream is still starting, or another node was between looking and making.
            if asyncio.get_running_loop().time() > deadline:
                raise Unavailable(f"JetStream does not provide the stream {wanted.name}: {e}") from e
            await asyncio.sleep(_PAUSE_S)
        except APIError as e:
            raise Unavailable(f"JetStream refuses the stream {wanted.name}: {e.description}") from e


async def _create_or_update(js: JetStreamContext, wanted: api.StreamConfig) -> None:
    assert wanted.name is not None
    try:
        await js.add_stream(wanted)
        return
    except BadRequestError as e:
        if e.err_code != _EXISTS_OTHERWISE:
            raise
    present = (await js.stream_info(wanted.name)).config
    updated = present.evolve(
        subjects=wanted.subjects,
        discard=wanted.discard,
        max_age=wanted.max_age,
        max_msgs_per_subject=wanted.max_msgs_per_subject,
        allow_direct=wanted.allow_direct,
        subject_transform=wanted.subject_transform,
        republish=wanted.republish,
        allow_rollup_hdrs=wanted.allow_rollup_hdrs or present.allow_rollup_hdrs,
        allow_msg_ttl=wanted.allow_msg_ttl or present.allow_msg_ttl,
        num_replicas=max(wanted.num_replicas or 1, present.num_replicas or 1),
    )
    if updated != present:
        log.info("bringing the stream %s up to date", wanted.name)
        await js.update_stream(updated)
