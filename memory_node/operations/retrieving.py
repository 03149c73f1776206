"""`retrieve` and `feedback`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...bus.rpc import Caller
from ...bus.usage import UsageLog, UsageRecord
from ...schemas import Feedback, FeedbackReply, NotFound, Retrieve, RetrieveReply, Unavailable
from ..access import Access
from ..ids import new_id
from ..index import IndexQuery
from ..inference import EmbeddingClient, Priority
from ..retrieval import pack, profile_named
from ..retrieval.finding import Finding
from ..visibility import SeqWaiter
from .selecting import index_filter

logger = logging.getLogger(__name__)

_CANDIDATES: Final = 50
_AFTER_SEQ_WITHIN_S: Final = 5.0


class Retrieving:
    """Finds memories and says why; remembers what it brought, so that feedback can follow."""

    def __init__(
        self,
        *,
        access: Access,
        embeddings: EmbeddingClient,
        finding: Finding,
        usage: UsageLog,
        waiter: SeqWaiter,
        clock: Callable[[], datetime],
    ) -> None:
        self._access = access
        self._embeddings = embeddings
        self._finding = finding
        self._usage = usage
        self._waiter = waiter
        self._clock = clock

    async def retrieve(self, caller: Caller, request: Retrieve) -> RetrieveReply:
        """Candidates from the index, scored by the profile, packed into the caller's budget."""
        started = time.perf_counter()
        profile = profile_named(request.profile)
        now = request.now.astimezone(UTC) if request.now else self._clock()
        degraded: list[str] = []
        if request.after_seq and not await self._waiter.visible(request.after_seq, _AFTER_SEQ_WITHIN_S):
            degraded.append("index")
        where, vector = await asyncio.gather(
            index_filter(self._access, caller.agent, request, now), self._query_vector(request.query, degraded)
        )
        limit = max(_CANDIDATES, 2 * request.top_k)
        hits = await self._finding.candidates(
            IndexQuery(text=request.query, vector=vector, filter=where, limit=limit), degraded
        )
        # Embedding the query and waiting for a place in the log take time, in which access may have ended.
        still = await self._access.still(caller.agent)
        hits = [hit for hit in hits if hit.memory.pool in still]
        scored = sorted((profile.score(hit, now) for hit in hits), key=lambda s: (-s.score, s.memory.id))
        items = pack(
            scored,
            top_k=request.top_k,
            max_content_length=request.max_content_length,
            max_tokens=request.max_tokens,
            now=now,
        )
        retrieval_id = new_id()
        await self._usage.record(
            UsageRecord(
                retrieval_id=retrieval_id,
                agent=caller.agent,
                query=request.query,
                profile=profile.name,
                ids=tuple(item.memory.id for item in items),
                scores=tuple(item.score for item in items),
                took_ms=(time.perf_counter() - started) * 1000,
                at=self._clock(),
            )
        )
        return RetrieveReply(
            items=items,
            retrieval_id=retrieval_id,
            no_answer=not items,
            degraded=tuple(degraded),
            total_candidates=len(hits),
        )

    async def feedback(self, caller: Caller, request: Feedback) -> FeedbackReply:
        """Keep what a retrieval was worth, beside its record."""
        record = await self._usage.get(caller.agent, request.retrieval_id)
        if record is None:
            raise NotFound(
                f"there is no retrieval {request.retrieval_id!r} of yours", retrieval_id=request.retrieval_id
            )
        return FeedbackReply(recorded=await self._usage.feedback(record, request.used))

    async def _query_vector(self, query: str, degraded: list[str]) -> NDArray[np.float32] | None:
        try:
            (vector,) = await self._embeddings.embed([query], "query", priority=Priority.RETRIEVAL)
        except Unavailable as e:
            logger.warning("retrieval by words alone: %s", e)
            degraded.append("inference")
            return None
        return np.asarray(vector)
