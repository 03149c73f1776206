"""With an OTLP endpoint named, one trace leads from the agent's call to the node, figures come, and no content does."""

from __future__ import annotations

from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.engines.agents import Refused, agent
from tests.engines.otlp import Collector, attributes, collector
from tests.engines.system import launched
from tests.engines.waiting import wait_until

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"
SECRETS = ("xylograph", "木版画", "quetzal", "绿咬鹃", "vermilion")


async def test_one_trace_through_gateway_and_node_and_nothing_of_the_contents(tmp_path: Path) -> None:
    with collector() as heard:
        variables = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": heard.url,
            "OTEL_BSP_SCHEDULE_DELAY": "50",
            "OTEL_METRIC_EXPORT_INTERVAL": "200",
        }
        with launched(tmp_path, "alice", variables=variables) as system:
            async with agent(system, "alice") as alice:
                stored = await alice.store("The xylograph is 木版画.", tags=["quetzal", "绿咬鹃"], session_id="s")
                meta = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
                await alice.mcp.call_tool("memory_retrieve", {"query": "vermilion xylograph 木版画"}, meta=meta)  # type: ignore[arg-type]  # open in the protocol, closed in its type
                with pytest.raises(Refused, match="not_found"):
                    await alice.tool("memory_store", content="vermilion", pool="shared/nowhere")
                await alice.ask("reflect", session_id="s", end_session=True)
                await wait_until(lambda: _complete(heard), description="spans and metrics are exported")

    chain = _chain(heard)
    names = [(service, span.name) for service, span in chain]
    assert names[-2:] == [
        ("afterwit-gateway", "afterwit.v1.req.{agent}.retrieve"),
        ("afterwit-node", "afterwit.v1.req.{agent}.retrieve"),
    ]
    assert {service for service, _ in names[:-1]} == {"afterwit-gateway"}
    node = attributes(chain[-1][1].attributes)
    assert node["gen_ai.operation.name"] == "search_memory"
    assert node["gen_ai.agent.name"] == "alice"
    assert node["afterwit.retrieval.id"]

    failed = [
        attributes(span.attributes) for _, span in heard.spans() if span.status.code == span.status.STATUS_CODE_ERROR
    ]
    assert {"store", "not_found"} <= {value for each in failed for value in each.values()}
    about = [attributes(span.attributes) for _, span in heard.spans() if span.name.endswith(".store")]
    assert {each.get("gen_ai.memory.store.id") for each in about} >= {"shared/nowhere"}
    assert stored["id"]

    everything = b"".join(body for bodies in heard.bodies.values() for body in bodies)
    assert [word for word in SECRETS if word.encode() in everything] == []


def _complete(heard: Collector) -> bool:
    wanted = {
        "afterwit.client.request.duration",
        "afterwit.server.request.duration",
        "afterwit.retrieve.stage.duration",
        "afterwit.index.delay",
        "afterwit.index.entries",
        "afterwit.reflection.duration",
    }
    return wanted <= heard.metrics().keys() and bool(_chain(heard)) and _chain(heard)[-1][0] == "afterwit-node"


def _chain(heard: Collector) -> list[tuple[str, Span]]:
    """The spans of our trace, each the child of the one before; the first one is the caller's."""
    ours = {
        span.parent_span_id.hex(): (service, span) for service, span in heard.spans() if span.trace_id.hex() == TRACE
    }
    chain = []
    at = CALLER
    while at in ours:
        chain.append(ours[at])
        at = ours[at][1].span_id.hex()
    return chain
