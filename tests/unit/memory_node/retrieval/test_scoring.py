"""From signals to an order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from afterwit.memory_node.index import Hit
from afterwit.memory_node.retrieval import PROFILES, Profile, Question, Scored, has_answer, profile_named, reranked
from afterwit.memory_node.retrieval.scoring import neutral, score
from afterwit.schemas import Link, Memory
from tests import samples
from tests.samples import NOON, memory

EVIDENCE = PROFILES["evidence"]


def hit(
    content: str = "a note",
    *,
    semantic: float | None = 0.5,
    keyword: float = 0.5,
    days: float = 0,
    before: str | None = None,
    **fields: Any,
) -> Hit:
    found = memory(content, occurred_at=NOON - timedelta(days=days), **fields)
    return samples.hit(found, semantic=semantic, keyword=keyword, before=before)


def scored(
    hits: Sequence[Hit],
    query: str = "what was it?",
    profile: Profile = EVIDENCE,
    *,
    now: datetime = NOON,
    usefulness: Callable[[str], float] = neutral,
) -> list[Scored]:
    return score(hits, Question.of(query, now), profile, usefulness)


def contents(found: Sequence[Scored]) -> list[str]:
    return [each.memory.content for each in found]


@pytest.mark.parametrize("name", PROFILES)
def test_a_score_and_its_signals_lie_between_0_and_1(name: str) -> None:
    best = hit(semantic=1, keyword=1, trust=1.0, confidence=1.0)
    linked = hit(semantic=1, keyword=1, trust=1.0, confidence=1.0, links=(Link(rel="caused_by", target=best.id),))
    for hits in ([best, linked], [hit(semantic=None, keyword=0, days=10_000, trust=0.0, confidence=0.0)]):
        for each in scored(hits, profile=PROFILES[name]):
            assert 0 <= each.score <= 1
            assert all(0 <= signal <= 1 for signal in each.signals.values())


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (hit("x", semantic=0.6), hit("y", semantic=0.5)),
        (hit("x", keyword=0.6), hit("y", keyword=0.5)),
        (hit("x", days=1), hit("y", days=100)),
        (hit("x", trust=0.8), hit("y", trust=0.4)),
        (hit("x", confidence=0.8), hit("y", confidence=0.4)),
        (hit("x"), hit("y", status="disputed")),
        (hit("x"), hit("y", status="candidate")),
    ],
    ids=["meaning", "words", "age", "trust", "confidence", "dispute", "candidate"],
)
def test_more_of_a_signal_is_a_better_score(better: Hit, worse: Hit) -> None:
    assert contents(scored([worse, better])) == ["x", "y"]


def test_age_alone_does_not_bury_an_answer() -> None:
    old_answer, new_chatter = hit("old", semantic=0.8, keyword=0.8, days=3650), hit("new", semantic=0.5, keyword=0.5)
    for name in ("evidence", "hybrid"):
        assert contents(scored([old_answer, new_chatter], profile=profile_named(name))) == ["old", "new"]


def test_what_has_not_happened_yet_is_as_recent_as_now() -> None:
    assert scored([hit(days=-30)])[0].signals["recency"] == 1.0


def test_without_a_vector_words_are_left() -> None:
    (found,) = scored([hit(semantic=None, keyword=0.9)])
    assert found.score > 0
    assert found.signals["semantic"] == 0.0


def test_words_are_silent_where_the_languages_differ() -> None:
    chinese, english = hit("退货期限是三十天", semantic=0.7, keyword=0), hit("unrelated", semantic=0.2, keyword=0.3)
    assert contents(scored([english, chinese], "How long may things be returned?")) == [
        chinese.memory.content,
        "unrelated",
    ]
    same_language = hit("thirty days", semantic=0.7, keyword=0)
    (apart,) = scored([chinese], "How long?")
    (same,) = scored([same_language], "How long?")
    assert apart.signals["keyword"] > same.signals["keyword"] == 0


def test_what_helped_comes_before_what_misled() -> None:
    helped, misled = hit("helped"), hit("misled")
    useful = {helped.id: 0.8, misled.id: 0.2}
    assert contents(scored([misled, helped], usefulness=useful.__getitem__)) == ["helped", "misled"]
    answer = hit("answer", semantic=0.9, keyword=0.9)
    assert contents(scored([helped, answer], usefulness=lambda id: useful.get(id, 0.3)))[0] == "answer"


def test_a_time_in_the_query_is_a_preference_and_no_filter() -> None:
    hits = [hit("long ago", days=40, semantic=0.5), hit("last week", days=7, semantic=0.5)]
    assert contents(scored(hits, "What happened last week?")) == ["last week", "long ago"]
    hits = [hit("long ago", days=40, semantic=0.9, keyword=0.9), hit("last week", days=7)]
    assert contents(scored(hits, "What happened last week?")) == ["long ago", "last week"]


def test_a_memory_that_speaks_of_the_time_counts_as_of_it() -> None:
    hits = [hit("nothing in it", days=20), hit("the delivery is due on 1 December", days=20)]
    found = scored(hits, "What comes tomorrow?")
    assert contents(found)[0] == "the delivery is due on 1 December"
    assert found[0].signals["time"] == 1.0


def test_neighbours_and_their_session_support_a_turn() -> None:
    question = hit("Bo: Where did you go?", session_id="s1", turn=4, semantic=0.9, keyword=0.9)
    answer = hit("Al: To Lisbon.", session_id="s1", turn=5, semantic=0.3, keyword=0)
    elsewhere = hit("Al: To Rome.", session_id="s2", turn=9, semantic=0.3, keyword=0)
    assert contents(scored([elsewhere, answer, question])) == [
        "Bo: Where did you go?", "Al: To Lisbon.", "Al: To Rome.",
    ]  # fmt: skip


def test_turns_that_are_stored_without_a_session_know_each_other_too() -> None:
    question = hit("Bo: Where did you go?", semantic=0.9, keyword=0.9)
    answer = hit("Al: To Lisbon.", before=question.id, semantic=0.3, keyword=0)
    elsewhere = hit("Al: To Rome.", before=hit().id, days=3, semantic=0.3, keyword=0)
    assert contents(scored([elsewhere, answer, question]))[1] == "Al: To Lisbon."


def test_who_said_it_counts_when_the_query_names_them() -> None:
    first = hit("Alice: I love tea", session_id="s1", turn=1)
    second = hit("Bob: I love tea", session_id="s2", turn=1)
    assert contents(scored([second, first], "What does Alice love?"))[0] == "Alice: I love tea"


@pytest.mark.parametrize(
    ("said", "reply", "query"),
    [
        ("Caroline: I like seeds.", "Helper: Then sow poppies.", "What was Caroline told to sow?"),
        ("李雷：我喜欢种花。", "助手：那就种罂粟吧。", "让李雷种什么？"),
    ],
)
def test_a_reply_to_who_is_named_comes_before_a_reply_to_somebody_else(said: str, reply: str, query: str) -> None:
    hers, answer = hit(said, session_id="s1"), hit(reply, session_id="s1", semantic=0.5)
    elsewhere = hit("Helper: Sow leeks.", session_id="s2", semantic=0.55)
    found = scored([elsewhere, hers, answer], query)
    assert [each.memory.id for each in found if each.memory.id != hers.id] == [answer.id, elsewhere.id]
    assert found[-1].signals["present"] == 0


@pytest.mark.parametrize(
    ("asked", "told", "query"),
    [
        ("Bob: Ann, where did you go on holiday?", "Ann: I went to Rome, and we saw the old cats there.", "holiday"),
        ("李雷：梅梅，你假期去哪里玩了？", "韩梅梅：我去了罗马，我们看了那里的老猫。", "假期去哪里"),
    ],
)
def test_the_answer_comes_before_the_question_that_it_follows(asked: str, told: str, query: str) -> None:
    question = hit(asked, semantic=0.6, keyword=0.7, session_id="s", turn=1)
    answer = hit(told, semantic=0.6, keyword=0.4, session_id="s", turn=2, before=question.id)
    assert contents(scored([question, answer], query)) == [told, asked]
    assert contents(scored([question, answer], query, dataclasses.replace(EVIDENCE, telling=0.0))) == [asked, told]


@pytest.mark.parametrize(
    ("announced", "told", "query"),
    [
        (
            "Ann: I read a really good novel, and loved it.",
            "Ann: It is called “Stoner”.",
            "Which novel did Ann read?",
        ),
        ("Ann: We saw the old walls of the town.", "Ann: We went there last May.", "When did Ann see the walls?"),
        ("安：我看了一本很好的小说，非常喜欢。", "安：它叫《围城》，写得很有意思。", "安看的是哪本小说？"),
        ("安：我家里养了猫，都非常可爱。", "安：有两只，都是白色的。", "安养了几只猫？"),
    ],
)
def test_what_has_the_form_that_is_asked_for_comes_before_what_announces_it(
    announced: str, told: str, query: str
) -> None:
    hits = [hit(announced, session_id="s"), hit(told, session_id="s", semantic=0.47)]
    assert contents(scored(hits, query)) == [told, announced]
    formless = dataclasses.replace(EVIDENCE, effects={**EVIDENCE.effects, "form": 0.0})
    assert contents(scored(hits, query, formless)) == [announced, told]


def test_only_of_what_somebody_said_and_of_what_asks_for_a_form_is_it_told() -> None:
    fact, said = hit("It is red.", semantic=0.6), hit("Ann: It is red.", session_id="s")
    asking, other = "When did it turn red?", "Why is it red?"
    assert ["form" in each.signals for each in (*scored([fact], asking), *scored([said], other))] == [False, False]
    assert scored([said], asking)[0].signals["form"] == 0


@pytest.mark.parametrize(
    ("mine", "yours", "query"),
    [
        ("Ann: I love my crime novels.", "Helper: You could read Simenon.", "What novels did you recommend to me?"),
        ("安：我喜欢看侦探小说，我都看。", "助手：你可以看看西默农的书。", "你给我推荐了什么小说？"),
        ("安：我喜歡看偵探小說，我都看。", "助手：你可以看看西默農的書。", "你給我推薦了什麼小說？"),
    ],
)
def test_what_was_said_to_who_asks_speaks_of_who_is_spoken_to(mine: str, yours: str, query: str) -> None:
    hits = [hit(mine, session_id="s"), hit(yours, session_id="s", semantic=0.48)]
    assert contents(scored(hits, query)) == [yours, mine]
    assert contents(scored(hits, "novels")) == [mine, yours]


def test_only_what_somebody_said_is_asked_how_much_it_tells() -> None:
    fact, result = hit("Ask for it?", semantic=0.6), hit("Ask you?", kind="tool_result", tier="working", session_id="s")
    said = hit("Ask you?", kind="user_input", tier="working", session_id="s")
    assert ["telling" in each.signals for each in scored([fact])] == [False]
    assert ["telling" in each.signals for each in scored([result])] == [False]
    assert ["telling" in each.signals for each in scored([said])] == [True]


@pytest.mark.parametrize(
    ("said", "reply", "query"),
    [
        ("Caroline: I like seeds.", "Helper: Then sow poppies.", "Caroline: What did you tell me to sow?"),
        ("李雷：我喜欢种花。", "助手：那就种罂粟吧。", "李雷：你让我种什么？"),
    ],
)
def test_who_asks_need_not_have_said_the_answer_but_took_part(said: str, reply: str, query: str) -> None:
    own, answer = hit(said, session_id="s1"), hit(reply, session_id="s1")
    elsewhere = hit("Helper: Sow leeks.", session_id="s2")
    signals = {each.memory.id: each.signals for each in scored([elsewhere, own, answer], query)}
    assert [signals[each.id]["present"] for each in (own, answer, elsewhere)] == [1, 1, 0]


@pytest.mark.parametrize(
    ("mine", "yours", "of_me", "told_me"),
    [
        (
            "Ann: I like jazz.",
            "Helper: I like jazz.",
            "Ann: What music do I like?",
            "Ann: What did you tell me?",
        ),
        ("安娜：我喜欢爵士。", "助手：我喜欢爵士。", "安娜：我喜欢什么音乐？", "安娜：你给我推荐了什么音乐？"),
        ("安娜：我喜歡爵士。", "助手：我喜歡爵士。", "安娜：我喜歡什麼音樂？", "安娜：你給我推薦了什麼音樂？"),
    ],
)
def test_who_asks_speaks_of_themselves_and_was_told_by_somebody_else(
    mine: str, yours: str, of_me: str, told_me: str
) -> None:
    hits = [hit(mine, session_id="s"), hit(yours, session_id="s")]
    assert contents(scored(hits, of_me)) == [mine, yours]
    assert contents(scored(hits, told_me)) == [yours, mine]
    nobody = scored(hits, of_me.replace("I", "they").replace("我", "他"))
    assert not any("speaker" in each.signals for each in nobody)


def test_causes_of_a_good_hit_come_along() -> None:
    cause = hit("the disk was full", semantic=0.2, keyword=0)
    effect = hit("the backup failed", semantic=0.9, keyword=0.9, links=(Link(rel="caused_by", target=cause.id),))
    other = hit("the cake was good", semantic=0.25, keyword=0)
    assert contents(scored([other, cause, effect])) == ["the backup failed", "the disk was full", "the cake was good"]


def test_hindsight_weighs_causes_and_kinds() -> None:
    cause = hit("the disk was full", semantic=0.2, kind="tool_result")
    effect = hit(
        "the backup failed", semantic=0.9, kind="final_answer", links=(Link(rel="caused_by", target=cause.id),)
    )
    found = scored([effect, cause], profile=PROFILES["hindsight"])
    assert all({"causal", "kind"} <= each.signals.keys() for each in found)
    assert found[0].memory.content == "the disk was full"


def test_the_newer_of_two_facts_comes_first_and_the_older_says_so() -> None:
    old = hit("Refunds over 100 euros need approval", entities=("refunds",), days=60, semantic=0.8, keyword=0.8)
    new = hit("Refunds over 200 euros need approval now", entities=("refunds",), days=1, semantic=0.6, keyword=0.6)
    found = scored([old, new], "Which refunds need approval?")
    assert contents(found) == [new.memory.content, old.memory.content]
    assert found[1].newer == new.id
    assert found[1].replaced_by is None


def test_what_was_true_then_stays_first_for_whoever_asks_about_then() -> None:
    old = hit("Refunds over 100 euros need approval", entities=("refunds",), days=65, semantic=0.8, keyword=0.8)
    new = hit("Refunds over 200 euros need approval now", entities=("refunds",), days=1, semantic=0.7, keyword=0.7)
    found = scored([old, new], "Which refunds needed approval two months ago?")
    assert contents(found)[0] == old.memory.content


def test_a_link_says_for_certain_what_was_replaced() -> None:
    old = hit("blue", days=60, semantic=0.8)
    new = hit("It is green", days=1, semantic=0.2, keyword=0.1, links=(Link(rel="supersedes", target=old.id),))
    found = scored([old, new])
    assert contents(found) == ["It is green", "blue"]
    assert found[1].replaced_by == new.id


def test_turns_of_talk_replace_nothing() -> None:
    old = hit("Al: I had tea today", session_id="s1", turn=1, days=60, semantic=0.8)
    new = hit("Al: I had tea today", session_id="s2", turn=1, days=1, semantic=0.6)
    assert all(each.newer is None for each in scored([old, new]))


def test_to_a_question_for_several_things_later_hits_are_of_many_sessions() -> None:
    long = [hit(f"Al: {i}", session_id="s1", turn=10 * i, semantic=0.9 - i / 100) for i in range(8)]
    other = hit("Al: Rome", session_id="s2", turn=1, semantic=0.7)
    assert contents(scored([*long, other], "Which city was it?"))[-1] == "Al: Rome"
    for query in ("Which cities were there?", "去过哪些城市？"):
        found = scored([*long, other], query)
        assert contents(found)[:6] == [*(f"Al: {i}" for i in range(5)), "Al: Rome"]
        assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
        assert len(found) == 9


def answered(query: str, *hits: Hit, degraded: bool = False) -> bool:
    return has_answer(scored(hits, query), Question.of(query, NOON), degraded=degraded)


def test_nothing_like_it_is_no_answer() -> None:
    assert not answered("What is the capital of Peru?", hit(semantic=0.05, keyword=0.0))
    assert answered("What is the capital of Peru?", hit(semantic=0.4, keyword=0.0))
    assert not answered("anything")


def test_a_code_that_nobody_has_is_no_answer() -> None:
    near = hit("KST-321 was reported by Noor", semantic=0.8, keyword=0.5)
    assert not answered("Who reported KST-312?", near)
    assert answered("Who reported kst-321?", near)


def test_without_meaning_words_alone_decide() -> None:
    assert answered("anything", hit(semantic=None, keyword=0.0), degraded=True)


def test_a_reranker_puts_the_first_in_its_order_and_leaves_the_rest_behind() -> None:
    found = scored([hit("a", semantic=0.9), hit("b", semantic=0.8), hit("c", semantic=0.7)])
    again = reranked(found, [0.0, 1.0])
    assert contents(again) == ["b", "a", "c"]
    assert again[0].signals["rerank"] == 1.0
    assert again[1].score >= again[2].score


def test_a_hit_without_a_turn_before_it_says_so() -> None:
    assert hit().before is None
    before = hit().id
    assert hit(before=before).before == before
    assert msgspec.json.decode(hit(before=before).stored.raw, type=Memory).content == "a note"
