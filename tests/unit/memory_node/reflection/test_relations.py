"""Relations read from plain sentences, and what follows where two of them meet."""

from __future__ import annotations

import pytest

from afterwit.memory_node.reflection.conflicts import judge
from afterwit.memory_node.reflection.relations import read_again, relation
from afterwit.memory_node.reflection.rules import operations
from afterwit.schemas import Fact, StoreOperation, UpdateOperation
from tests.samples import memory


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("The owner of quay-gateway is Lin Xia.", ("quay-gateway", "owner", "Lin Xia")),
        ("quay-gateway is owned by Lin Xia", ("quay-gateway", "owner", "Lin Xia")),
        ("quay-gateway 的负责人是林夏。", ("quay-gateway", "负责人", "林夏")),
        ("支付服务由徐念禾负责。", ("支付服务", "负责人", "徐念禾")),
        ("The ledger service listens on port 8080.", ("The ledger service", "port", "8080")),
        ("订单服务监听 8081 端口。", ("订单服务", "端口", "8081")),
        ("Staging runs release 7.4.", ("Staging", "version", "7.4")),
        ("订单服务的版本是 v2.1。", ("订单服务", "版本", "v2.1")),
        ("The ledger service depends on quay-gateway.", ("The ledger service", "depends on", "quay-gateway")),
        ("订单服务依赖支付服务。", ("订单服务", "依赖", "支付服务")),
        ("Ana Costa works at Siemens.", ("Ana Costa", "works at", "Siemens")),
        ("王小明在阿里巴巴工作。", ("王小明", "就职于", "阿里巴巴")),
        ("Ana Costa lives in Porto.", ("Ana Costa", "lives in", "Porto")),
        ("王小明住在杭州。", ("王小明", "住在", "杭州")),
        ("Ana Costa prefers a window seat.", ("Ana Costa", "seat preference", "window")),
        ("王小明喜欢靠窗的座位。", ("王小明", "座位偏好", "靠窗")),
        ("The deadline for the grant is 3 May.", ("the grant", "deadline", "3 May")),
    ],
)
def test_a_plain_sentence_is_read(text: str, fact: tuple[str, str, str]) -> None:
    subject, predicate, object = fact
    assert relation(text) == Fact(subject=subject, predicate=predicate, object=object)


@pytest.mark.parametrize(
    "text",
    [
        "The owner of quay-gateway is not known.",
        "If the audit fails the owner of quay-gateway is Lin Xia.",
        "The owner of quay-gateway is Lin Xia, but only until May.",
        "He works at Siemens.",
        "Nobody knows where Ana lives in Porto.",
        "The port of the service is near the mill.",
        "The owner of quay-gateway is Lin Xia. She is on leave.",
        "它的负责人是林夏。",
        "负责人不是林夏。",
        "订单服务的负责人可能是林夏。",
        "订单服务和支付服务的负责人是林夏。",
        "如果升级失败，订单服务的版本是 2.1。",
        "Ana likes tea.",
    ],
)
def test_whatever_says_more_or_less_is_left_alone(text: str) -> None:
    assert relation(text) is None


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ("The owner of quay-gateway is Lin Xia.", "quay-gateway is owned by Tom Berg.", "contradict"),
        ("The owner of quay-gateway is Lin Xia.", "quay-gateway 的负责人是陈默。", "contradict"),
        ("The ledger service listens on port 8080.", "The port of the ledger service is 8080.", "duplicate"),
        ("The ledger service listens on port 8080.", "The port of the ledger service is now 8443.", "supersede"),
        ("订单服务的负责人是林夏。", "订单服务的负责人改为陈默。", "supersede"),
        ("Nadia is Oleg's manager.", "Oleg manages Nadia.", "contradict"),
        ("林夏是陈默的上司。", "陈默是林夏的上司。", "contradict"),
        ("Nadia is Oleg's manager.", "Petra is Oleg's manager.", "compatible"),
        ("Ana lives in Porto.", "Ana lives in Portugal.", "compatible"),
        ("Ana works at Siemens.", "Ana now works at Bosch.", "supersede"),
        ("The ledger service depends on quay-gateway.", "The ledger service depends on mail-worker.", "compatible"),
        ("Staging runs release 7.4.", "Staging runs release 7.4.1.", "compatible"),
        ("Staging runs release 7.4.", "Production runs release 7.3.", "compatible"),
        ("The price of the pass is 20 EUR online.", "The price of the pass is 25 EUR at the counter.", "compatible"),
    ],
)
def test_what_two_relations_are_to_each_other(a: str, b: str, verdict: str) -> None:
    assert judge(a, b, similarity=0.7, b_is_newer=True).verdict == verdict


def test_what_the_user_states_becomes_a_fact_and_is_said_again_later() -> None:
    def said(content: str, session: str) -> list[StoreOperation | UpdateOperation]:
        event = memory(content, kind="user_input", session_id=session, turn=1)
        found = operations([event], [], known)
        assert all(isinstance(each, StoreOperation | UpdateOperation) for each in found)
        return [each for each in found if isinstance(each, StoreOperation | UpdateOperation)]

    known = []
    (first,) = said("Hello. The owner of quay-gateway is Lin Xia. Ana lives in Porto.", "s1")
    assert isinstance(first, StoreOperation)
    assert (first.kind, first.content) == ("fact", "The owner of quay-gateway is Lin Xia.")
    assert first.fact == Fact(subject="quay-gateway", predicate="owner", object="Lin Xia")
    known = [memory(first.content, kind="fact", tier="semantic", fact=first.fact, data={"key": first.key})]
    (again,) = said("quay-gateway is owned by Lin Xia.", "s2")
    assert isinstance(again, UpdateOperation)
    assert again.id == known[0].id


def test_a_fact_that_was_read_follows_its_text() -> None:
    before, after = "The owner of quay-gateway is Lin Xia.", "The owner of quay-gateway is Tom Berg."
    assert read_again(relation(before), before, after) == relation(after)
    given = Fact(subject="gateway", predicate="owner", object="Lin")
    assert read_again(given, before, after) == given
    assert read_again(None, before, after) is None
