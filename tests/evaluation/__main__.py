"""``python -m tests.evaluation``: how well memories are found, beside baselines, and how well looking back works."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from tests.engines.system import afterwit_up
from tests.evaluation import hostile, locomo, namesakes, reflection, retrieval
from tests.evaluation.bus import ingest_conversation, rankings
from tests.evaluation.locomo import Conversation
from tests.evaluation.measures import scores
from tests.shared_data import LOCOMO

_TOP_K = 10


def main() -> int:
    """Evaluate; exit status 1 if retrieval falls below a baseline or a goal is missed, 2 if there is no corpus."""
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation", description=__doc__)
    parser.add_argument("conversations", nargs="*", default=[*retrieval.CONVERSATIONS], help="LoCoMo conversations")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep vectors there between runs")
    parser.add_argument(
        "--product", action="store_true", help="ask the whole product too: ingested over NATS, asked over MCP"
    )
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 180)
    status = retrieval.evaluate(console, options.conversations, options.keep)
    if options.product and status != 2:
        corpus = locomo.load(LOCOMO)
        asyncio.run(_product(console, [corpus[id] for id in options.conversations]))
    namesakes.evaluate(console, options.keep)
    with tempfile.TemporaryDirectory(prefix="afterwit-eval-") as directory:
        status = max(status, asyncio.run(hostile.evaluate(console, Path(directory))))
    return max(status, reflection.evaluate(console))


async def _product(console: Console, conversations: list[Conversation]) -> None:
    with tempfile.TemporaryDirectory(prefix="afterwit-eval-") as directory:
        agents = [conversation.id for conversation in conversations]  # each in the private pool of an agent of its own
        async with afterwit_up(Path(directory), *agents) as system:
            for conversation in conversations:
                pool = f"agent/{conversation.id}"
                await ingest_conversation(system, conversation.id, pool, conversation)
                questions = [question.text for question in conversation.questions]
                now = conversation.turns[-1].at
                found = await rankings(system, conversation.id, pool, questions, now=now, top_k=_TOP_K)
                result = scores(zip(found, (q.evidence for q in conversation.questions), strict=True))
                console.print(
                    f"{conversation.id}, whole product: R@1 {result.recall_at_1:.3f}, R@5 {result.recall_at_5:.3f}, "
                    f"R@10 {result.recall_at_10:.3f}, MRR {result.mrr:.3f}, nDCG@10 {result.ndcg_at_10:.3f}"
                )


if __name__ == "__main__":
    sys.exit(main())
