"""What a part tells OpenTelemetry, where the environment says that somebody listens.

OpenTelemetry's own variables rule, not ours: an endpoint (``OTEL_EXPORTER_OTLP_ENDPOINT``, or one for traces or metrics
alone) switches it on, and ``OTEL_SERVICE_NAME``, ``OTEL_TRACES_SAMPLER``, ``OTEL_EXPORTER_OTLP_HEADERS`` and the others
mean what they mean everywhere. What is told stands in `afterwit.bus.instrumentation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .. import __version__
from ..schemas import Invalid

_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_TRACES: Final = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_METRICS: Final = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
_NAME: Final = "OTEL_SERVICE_NAME"
_PROTOCOL: Final = "OTEL_EXPORTER_OTLP_PROTOCOL"


def export_telemetry(part: str, environ: Mapping[str, str]) -> None:
    """Export spans and metrics of this process over OTLP (HTTP) until it ends, if an endpoint is named.

    Raises:
        Invalid: the SDK is not installed, or another protocol is asked for.
    """
    traces, measures = (environ.get(_ENDPOINT) or environ.get(each) for each in (_TRACES, _METRICS))
    if not (traces or measures) or environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return
    if (protocol := environ.get(_PROTOCOL, "http/protobuf")) != "http/protobuf":
        raise Invalid(f"{_PROTOCOL}: {protocol!r} is not spoken here: http/protobuf is", field=_PROTOCOL)
    try:
        from opentelemetry import metrics, trace  # noqa: PLC0415  # all of this is an extra
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as e:
        raise Invalid(f"{_ENDPOINT} needs packages: pip install 'afterwit[otel]'", field=_ENDPOINT) from e
    attributes = {"service.namespace": "afterwit", "service.version": __version__}
    if not environ.get(_NAME):
        attributes["service.name"] = f"afterwit-{part}"
    resource = Resource.create(attributes)
    if traces:
        tracer_provider = TracerProvider(resource=resource)
        tracer_provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(tracer_provider)
    if measures:
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        metrics.set_meter_provider(MeterProvider(resource=resource, metric_readers=[reader]))
