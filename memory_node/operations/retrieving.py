"""`retrieve`, `feedback` and `explain`."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...bus import instrumentation
from ...bus.rpc import Caller
from ...bus.usage import UsageLog, UsageRecord
from ...schemas import (
    Explain,
    ExplainedItem,
    ExplainReply,
    Feedback,
    FeedbackReply,
    Quota,
    Retrieve,
    RetrievedItem,
    RetrieveReply,
    Unavailable,
)
from ..access import Access
from ..ids import new_id
from ..index import Hit, IndexQuery
from ..inference import Models, Priority
from ..retrieval import Question, Scored, has_answer, impersonal, pack, profile_named, reranked, score, time_asked
from ..retrieval.finding import Finding
from ..tokens import TokenCounter
from ..visibility import SeqWaiter
from .selecting import index_filter

logger = logging.getLogger(__name__)

_CANDIDATES: Final = 50
_RERANKED: Final = 20
_AFTER_SEQ_WITHIN_S: Final = 5.0


class Retrieving:
    """Finds memories and says why; remembers what it brought, so that feedback can follow."""

    def __init__(  # noqa: PLR0913  # each is another part of the way from a question to its answer
        self,
        *,
        access: Access,
        models: Models,
        finding: Finding,
        usage: UsageLog,
        waiter: SeqWaiter,
        hints: Callable[[Iterable[str]], tuple[str, ...]],
        count: TokenCounter,
        clock: Callable[[], datetime],
    ) -> None:
        self._access = access
        self._embeddings = models.embeddings
        self._reranker = models.reranker
        self._finding = finding
        self._usage = usage
        self._waiter = waiter
        self._hints = hints
        self._count = count
        self._clock = clock

    async def retrieve(self, caller: Caller, request: Retrieve) -> RetrieveReply:
        """Candidates from the index, scored by the profile, packed into the caller's budget."""
        stages = _Stages()
        profile = profile_named(request.profile)
        now = request.now.astimezone(UTC) if request.now else self._clock()
        question = Question.of(request.query, request.now or now, request.time_zone)
        degraded: list[str] = []
        if request.after_seq and not await self._waiter.visible(request.after_seq, _AFTER_SEQ_WITHIN_S):
            degraded.append("index")
        stages.end("wait")
        where = await index_filter(self._access, caller.agent, request, now)
        if request.only_then:
            where = dataclasses.replace(where, time_range=time_asked(question, where.time_range))
        named = await self._finding.speakers(request.query, where)
        stages.end("names")
        vector = await self._query_vector(impersonal(request.query, named), degraded)
        stages.end("embed")
        limit = max(_CANDIDATES, 2 * request.top_k)
        query = IndexQuery(text=request.query, vector=vector, filter=where, limit=limit)
        hits: Sequence[Hit] = await self._finding.candidates(query, degraded)
        stages.end("search")
        absent = not request.hops and await self._finding.absent(
            hits, question, where, lambda text: self._query_vector(text, degraded)
        )  # who asks for hops looks for what no memory says alone
        stages.end("doubt")
        scored = score(hits, question, profile, self._usage.usefulness)
        stages.end("score")
        if request.hops and scored:
            direct = {each.memory.id: each.score for each in scored}
            hits, reached = await self._finding.hopped(query, hits, direct, request.hops, degraded)
            scored = score(hits, question, profile, self._usage.usefulness, reached)
            stages.end("hops")
        scored = await self._reranked(request, scored, degraded)
        stages.end("rerank")
        # Waiting for a place in the log, embedding and reranking take time, in which access may have ended.
        still = await self._access.still(caller.agent)
        hits = [hit for hit in hits if hit.memory.pool in still]
        left = {hit.id for hit in hits}
        scored = [each for each in scored if left.issuperset((each.memory.id, *(step.source for step in each.path)))]
        items = () if absent else self._packed(request, question, hits, scored, now)
        stages.end("pack")
        retrieval_id = new_id()
        await self._usage.record(
            UsageRecord(
                retrieval_id=retrieval_id,
                agent=caller.agent,
                profile=profile.name,
                ids=tuple(item.memory.id for item in items),
                scores=tuple(item.score for item in items),
                took_ms=stages.total_ms,
                at=self._clock(),
                why=tuple(item.why for item in items),
                signals=tuple(item.signals for item in items),
                stages=stages.ms,
                candidates=len(hits),
                no_answer=not items,
                degraded=tuple(degraded),
            )
        )
        instrumentation.retrieved(retrieval_id, stages.ms, no_answer=not items)
        return RetrieveReply(
            items=items,
            retrieval_id=retrieval_id,
            no_answer=not items,
            degraded=tuple(degraded),
            total_candidates=len(hits),
            hints=(*_unheeded(request, question), *self._hints(item.memory.pool for item in items)),
        )

    async def feedback(self, caller: Caller, request: Feedback) -> FeedbackReply:
        """Keep what a retrieval was worth, beside its record, and let each memory's rank learn of it."""
        return FeedbackReply(recorded=await self._usage.feedback(caller.agent, request.retrieval_id, request.used))

    async def explain(self, caller: Caller, request: Explain) -> ExplainReply:
        """How one of the caller's retrievals came to its answer."""
        record = await self._usage.get(caller.agent, request.retrieval_id)
        said = {item.id: item for item in record.feedback}
        blank: tuple[str, ...] = ("",) * len(record.ids)
        signals = record.signals or ({},) * len(record.ids)
        items = zip(record.ids, record.scores, signals, record.why or blank, strict=True)
        return ExplainReply(
            retrieval_id=record.retrieval_id,
            profile=record.profile,
            at=record.at,
            items=tuple(
                ExplainedItem(id=id, score=value, signals=parts, why=why, feedback=said.get(id))
                for id, value, parts, why in items
            ),
            no_answer=record.no_answer,
            candidates=record.candidates,
            took_ms=record.took_ms,
            stages=record.stages,
            degraded=record.degraded,
        )

    def _packed(
        self, request: Retrieve, question: Question, hits: Sequence[Hit], scored: Sequence[Scored], now: datetime
    ) -> tuple[RetrievedItem, ...]:
        if not has_answer(scored, question, degraded=all(hit.semantic is None for hit in hits)):
            return ()
        return pack(
            scored,
            top_k=request.top_k,
            max_content_length=request.max_content_length,
            max_tokens=request.max_tokens,
            now=now,
            count=self._count,
        )

    async def _reranked(self, request: Retrieve, scored: list[Scored], degraded: list[str]) -> list[Scored]:
        """The first of them in the order of the cross-encoder, if there is one and it was not declined."""
        if request.rerank is False or not scored:
            return scored
        if self._reranker is None:
            if request.rerank:
                degraded.append("rerank")
            return scored
        first = scored[:_RERANKED]
        try:
            judged = await self._reranker.scores(request.query, [each.memory.content for each in first])
        except Unavailable as e:
            logger.warning("retrieval without the reranker: %s", e)
            degraded.append("rerank")
            return scored
        return reranked(scored, judged)

    async def _query_vector(self, query: str, degraded: list[str]) -> NDArray[np.float32] | None:
        try:
            (vector,) = await self._embeddings.embed([query], "query", priority=Priority.RETRIEVAL)
        except (Unavailable, Quota) as e:
            logger.warning("retrieval by words alone: %s", e)
            degraded.append("inference")
            return None
        return np.asarray(vector)


def _unheeded(request: Retrieve, question: Question) -> tuple[str, ...]:
    """What was asked for and could not be done."""
    if request.only_then and not question.periods:
        return ("only_then filtered nothing, since no time was read in the query: name one, or give time_range",)
    return ()


@dataclasses.dataclass(slots=True)
class _Stages:
    """Where the time of a retrieval goes, in milliseconds."""

    ms: dict[str, float] = dataclasses.field(default_factory=dict)
    _began: float = dataclasses.field(default_factory=time.perf_counter)

    def end(self, stage: str) -> None:
        now = time.perf_counter()
        self.ms[stage] = round((now - self._began) * 1000, 3)
        self._began = now

    @property
    def total_ms(self) -> float:
        return sum(self.ms.values())
