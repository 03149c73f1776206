"""When telemetry is exported, and what is wrong with the variables that ask for it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from afterwit.bus import instrumentation
from afterwit.deploy.telemetry import export_telemetry
from afterwit.schemas import Invalid

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
DOCUMENT = (Path(__file__).parents[3] / "docs" / "telemetry.md").read_text("utf-8")


@pytest.mark.parametrize(
    "variables", [{}, {ENDPOINT: ""}, {ENDPOINT: "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}]
)
def test_unless_it_is_asked_for_the_sdk_is_not_even_loaded(variables: dict[str, str]) -> None:
    code = (
        "import sys; from afterwit.deploy.telemetry import export_telemetry; "
        f"export_telemetry('node', {variables!r}); sys.exit('opentelemetry.sdk' in sys.modules)"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True, timeout=60)


def test_a_protocol_that_is_not_spoken_is_refused() -> None:
    with pytest.raises(Invalid, match="'grpc' is not spoken here: http/protobuf is"):
        export_telemetry("node", {ENDPOINT: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})


def test_without_the_sdk_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.metrics", None)

    with pytest.raises(Invalid, match=r"pip install 'afterwit\[otel\]'"):
        export_telemetry("node", {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1"})


def test_the_documents_table_has_every_metric_and_no_other() -> None:
    assert instrumentation.__file__ is not None
    code = Path(instrumentation.__file__).read_text("utf-8")
    declared = re.findall(r"create_\w+\(\s*\"([\w.]+)\"", code)

    assert sorted(declared) == sorted(re.findall(r"^\| `([\w.]+)` ", DOCUMENT.split("## Metrics")[1], re.MULTILINE))
    assert declared
