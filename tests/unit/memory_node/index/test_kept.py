"""What searches have found is kept, in its newest version only, up to a bound."""

from __future__ import annotations

from collections.abc import Iterator

from afterwit.memory_node.index import IndexFilter, Stored
from afterwit.memory_node.index._conditions import corpus
from afterwit.memory_node.index._kept import Kept, Top
from afterwit.schemas import Memory
from afterwit.schemas.codec import encode
from tests.samples import memory


class Engine:
    """Versions by id, and what was read of them."""

    def __init__(self, *ids: str) -> None:
        self.seqs = dict.fromkeys(ids, 1)
        self.asked: list[list[str]] = []

    def read(self, ids: list[str]) -> Iterator[tuple[str, Stored]]:
        self.asked.append(ids)
        for id in ids:
            if id in self.seqs:
                yield id, Stored(id, self.seqs[id], encode(memory(f"version {self.seqs[id]} of {id}")))


def test_what_was_read_is_not_read_again() -> None:
    kept, engine = Kept(), Engine("a", "b", "c")
    first = kept.read(["a", "b"], engine.read)
    again = kept.read(["b", "c", "a", "nobody"], engine.read)
    assert engine.asked == [["a", "b"], ["c", "nobody"]]
    assert again.keys() == {"a", "b", "c"}
    assert again["a"] is first["a"]


def test_what_is_made_of_a_version_is_made_once() -> None:
    kept, engine, made = Kept(), Engine("a"), []

    def length(memory: Memory) -> int:
        made.append(memory.content)
        return len(memory.content)

    lengths = [kept.read(["a"], engine.read)["a"].once(length) for _ in range(2)]
    assert lengths == [len("version 1 of a")] * 2
    assert made == ["version 1 of a"]


def test_what_is_written_is_read_anew_while_and_after() -> None:
    kept, engine = Kept(), Engine("a", "b")
    kept.read(["a", "b"], engine.read)
    with kept.changing(["a"]):
        assert kept.read(["a", "b"], engine.read)["a"].seq == 1  # nothing is written yet, and this is not kept
        engine.seqs["a"] = 2
        assert kept.read(["a"], engine.read)["a"].seq == 2
    assert kept.read(["a"], engine.read)["a"].seq == 2
    assert ["b"] not in engine.asked


def test_a_version_that_was_read_before_a_write_and_comes_after_it_is_not_kept() -> None:
    kept, engine = Kept(), Engine("a")

    def slow(ids: list[str]) -> list[tuple[str, Stored]]:
        read = list(engine.read(ids))
        with kept.changing(["a"]):
            engine.seqs["a"] = 2
        return read

    assert kept.read(["a"], slow)["a"].seq == 1
    assert kept.read(["a"], engine.read)["a"].seq == 2


def test_all_is_read_anew_from_another_index() -> None:
    kept, engine = Kept(), Engine("a", "b")
    kept.read(["a", "b"], engine.read)
    with kept.changing(None):
        engine.seqs = {"a": 3}
    assert {id: version.seq for id, version in kept.read(["a", "b"], engine.read).items()} == {"a": 3}


def test_a_version_of_another_sequence_is_not_the_same() -> None:
    kept = Kept()
    old = kept.same("a", 1, encode(memory("old")))
    assert kept.same("a", 1, encode(memory("old"))) is old
    assert kept.same("a", 2, encode(memory("new"))).memory.content == "new"
    assert kept.same("a", 2, encode(memory("new"))).memory.content == "new"


def test_it_is_bounded_and_the_latest_used_stay() -> None:
    ids = [str(number) for number in range(100)]
    engine = Engine(*ids)
    one = Kept()
    one.read(["0"], engine.read)
    kept = Kept(max_bytes=10 * one.size + one.size // 2)
    for id in ids:
        kept.read(["0", id], engine.read)
    assert len(kept) == 10
    assert kept.size <= 10 * one.size + one.size // 2
    engine.asked.clear()
    kept.read(["0", "99", "1"], engine.read)
    assert engine.asked == [["1"]]


def test_what_is_forgotten_is_gone() -> None:
    kept, engine = Kept(), Engine("a", "b")
    kept.read(["a", "b"], engine.read)
    kept.forget(["a", "nobody"])
    assert len(kept) == 1
    kept.forget(["b"])
    assert (len(kept), kept.size) == (0, 0)


ALICES = corpus(IndexFilter(pools=("agent/alice", "shared/team")))
BOBS = corpus(IndexFilter(pools=("agent/bob",)))
EVERYBODYS = corpus(IndexFilter(pools=None))


def test_what_words_are_worth_is_kept_until_a_pool_of_the_corpus_is_written_to() -> None:
    kept = Kept()
    for where in (ALICES, BOBS, EVERYBODYS):
        _, since = kept.tops(where, [1, 2])
        kept.add_tops(where, {1: Top(3.0, 2.0), 2: None}, since)
    with kept.changing([], {"shared/team"}):
        pass
    assert kept.tops(BOBS, [1, 2, 3])[0] == {1: Top(3.0, 2.0), 2: None}
    assert kept.tops(ALICES, [1, 2])[0] == kept.tops(EVERYBODYS, [1, 2])[0] == {}


def test_what_words_were_worth_before_a_write_is_not_kept() -> None:
    kept = Kept()
    _, since = kept.tops(ALICES, [1])
    with kept.changing([], {"agent/alice"}):
        kept.add_tops(ALICES, {1: None}, since)
    kept.add_tops(ALICES, {1: None}, since)
    assert kept.tops(ALICES, [1])[0] == {}


def test_what_is_known_of_words_is_bounded() -> None:
    kept = Kept()
    corpora = [corpus(IndexFilter(pools=(f"shared/{number}",))) for number in range(200)]
    for where in corpora:
        for start in range(0, 10_000, 1000):
            _, since = kept.tops(where, [])
            kept.add_tops(where, dict.fromkeys(range(start, start + 1000)), since)
    assert kept.tops(corpora[-1], [9_999])[0] == {9_999: None}
    assert kept.tops(corpora[-1], [0])[0] == kept.tops(corpora[0], [9_999])[0] == {}


def test_how_many_there_are_is_counted_again_after_a_write_to_the_corpus() -> None:
    kept, counted = Kept(), iter(range(10))
    assert [kept.points(ALICES, lambda: next(counted)) for _ in range(2)] == [0, 0]
    with kept.changing([], {"agent/bob"}):
        assert kept.points(BOBS, lambda: next(counted)) == 1
    assert kept.points(ALICES, lambda: next(counted)) == 0
    assert kept.points(BOBS, lambda: next(counted)) == 2, "what was counted during a write is not kept"
    with kept.changing([], {"shared/team"}):
        pass
    assert kept.points(ALICES, lambda: next(counted)) == 3


def test_who_never_speaks_is_not_asked_about_again_until_they_do() -> None:
    kept, asked = Kept(), []

    def speak() -> bool:
        asked.append("")
        return False

    assert not kept.anybody(("anna", "the"), speak)
    assert not kept.anybody(("the",), speak)
    assert len(asked) == 1
    with kept.changing([], {"shared/team"}, {"anna"}):
        assert not kept.anybody(("anna",), speak), "nothing is written yet, and this is not kept"
    assert kept.anybody(("anna", "the"), lambda: True)
    assert not kept.anybody(("the",), speak)
    assert len(asked) == 2


def test_who_never_speaks_is_bounded() -> None:
    kept = Kept()
    for number in range(10_000):
        kept.anybody((str(number),), lambda: False)
    assert not kept.anybody(("9999",), lambda: True)
    assert kept.anybody(("0",), lambda: True)
