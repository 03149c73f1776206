"""From candidates to an order: each by its own signals, then by what stands around it, then newer before older."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from ...schemas import Memory
from ..index import Hit
from .hops import Reached, Step
from .likeness import Likeness
from .profiles import Profile
from .question import Question
from .signals import conversation, is_talk, signals_of

NO_ANSWER: Final = 0.12
"""Below this similarity, and without a word in common, nothing is an answer. Unrelated texts have 0 on average; the
weakest of real answers reach 0.18 (docs/retrieval.md)."""

_BEST_OF_SESSION: Final = 3
_BEST_LINKED: Final = 8
_NEWEST_AMONG: Final = 12
_NEAR_ENOUGH: Final = 0.5
"""A newer memory is put before an older one of the same subject if it has at least this share of its score."""
_NEUTRAL: Final = 0.5
_NOT_SPREAD: Final = 5
_SPREAD_AMONG: Final = 40
_NOT_HOPPED: Final[Mapping[str, Reached]] = {}


class Scored(msgspec.Struct, frozen=True):
    """A candidate with its score and the normalised signals (0…1) that made it.

    ``replaced_by`` is the id of a candidate that supersedes it, ``newer`` that of one that is newer and speaks of the
    same: it may say what holds now. ``path`` is how it was reached from another hit.
    """

    hit: Hit
    score: float
    signals: dict[str, float]
    replaced_by: str | None = None
    newer: str | None = None
    path: tuple[Step, ...] = ()

    @property
    def memory(self) -> Memory:
        """The memory."""
        return self.hit.memory


def neutral(id: str) -> float:
    """The usefulness of what nobody said anything about."""
    return _NEUTRAL


def score(
    hits: Sequence[Hit],
    question: Question,
    profile: Profile,
    usefulness: Callable[[str], float] = neutral,
    reached: Mapping[str, Reached] = _NOT_HOPPED,
) -> list[Scored]:
    """``hits``, best first. ``reached`` is how some of them were, if hops were made.

    What was reached comes nearer to the hit that it was reached from, by the weight of the way; it never passes it.
    """
    signals = signals_of(hits, question, profile, usefulness)
    if "causal" in profile.weights:
        for each, causal in zip(signals, _linked([s["semantic"] for s in signals], hits), strict=True):
            each["causal"] = causal
    effects = {**profile.effects, **profile.several} if question.several else profile.effects
    own = [_own(each, profile.weights, effects) for each in signals]
    total = _supported(own, hits, signals, profile)
    if profile.telling:
        for i, each in enumerate(signals):
            total[i] *= 1 - profile.telling * (1 - each.get("telling", 1.0))
    before = {hit.id: total[i] for i, hit in enumerate(hits)} if reached else {}
    for i, hit in enumerate(hits):
        if reach := reached.get(hit.id):
            signals[i]["hops"] = reach.strength
            total[i] += reach.weight * max(0.0, before[reach.path[0].source] - total[i])
    replaced, newer = _newest_first(total, hits, signals) if profile.newest_first else ({}, {})
    scored = [
        Scored(
            hit,
            total[i],
            signals[i],
            hits[replaced[i]].id if i in replaced else None,
            hits[newer[i]].id if i in newer else None,
            reached[hit.id].path if hit.id in reached else (),
        )
        for i, hit in enumerate(hits)
    ]
    scored.sort(key=lambda s: (-s.score, s.hit.id))
    return _spread(scored, hits, profile.again) if question.several and profile.again < 1 else scored


def has_answer(scored: Sequence[Scored], question: Question, *, degraded: bool = False) -> bool:
    """Whether there may be an answer among them.

    There is none if the query names a code that none of them has (an order, a ticket, a part: what is near it is
    another one), or if nothing is even remotely like the query. ``degraded``: nothing is known of their meaning.
    """
    if question.identifiers:
        texts = [each.hit.once(Likeness.text) for each in scored]
        if not any(code in text for code in question.identifiers for text in texts):
            return False
    if degraded:
        return bool(scored)
    return any(s.signals["semantic"] >= NO_ANSWER or s.signals["keyword"] > 0 for s in scored)


def reranked(scored: Sequence[Scored], judged: Sequence[float]) -> list[Scored]:
    """``scored`` with its first ``len(judged)`` in the order of their marks (0…1) from a cross-encoder.

    Their own scores decide between equal marks, and a half of the way: a judge that sees two texts alone knows nothing
    of trust, age and what was replaced.
    """
    first = [
        replace(each, score=(each.score + mark) / 2, signals={**each.signals, "rerank": round(mark, 4)})
        for each, mark in zip(scored, judged, strict=False)
    ]
    first.sort(key=lambda each: -each.score)
    floor = first[-1].score if first else 1.0
    rest = [replace(each, score=min(each.score, floor)) for each in scored[len(first) :]]
    return first + rest


def _own(signals: dict[str, float], weights: Mapping[str, float], effects: Mapping[str, float]) -> float:
    total = 0.0
    for name, weight in weights.items():
        total += weight * signals[name]
    for name, effect in effects.items():
        total *= 1 - effect * (1 - signals.get(name, 1.0))
    return total


def _supported(
    own: Sequence[float], hits: Sequence[Hit], signals: Sequence[dict[str, float]], profile: Profile
) -> list[float]:
    """``own``, and the support of neighbours, session and links, on the scale of ``own``.

    A memory that stands alone loses nothing against one in a conversation: it counts as its own neighbour and session.
    Links can only add, up to 1.
    """
    if not profile.support:
        return list(own)
    neighbours, session, links = (profile.support.get(name, 0.0) for name in ("neighbours", "session", "links"))
    beside = _neighbours(own, hits)
    after_neighbours = [s + neighbours * n for s, n in zip(own, beside, strict=True)]
    around = _sessions(after_neighbours, hits)
    scale = 1 + neighbours + session * (1 + neighbours)
    supported = [(s + session * m) / scale for s, m in zip(after_neighbours, around, strict=True)]
    linked = _linked(supported, hits) if links else [0.0] * len(own)
    for i, each in enumerate(signals):
        each["session"], each["links"] = min(1.0, around[i] / (1 + neighbours)), linked[i]
    return [s + links * x * (1 - s) for s, x in zip(supported, linked, strict=True)]


def _neighbours(scores: Sequence[float], hits: Sequence[Hit]) -> list[float]:
    """The better score of the turn before and the turn after; a turn whose neighbours were not found has none."""
    place = {hit.id: i for i, hit in enumerate(hits)}
    memories = [hit.memory for hit in hits]
    by_turn: dict[tuple[str, str | None, int], int] = {
        (memory.pool, memory.session_id, memory.turn): i
        for i, memory in enumerate(memories)
        if memory.session_id is not None and memory.turn is not None
    }
    best = [0.0] * len(hits)
    followed = {hit.before for hit in hits}

    def meet(one: int, other: int) -> None:
        best[one], best[other] = max(best[one], scores[other]), max(best[other], scores[one])

    for i, (hit, memory) in enumerate(zip(hits, memories, strict=True)):
        before_id = hit.before
        if before_id is not None and before_id in place:
            meet(i, place[before_id])
        elif memory.turn is not None:
            before = by_turn.get((memory.pool, memory.session_id, memory.turn - 1))
            if before is not None:
                meet(i, before)
        if before_id is None and memory.session_id is None and hit.id not in followed:
            best[i] = scores[i]
    return best


def _sessions(scores: Sequence[float], hits: Sequence[Hit]) -> list[float]:
    """The mean of the best of each one's session; of a memory without a session, its own score."""
    sessions: dict[object, list[int]] = defaultdict(list)
    for i, key in enumerate(map(conversation, hits)):
        sessions[key].append(i)
    means = [0.0] * len(hits)
    for members in sessions.values():
        if len(members) == 1:
            (i,) = members
            means[i] = scores[i] / (_BEST_OF_SESSION if hits[i].memory.session_id else 1)
            continue
        best = sorted((scores[i] for i in members), reverse=True)[:_BEST_OF_SESSION]
        mean = sum(best) / _BEST_OF_SESSION
        for i in members:
            means[i] = mean
    return means


def _linked(scores: Sequence[float], hits: Sequence[Hit]) -> list[float]:
    """The best score among the first that each is linked with, in either direction, times the link's weight."""
    place = {hit.id: i for i, hit in enumerate(hits)}
    best = set(sorted(range(len(hits)), key=lambda i: -scores[i])[:_BEST_LINKED])
    linked = [0.0] * len(hits)
    for i, hit in enumerate(hits):
        for link in hit.memory.links:
            other = place.get(link.target)
            if other is None or link.rel in {"supersedes", "contradicts"}:
                continue
            if other in best:
                linked[i] = max(linked[i], link.weight * scores[other])
            if i in best:
                linked[other] = max(linked[other], link.weight * scores[i])
    return linked


def _newest_first(
    scores: list[float], hits: Sequence[Hit], signals: Sequence[dict[str, float]]
) -> tuple[dict[int, int], dict[int, int]]:
    """Lift what is newer to just above what it replaces; the older are given what replaces them, and what may.

    It is known to replace where a link says so, and taken to where two memories speak of the same (see `Likeness`)
    and nothing says that one led to the other. A query that names a time keeps what was true then in its place.
    """
    best = sorted(range(len(hits)), key=lambda i: -scores[i])[:_NEWEST_AMONG]
    memories = {i: hits[i].memory for i in best}
    # Turns of talk are full of the same words, so they are not compared.
    texts = {i: hits[i].once(Likeness.of) for i in best if not is_talk(hits[i])}
    replaced: dict[int, int] = {}
    newer: dict[int, int] = {}
    for new in sorted(best, key=lambda i: memories[i].occurred_at, reverse=True):
        memory = memories[new]
        linked = {link.target for link in memory.links}
        superseded = {link.target for link in memory.links if link.rel == "supersedes"}
        for old in best if superseded else texts if new in texts else ():
            other = memories[old]
            said = other.id in superseded
            if not said:
                if other.occurred_at >= memory.occurred_at or new not in texts or old not in texts:
                    continue
                if other.id in linked or not texts[new].same_subject(texts[old]):
                    continue
            (replaced if said else newer).setdefault(old, new)
            if signals[old].get("time", 0.0) > signals[new].get("time", 0.0):
                continue
            if not said and signals[old]["usefulness"] > signals[new]["usefulness"]:
                continue  # whoever used both knew better
            if scores[old] >= scores[new] and (said or scores[new] >= _NEAR_ENOUGH * scores[old]):
                scores[new] = scores[old] + 1e-6
    return replaced, newer


def _spread(scored: Sequence[Scored], hits: Sequence[Hit], again: float) -> list[Scored]:
    """``scored`` with its later part of many sessions: maximal marginal relevance (Carbonell and Goldstein 1998)."""
    belongs = {hit.id: conversation(hit) for hit in hits}
    spread = list(scored[:_NOT_SPREAD])
    left = list(scored[_NOT_SPREAD:_SPREAD_AMONG])
    taken = Counter(belongs[each.memory.id] for each in spread)
    while left:
        worth = [each.score * again ** taken[belongs[each.memory.id]] for each in left]
        best = max(range(len(left)), key=worth.__getitem__)
        spread.append(replace(left.pop(best), score=worth[best]))
        taken[belongs[spread[-1].memory.id]] += 1
    return spread + [replace(each, score=min(each.score, spread[-1].score)) for each in scored[len(spread) :]]
