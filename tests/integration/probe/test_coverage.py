"""Nothing new escapes the probe: whatever an agent can reach must have its questions."""

from __future__ import annotations

import re

from afterwit.bus.mcp.prompts import PROMPTS
from afterwit.bus.mcp.resources import TEMPLATES
from afterwit.bus.mcp.tools import TOOLS
from afterwit.schemas import OPERATIONS

from .cases import CASES, Own, cases, completions, prompts, resources
from .test_probe import SOMEBODYS

OWN = Own("mallory", "shared/own", "0190f5fe-0000-7000-8000-000000000001", "r")


def test_every_operation_has_its_cases() -> None:
    missing = OPERATIONS.keys() - CASES.keys()
    assert not missing, f"write what an intruder would ask of {missing} into tests/integration/probe/cases.py"
    for op in OPERATIONS:
        assert list(cases(op, OWN, SOMEBODYS)), op


def test_every_operation_that_can_name_a_thing_is_asked_about_it() -> None:
    its = SOMEBODYS
    named = {"pool": its.pool, "pools": its.pool, "id": its.shared_id, "ids": its.shared_id, "agent": its.agent,
             "session_id": its.session, "retrieval_id": its.retrieval}  # fmt: skip
    for op, operation in OPERATIONS.items():
        asked = repr([case.request for case in cases(op, OWN, SOMEBODYS)])
        for field in named.keys() & set(operation.request.__struct_fields__):
            if (op, field) != ("store", "session_id"):
                assert named[field] in asked, f"{op} is never asked about another's {field}"


def test_every_tool_asks_for_an_operation_that_has_cases() -> None:
    assert {tool.op for tool in TOOLS} <= CASES.keys()


def test_every_resource_is_read_and_watched() -> None:
    assert {template.uri_template for template in TEMPLATES} | {"memory://pools"} == resources(OWN, SOMEBODYS).keys()


def test_every_prompt_is_asked_for_with_every_argument() -> None:
    asked = prompts(OWN, SOMEBODYS)
    assert {prompt.name for prompt in PROMPTS} == asked.keys()
    for prompt in PROMPTS:
        arguments = {argument.name for argument in prompt.arguments or ()}
        assert arguments == {name for each in asked[prompt.name] for name in each}


def test_every_argument_is_completed() -> None:
    arguments = {argument.name for prompt in PROMPTS for argument in prompt.arguments or ()}
    arguments |= {name for template in TEMPLATES for name in re.findall(r"{(\w+)}", template.uri_template)}
    assert arguments == {name for name, _, _ in completions(OWN, SOMEBODYS)}
