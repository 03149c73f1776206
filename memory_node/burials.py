"""Dead letters, looked at by an operator: listed, tried once more, or erased."""

from __future__ import annotations

import logging

from ..bus import names
from ..bus.dead_letters import Dead, DeadLetters
from ..bus.log import Log
from ..schemas import AfterwitError
from ..schemas.admin import DeadDrop, DeadFailure, DeadLetter, DeadList, DeadListReply, DeadReply, DeadRetry
from .indexer import Indexer

logger = logging.getLogger(__name__)


class Burials:
    """What the operator asks about dead letters.

    An entry of the log still stands there, so it is indexed anew, in its memory's newest version. Everything else is
    sent once more to where it was addressed. A letter is erased when what it holds is safe somewhere else.
    """

    def __init__(self, dead: DeadLetters, log: Log, indexer: Indexer) -> None:
        self._dead = dead
        self._log = log
        self._indexer = indexer

    async def list(self, request: DeadList) -> DeadListReply:
        """A page of letters; what they hold is not shown."""
        return DeadListReply(letters=tuple(map(_shown, await self._dead.page(request.after, request.limit))))

    async def retry(self, request: DeadRetry) -> DeadReply:
        """Have them processed once more."""
        done, unknown, failed = [], [], []
        for id in request.ids:
            letter = await self._dead.get(id)
            if letter is None:
                unknown.append(id)
                continue
            try:
                await self._again(letter)
            except AfterwitError as e:
                failed.append(DeadFailure(id=id, reason=str(e)))
            else:
                done.append(id)
        return DeadReply(done=tuple(done), unknown=tuple(unknown), failed=tuple(failed))

    async def drop(self, request: DeadDrop) -> DeadReply:
        """Erase them."""
        dropped = {id: await self._dead.erase(id) for id in request.ids}
        return DeadReply(
            done=tuple(id for id, there in dropped.items() if there),
            unknown=tuple(id for id, there in dropped.items() if not there),
        )

    async def _again(self, letter: Dead) -> None:
        if letter.what == "log":
            pool, id = names.parse_log(letter.subject)
            record = await self._log.latest(id, pool)
            if record is not None:  # else it was erased meanwhile: nothing is left to index
                await self._indexer.make_visible([record.entry])
        else:
            await self._dead.send_again(letter)
        await self._dead.erase(letter.id)
        logger.info("dead letter %d (%s) was retried", letter.id, letter.what)


def _shown(letter: Dead) -> DeadLetter:
    return DeadLetter(
        id=letter.id,
        what=letter.what,
        subject=letter.subject,
        reason=letter.reason,
        at=letter.at,
        size=len(letter.data),
    )
