"""What is compared: plain baselines over the contents, and the product's scoring with and without each ingredient."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from afterwit.memory_node.index import EdgeIndex, Hit
from afterwit.memory_node.retrieval import PROFILES, Profile, Question, has_answer, hops, score
from afterwit.memory_node.retrieval.profiles import DEFAULT
from tests.evaluation.bm25 import Bm25
from tests.evaluation.corpora import Asked, Corpus
from tests.evaluation.laboratory import Vectors, queries_of

OURS: Final = DEFAULT
HOPPED: Final = "with two hops"
_RRF_K: Final = 60
_DEPTH: Final = 100


@dataclass(frozen=True, slots=True)
class Answer:
    """Labels, best first, and whether the system says that there is an answer among them."""

    ranking: list[str]
    answered: bool = True


def baselines(
    corpus: Corpus, passages: NDArray[np.float32], queries: NDArray[np.float32], allowed: Sequence[frozenset[str]]
) -> Iterator[tuple[str, list[Answer]]]:
    """BM25, vectors, and their reciprocal rank fusion (Cormack 2009), over contents as they are.

    ``allowed`` are the ids that pass each question's filters.
    """
    ids = [memory.id for memory in corpus.memories]
    words = Bm25({memory.id: memory.content for memory in corpus.memories})
    by_words = [[id for id in words.ranking(q.text, len(ids)) if id in ok] for q, ok in _pairs(corpus, allowed)]
    cosines = queries @ passages.T
    by_meaning = [
        [ids[i] for i in np.argsort(-row, kind="stable") if ids[i] in ok]
        for row, ok in zip(cosines, allowed, strict=True)
    ]
    fused = [_fused(a[:_DEPTH], b[:_DEPTH]) for a, b in zip(by_words, by_meaning, strict=True)]
    for name, rankings in (("BM25", by_words), ("vectors", by_meaning), ("fusion", fused)):
        yield name, [Answer([corpus.labels[id] for id in ranking]) for ranking in rankings]


def profiles(
    corpus: Corpus, hits: Sequence[Sequence[Hit]], absent: Sequence[bool] | None = None
) -> Iterator[tuple[str, list[Answer]]]:
    """Every profile. ``absent``: of each question, whether what it asks of something named is not there."""
    for name, profile in PROFILES.items():
        answers = [_answer(corpus, i, found, profile) for i, found in enumerate(hits)]
        if absent is not None:
            both = zip(answers, absent, strict=True)
            answers = [dataclasses.replace(a, answered=a.answered and not is_absent) for a, is_absent in both]
        yield name, answers


async def hopped(corpus: Corpus, index: EdgeIndex, vectors: Vectors, hits: Sequence[Sequence[Hit]]) -> list[Answer]:
    """The default profile, with two hops from what the index brings."""
    profile = PROFILES[OURS]
    answers = []
    for query, asked, direct in zip(await queries_of(index, corpus, vectors), corpus.questions, hits, strict=True):
        question = Question.of(asked.text, asked.now, asked.time_zone)
        scores = {each.memory.id: each.score for each in score(direct, question, profile)}
        found, reached = await hops.hopped(index, index.calibration, query, direct, scores, 2)
        scored = score(found, question, profile, reached=reached)
        answers.append(Answer([corpus.labels[each.memory.id] for each in scored], has_answer(scored, question)))
    return answers


def ablations(corpus: Corpus, hits: Sequence[Sequence[Hit]]) -> Iterator[tuple[str, list[Answer]]]:
    """The default profile without each of its ingredients."""
    for name, profile in _without():
        yield f"- {name}", [_answer(corpus, i, found, profile) for i, found in enumerate(hits)]


def _without() -> Iterator[tuple[str, Profile]]:
    ours = PROFILES[OURS]
    for signal in ours.weights:
        yield signal, dataclasses.replace(ours, weights={**ours.weights, signal: 0.0})
    for kind in ours.support:
        yield kind, dataclasses.replace(ours, support={**ours.support, kind: 0.0})
    for effect in ("time", "speaker", "present", "form", "recency"):
        yield effect, dataclasses.replace(ours, effects={**ours.effects, effect: 0.0})
    yield "silence of words between languages", dataclasses.replace(ours, other_language=0.0)
    yield "newest first", dataclasses.replace(ours, newest_first=False)
    yield "telling", dataclasses.replace(ours, telling=0.0)
    yield "speaker of several things", dataclasses.replace(ours, several={})
    yield "sessions spread", dataclasses.replace(ours, again=1.0)


def _answer(corpus: Corpus, i: int, hits: Sequence[Hit], profile: Profile) -> Answer:
    asked = corpus.questions[i]
    question = Question.of(asked.text, asked.now, asked.time_zone)
    scored = score(hits, question, profile)
    return Answer([corpus.labels[each.memory.id] for each in scored], has_answer(scored, question))


def _fused(one: Sequence[str], other: Sequence[str]) -> list[str]:
    totals: dict[str, float] = {}
    for ranking in (one, other):
        for rank, id in enumerate(ranking, start=1):
            totals[id] = totals.get(id, 0.0) + 1 / (_RRF_K + rank)
    return sorted(totals, key=lambda id: (-totals[id], id))


def _pairs(corpus: Corpus, allowed: Sequence[frozenset[str]]) -> Iterator[tuple[Asked, frozenset[str]]]:
    return zip(corpus.questions, allowed, strict=True)
