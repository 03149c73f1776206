"""`context`: the working set of one of the caller's sessions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from ...bus.jobs import Jobs
from ...bus.rpc import Caller
from ...schemas import AfterwitError, Context, ContextReply, Memory, Unavailable
from ...schemas.words import HIDDEN, Kind
from ..access import Access
from ..bulk import Beside
from ..index import Index, IndexFilter, IndexQuery
from ..inference import EmbeddingClient, Priority
from ..reflection.triggers import overflow
from ..tokens import TokenCounter
from ..window import Window, select
from ..window.pressing import Pressing
from ..window.selection import Selected, in_order
from ..window.valkey import GONE, MAX_TURNS

logger = logging.getLogger(__name__)

FULL_AT: Final = 0.8
"""Of the budget: from there on turns leave the window for the summary (design §4)."""
SUMMARY_SHARE: Final = 0.25
LESSONS: Final = 3
LESSONS_SHARE: Final = 0.15
_LESSON_KINDS: Final[tuple[Kind, ...]] = ("lesson", "procedure", "preference")
_NEAR: Final = 0.5
_IN_WORDS: Final = 0.5
_ASKED_WITH: Final = 600
"""Characters of the latest turns that lessons are looked for with."""
_OVERFLOWS: Final = 50
"""So many turns more have left the window before it is told again."""


class Contextual:
    """Reads the window; where it was lost, rebuilds it from the index; where its engine is away, does without."""

    def __init__(  # noqa: PLR0913  # each is another thing that a context is made of
        self,
        *,
        access: Access,
        window: Window,
        index: Index,
        embeddings: EmbeddingClient,
        jobs: Jobs | None,
        clock: Callable[[], datetime],
        budget: int,
        count: TokenCounter,
    ) -> None:
        self._access = access
        self._window = window
        self._index = index
        self._embeddings = embeddings
        self._jobs = jobs
        self._clock = clock
        self._budget = budget
        self._count = count
        self._pressing = Pressing(count)

    async def context(self, caller: Caller, request: Context) -> ContextReply:
        """What to put in front of the model now: turns in order, what else must not be lost, and lessons that fit."""
        memories = await self._memories(caller.agent, request.session_id)
        readable = await self._access.readable(caller.agent)
        turns = [memory for memory in memories if memory.pool in set(readable)]
        budget = request.max_tokens or self._budget
        selected, left = self._split(turns, budget)
        room = budget - selected.tokens
        pressed = await self._pressing.summary(left, min(room, max(int(SUMMARY_SHARE * budget), 1)))
        room -= pressed.tokens
        lessons = await self._lessons(turns, readable, min(room, int(LESSONS_SHARE * budget)))
        if left:
            await self._tell(caller.agent, request.session_id, left)
        tokens = selected.tokens + pressed.tokens + sum(self._count(lesson.content) for lesson in lessons)
        beside = Beside(budget - tokens, self._count)
        latest_first = [beside(memory) for memory in (*reversed(selected.memories), *lessons)]
        turns_shown = len(selected.memories)
        return ContextReply(
            session_id=request.session_id,
            turns=tuple(reversed(latest_first[:turns_shown])),
            summary=pressed.text or None,
            lessons=tuple(latest_first[turns_shown:]),
            tokens=tokens + beside.tokens,
            without_data=tuple(beside.left_out),
        )

    def forget(self, ids: Iterable[str]) -> None:
        """These memories were purged: nothing of them stays in main memory."""
        self._pressing.forget(ids)

    async def _lessons(self, turns: Sequence[Memory], pools: tuple[str, ...], room: int) -> tuple[Memory, ...]:
        """Lessons and preferences that fit the latest turns, within ``room`` tokens."""
        if not turns or room <= 0:
            return ()
        said = next((turn for turn in reversed(turns) if turn.kind == "user_input"), turns[-1])
        text = "\n".join(dict.fromkeys(turn.content[:_ASKED_WITH] for turn in (said, turns[-1])))
        where = IndexFilter(
            pools=pools, kinds=_LESSON_KINDS, statuses_hidden=HIDDEN, valid_at=self._clock(), clearance=()
        )
        try:
            if not await self._index.count(where):
                return ()
            vectors = await self._embeddings.embed([text], "query", priority=Priority.RETRIEVAL)
            hits = await self._index.search(IndexQuery(text=text, vector=vectors[0], filter=where, limit=4 * LESSONS))
        except AfterwitError as e:  # the turns are what a context is for; it is not held up by what is beside them
            logger.warning("a context without lessons: %s", e)
            return ()
        own = {turn.id for turn in turns}
        near = [
            hit.memory
            for hit in hits
            if ((hit.semantic or 0.0) >= _NEAR or hit.keyword >= _IN_WORDS) and hit.id not in own
        ]
        return self._within(near, room)

    async def _tell(self, agent: str, session_id: str, left: Sequence[Memory]) -> None:
        """What leaves the window is told as an episode: nothing is dropped untold."""
        if self._jobs is None:
            return
        try:
            await self._jobs.submit(overflow(agent, session_id, len(left) // _OVERFLOWS, self._clock()))
        except AfterwitError as e:
            logger.warning("an overflowing session is told later: %s", e)

    async def _memories(self, agent: str, session_id: str) -> Sequence[Memory]:
        from_index = partial(self._from_index, agent, session_id)
        try:
            memories = await self._window.recent(agent, session_id)
        except Unavailable as e:
            logger.warning("a context comes from the index: %s", e)
            return await from_index()
        return await self._window.rebuild(agent, session_id, from_index) if memories is None else memories

    async def _from_index(self, agent: str, session_id: str) -> Sequence[Memory]:
        pools = await self._access.readable(agent)
        where = IndexFilter(pools=pools, session_id=session_id, author=agent, statuses_hidden=GONE)
        return in_order(await self._index.find(where, limit=MAX_TURNS))

    def _split(self, turns: Sequence[Memory], budget: int) -> tuple[Selected, list[Memory]]:
        """The turns to show, and those that are left for the summary, if all together do not fit."""
        selected = select(turns, budget, self._count)
        if len(selected.memories) < len(turns):
            selected = select(turns, max(int(FULL_AT * budget), 1), self._count)
        shown = {memory.id for memory in selected.memories}
        return selected, [turn for turn in turns if turn.id not in shown]

    def _within(self, memories: Iterable[Memory], room: int) -> tuple[Memory, ...]:
        chosen: list[Memory] = []
        for memory in memories:
            tokens = self._count(memory.content)
            if tokens <= room and len(chosen) < LESSONS:
                chosen.append(memory)
                room -= tokens
        return tuple(chosen)
