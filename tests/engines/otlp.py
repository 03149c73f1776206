"""Somebody who listens to OpenTelemetry: OTLP over HTTP on a loopback port, kept in memory."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

_ANSWERS: Final = {
    "/v1/traces": ExportTraceServiceResponse().SerializeToString(),
    "/v1/metrics": ExportMetricsServiceResponse().SerializeToString(),
}


class Collector:
    """What has come, by the path that it came to, oldest first."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.bodies: dict[str, list[bytes]] = {path: [] for path in _ANSWERS}

    def spans(self) -> list[tuple[str, Span]]:
        """Each with the name of its service."""
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies["/v1/traces"]]
        return [
            (attributes(resource.resource.attributes)["service.name"], span)
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def metrics(self) -> dict[str, Metric]:
        """By name, each as it came last."""
        requests = [ExportMetricsServiceRequest.FromString(body) for body in self.bodies["/v1/metrics"]]
        return {
            metric.name: metric
            for request in requests
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


def attributes(given: Iterator[KeyValue] | list[KeyValue]) -> dict[str, str]:
    """As text, whatever they are."""
    return {each.key: each.value.string_value or str(each.value).strip() for each in given}


@contextmanager
def collector() -> Iterator[Collector]:
    """Listens while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.bodies[self.path].append(gzip.decompress(body) if self.headers["Content-Encoding"] else body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(_ANSWERS[self.path])))
            self.end_headers()
            self.wfile.write(_ANSWERS[self.path])

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Collector(server.server_port)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
