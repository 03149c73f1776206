"""Pairs of statements from other domains than the labelled cases, in both languages."""

from __future__ import annotations

import pytest

from afterwit.memory_node.reflection.conflicts import judge
from afterwit.memory_node.reflection.facts import compare_facts
from afterwit.schemas import Fact

NEAR = 0.87  # similarity tells little: opposites are as near as paraphrases


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The nightly export takes 40 minutes.", "The nightly export is done after 15 minutes."),
        ("The gym is open on Sundays.", "The gym is closed on Sundays."),
        ("Petra accepted the offer from Oslo.", "Petra turned down the offer from Oslo."),
        ("The deadline for the grant is 3 May.", "The deadline for the grant is 13 May."),
        ("The old printer supports duplex.", "The old printer does not support duplex."),
        ("这家餐厅接受刷卡。", "这家餐厅不接受刷卡，只收现金。"),
        ("這家餐廳接受刷卡。", "这家餐厅不接受刷卡，只收现金。"),
        ("所有發票都已經付清。", "還有三張發票沒有付。"),
        ("Every build-agent runs kernel 6.8.", "build-agent-12 runs kernel 6.1."),
        ("Ana Costa speaks Spanish.", "Ana Costa speaks no Spanish."),
        ("导游会说法语。", "导游不懂法语。"),
        ("所有发票都已经付清。", "还有三张发票没有付。"),
        ("这张沙发是纯棉的，不含化纤。", "这张沙发的布料是涤纶的。"),
        ("会议室能坐二十个人。", "会议室最多坐十二个人。"),
        ("The invoice for project Lima amounts to 4,500 EUR.", "项目 Lima 的发票金额是 5400 欧元。"),
    ],
)
def test_contradictions_are_found(a: str, b: str) -> None:
    assert judge(a, b, similarity=NEAR).verdict == "contradict"
    assert judge(b, a, similarity=NEAR).verdict == "contradict"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Anna likes tea.", "Anna likes coffee."),
        ("账本每天凌晨两点备份。", "缓存每天凌晨三点清空。"),
        ("The ledger is saved every night at two.", "The cache is cleared every night at three."),
        ("Ana Costa speaks Spanish.", "Ana Costa speaks no German."),
        ("导游会说法语。", "导游不懂德语。"),
        ("Every build-agent runs kernel 6.8.", "mail-worker-12 runs kernel 6.1."),
        ("所有发票都已经付清。", "还有三张桌子没有送到。"),
        ("The bakery is free on Monday.", "The workshop charges 20 EUR."),
        ("The bakery in Ulm opens at 7.", "The bakery in Kiel opens at 8."),
        ("In March we shipped 300 units.", "In April we shipped 420 units."),
        ("Server A has 32 GB of RAM.", "Server B has 64 GB of RAM."),
        ("Tickets cost 20 EUR online.", "Tickets cost 25 EUR at the counter."),
        ("Some parcels arrive late.", "No parcel to Ulm arrives late."),
        ("平日票价八十元。", "周末票价一百二十元。"),
        ("上海办公室有三十个工位。", "深圳办公室有五十个工位。"),
        ("李然喜欢喝咖啡。", "李然喜欢喝茶。"),
        ("如果下雨，比赛取消。", "比赛照常举行。"),
        ("Ben thinks the leak is in the pump.", "The leak is in the valve."),
    ],
)
def test_what_can_both_be_true_is_left_alone(a: str, b: str) -> None:
    assert judge(a, b, similarity=NEAR).verdict == "compatible"
    assert judge(b, a, similarity=NEAR).verdict == "compatible"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The library closes at 8 pm.", "The library closes at 20:00."),
        ("Visitors have to sign in at reception.", "All visitors must sign in at the reception desk."),
        ("The battery lasts ten hours.", "Battery life is 10 hours."),
        ("押金是五百元。", "需要交 500 元押金。"),
        ("The parcel weighs two kilograms.", "包裹重两公斤。"),
    ],
)
def test_the_same_in_other_words_is_a_duplicate_when_near(a: str, b: str) -> None:
    assert judge(a, b, similarity=NEAR).verdict == "duplicate"
    assert judge(a, b, similarity=0.6).verdict == "compatible"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The team meets on Tuesdays.", "From next week on the team meets on Thursdays."),
        ("The password must have 8 characters.", "Passwords now need at least 12 characters."),
        ("报名截止到五月三日。", "报名截止日期延长到五月十日。"),
    ],
)
def test_a_newer_statement_that_speaks_of_the_change_replaces_the_older(a: str, b: str) -> None:
    forth, back = judge(a, b, similarity=NEAR), judge(b, a, similarity=NEAR)
    assert (forth.verdict, forth.newer) == ("supersede", "b")
    assert (back.verdict, back.newer) == ("supersede", "a")


def _fact(subject: str, predicate: str, object: str) -> Fact:
    return Fact(subject=subject, predicate=predicate, object=object)


@pytest.mark.parametrize(
    ("predicate", "a", "b", "expected"),
    [
        ("duration", "25 min", "90 min", "different"),
        ("duration", "fourteen days", "two weeks", "equal"),
        ("duration", "两周", "14 天", "equal"),
        ("start", "14:00", "2 pm", "equal"),
        ("start", "22:00 UTC", "00:00 Europe/Berlin", "both"),
        ("distance", "16 km", "10 mi", "both"),
        ("price", "100 EUR", "100 USD", "different"),
        ("likes", "jazz", "metal", "both"),
        ("likes", "jazz", "nothing", "different"),
        ("colour", "Blue", "blue", "equal"),
        ("seat", "window", "aisle", "different"),
        ("arrives", "before noon", "14:20", "different"),
    ],
)
def test_facts_are_compared_exactly(predicate: str, a: str, b: str, expected: str) -> None:
    found = compare_facts(_fact("The ferry", predicate, a), _fact("ferry", predicate, b))
    assert found is not None
    assert found.relation == expected


def test_predicates_are_the_same_in_both_languages() -> None:
    found = compare_facts(_fact("BH-1", "price", "20 EUR"), _fact("BH-1", "价格", "20 欧元"))
    assert found is not None
    assert found.relation == "equal"
    assert compare_facts(_fact("BH-1", "price", "20 EUR"), _fact("BH-2", "price", "21 EUR")) is None


def test_long_texts_are_no_statements_but_copies_are_seen() -> None:
    text = "The gym is open on Sundays. " * 100
    assert judge(text, text + "Or closed.", similarity=0.99).verdict == "compatible"
    assert judge(text, text, similarity=1.0).verdict == "duplicate"
