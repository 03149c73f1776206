"""How much a turn of talk tells."""

from __future__ import annotations

import pytest

from afterwit.memory_node.retrieval.telling import telling, telling_you
from tests.samples import memory


def told(content: str) -> float:
    return telling(memory(content))


@pytest.mark.parametrize(
    ("more", "less"),
    [
        pytest.param("Ann: I went to Rome last week.", "Bob: Where did you go last week?", id="a question"),
        pytest.param("安：我上周去了罗马看展览。", "波：你上周去哪里看展览了？", id="a question in Chinese"),
        pytest.param("Ann: It rained. In Rome.", "Ann: It rained. In Rome?", id="a question at the end"),
        pytest.param("Ann: I painted a horse.", "Bob: You painted a horse.", id="of who is spoken to"),
        pytest.param("安：我画了一匹马。", "波：你画了一匹马。", id="of who is spoken to, in Chinese"),
        pytest.param("Ann: I'd paint a horse.", "Bob: You’d paint a horse.", id="either apostrophe"),
        pytest.param("Ann: Rome was full of cats and of rain.", "Ann: Rome.", id="short"),
        pytest.param("安：罗马到处都是猫，一直下雨。", "安：罗马。", id="short, in Chinese"),
    ],
)  # fmt: skip
def test_some_turns_tell_more_than_others(more: str, less: str) -> None:
    assert 0 <= told(less) < told(more) <= 1


def test_a_long_statement_tells_all_it_can() -> None:
    assert told("Ann: " + "I keep bees, and I paint them. " * 5) == pytest.approx(1, abs=0.05)
    assert told("安：" + "我养蜜蜂，也给它们画画。" * 10) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("text", ["?", "？？", "...", "你", "you", "😀" * 300, "a" * 20_000 + "?"])
def test_any_text_has_a_share(text: str) -> None:
    assert 0 <= told(text) <= 1


@pytest.mark.parametrize(
    ("more", "less"), [("You could paint it.", "I could paint it."), ("你可以画它。", "我可以画它。")]
)
def test_of_what_was_said_to_who_asks_more_is_of_them(more: str, less: str) -> None:
    assert telling_you(memory(less)) < telling_you(memory(more))
