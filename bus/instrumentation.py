"""Every span and metric of ours, with unit and description: what OpenTelemetry is told.

Nothing is recorded unless the process has set up an SDK (`deploy.telemetry`). Spans name agents, pools and ids, metrics
neither; no content of a memory, no query and no error's text is in any of them. Names and attributes follow
OpenTelemetry's conventions for RPC and for a generative agent's memory
(https://opentelemetry.io/docs/specs/semconv/gen-ai/) where these have one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Final

import msgspec
from opentelemetry import metrics, propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, StatusCode

from ..schemas import OPERATIONS, AfterwitError
from . import names

_tracer = trace.get_tracer("afterwit")
_meter = metrics.get_meter("afterwit")

_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


def _create_histogram(name: str, description: str, bounds: tuple[float, ...] = _SECONDS) -> metrics.Histogram:
    return _meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=bounds)


ASKED: Final = _create_histogram(
    "afterwit.client.request.duration", "From the request to its answer, where it was asked (a gateway, mostly)."
)
SERVED: Final = _create_histogram("afterwit.server.request.duration", "What a node takes for a request.")
STAGES: Final = _create_histogram(
    "afterwit.retrieve.stage.duration",
    "What a stage of a retrieval takes: the same stages as `afterwit explain` shows.",
)
VISIBLE: Final = _create_histogram(
    "afterwit.index.delay",
    "From the log to the index: how long the oldest entry of a batch was not to be found.",
)
INDEXED: Final = _meter.create_counter(
    "afterwit.index.entries", unit="{entry}", description="Log entries that were made visible."
)
INGESTED: Final = _meter.create_counter(
    "afterwit.ingest.items", unit="{item}", description="Items of the ingest stream that were stored or refused."
)
BURIED: Final = _meter.create_counter(
    "afterwit.dead_letters", unit="{letter}", description="What could not be processed and was laid aside."
)
JOBS: Final = _create_histogram(
    "afterwit.reflection.duration", "What a job of looking back takes, each try.", (*_SECONDS, 60.0, 300.0)
)

_MEMORY_OPERATION: Final = {
    "store": "create_memory",
    "store_many": "create_memory",
    "share": "create_memory",
    "update": "update_memory",
    "link": "update_memory",
    "forget": "delete_memory",
    "retrieve": "search_memory",
    "trace": "search_memory",
}


@contextmanager
def asking(agent: str, op: str, headers: dict[str, str]) -> Iterator[None]:
    """The caller's side of a request; ``headers`` get its trace context."""
    with _request(ASKED, SpanKind.CLIENT, agent, op):
        propagate.inject(headers)
        yield


@contextmanager
def serving(agent: str, op: str, headers: Mapping[str, str] | None) -> Iterator[None]:
    """The node's side of a request; the caller's trace goes on in it."""
    context = propagate.extract({key.lower(): value for key, value in headers.items()}) if headers else None
    with _request(SERVED, SpanKind.SERVER, agent, op, context):
        yield


@contextmanager
def looking_back(agent: str, trigger: str) -> Iterator[None]:
    """One try at a job."""
    labels = {"afterwit.trigger": trigger}
    with _timed(JOBS, SpanKind.CONSUMER, "afterwit.reflect", labels, {"gen_ai.agent.name": agent}):
        yield


def about(request: msgspec.Struct) -> None:
    """Note on the present span which pool or memory ``request`` is about, if it names one."""
    span = trace.get_current_span()
    if span.is_recording():
        for field, attribute in (("pool", "gen_ai.memory.store.id"), ("id", "gen_ai.memory.record.id")):
            if isinstance(value := getattr(request, field, None), str):
                span.set_attribute(attribute, value)


def indexed(entries: int, oldest: datetime) -> None:
    """A batch can be found now, whose oldest entry has been in the log since ``oldest``."""
    INDEXED.add(entries)
    VISIBLE.record(max(0.0, time.time() - oldest.timestamp()))


def retrieved(retrieval_id: str, stages_ms: Mapping[str, float], *, no_answer: bool) -> None:
    """What a retrieval came to, and how long each stage took; its id leads on to `afterwit explain`."""
    trace.get_current_span().set_attributes({"afterwit.retrieval.id": retrieval_id, "afterwit.no_answer": no_answer})
    for stage, ms in stages_ms.items():
        STAGES.record(ms / 1000, {"afterwit.stage": stage})


def _request(
    measure: metrics.Histogram, kind: SpanKind, agent: str, op: str, context: Context | None = None
) -> AbstractContextManager[None]:
    """Either side of a request. Operations that a caller has made up are one, ``_OTHER``."""
    op = op if op in OPERATIONS else "_OTHER"
    labels = {"rpc.system.name": "nats", "rpc.method": op}
    if op in _MEMORY_OPERATION:
        labels["gen_ai.operation.name"] = _MEMORY_OPERATION[op]
    return _timed(measure, kind, names.request_template(op), labels, {"gen_ai.agent.name": agent}, context)


@contextmanager
def _timed(
    measure: metrics.Histogram,
    kind: SpanKind,
    name: str,
    labels: dict[str, str],
    attributes: Mapping[str, str],
    context: Context | None = None,
) -> Iterator[None]:
    """A span, and its seconds in ``measure``; an error's code is on both, its text on neither."""
    begun = time.perf_counter()
    with _tracer.start_as_current_span(
        name, context, kind, {**labels, **attributes}, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield
        except BaseException as e:
            labels["error.type"] = e.code if isinstance(e, AfterwitError) else type(e).__qualname__
            span.set_attribute("error.type", labels["error.type"])
            span.set_status(StatusCode.ERROR)
            raise
        finally:
            measure.record(time.perf_counter() - begun, labels)
