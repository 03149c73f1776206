from __future__ import annotations

from afterwit.bus.mcp.health import judge
from afterwit.bus.mcp.tools import TOOLS

WELL = {"index": "ok", "window": "ok", "inference": "ok"}


def test_all_is_well_only_if_all_parts_of_all_nodes_are() -> None:
    report = judge(nats="ok", nodes=[WELL, WELL])
    assert (report.status, report.http_status, report.tools) == ("ok", 200, len(TOOLS))
    assert report.components == {"nats": "ok", **WELL}


def test_where_nodes_differ_a_part_is_degraded() -> None:
    report = judge(nats="ok", nodes=[WELL, WELL | {"window": "unavailable"}])
    assert (report.status, report.http_status, report.components["window"]) == ("degraded", 200, "degraded")
    assert judge(nats="ok", nodes=[WELL | {"window": "unavailable"}]).components["window"] == "unavailable"


def test_without_nats_or_nodes_nothing_can_be_served() -> None:
    for report in (judge(nats="ok", nodes=[]), judge(nats="unavailable", nodes=[])):
        assert (report.status, report.http_status) == ("unavailable", 503)
        assert set(report.components) == {"nats", "index", "window", "inference"}
