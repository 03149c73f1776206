"""``python -m tests.evaluation``: how well memories are found, beside plain BM25 over the same texts."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.engines.system import afterwit_up
from tests.evaluation import locomo
from tests.evaluation.bm25 import Bm25
from tests.evaluation.bus import ingest_conversation, rankings
from tests.evaluation.locomo import Conversation
from tests.evaluation.measures import Scores, scores
from tests.shared_data import LOCOMO

_TOP_K = 10


def main() -> int:
    """Evaluate; the exit status is 1 if retrieval falls below plain BM25 anywhere, 2 if there is no corpus."""
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation", description=__doc__)
    parser.add_argument("conversations", nargs="*", default=["conv-26"], help="LoCoMo conversations (default: conv-26)")
    wanted = parser.parse_args().conversations
    console = Console()
    if not LOCOMO.exists():
        console.print(
            f"There is no LoCoMo at {LOCOMO}; AFTERWIT_TEST_DATA names the folder that holds locomo/locomo3.json"
        )
        return 2
    corpus = locomo.load(LOCOMO)
    return asyncio.run(_evaluate(console, [corpus[id] for id in wanted]))


async def _evaluate(console: Console, conversations: list[Conversation]) -> int:
    table = Table(
        "conversation", "questions", "system", "n", "R@1", "R@5", "R@10", "MRR", title="LoCoMo: evidence recall"
    )
    below = []
    with tempfile.TemporaryDirectory(prefix="afterwit-eval-") as directory:
        agents = [conversation.id for conversation in conversations]  # each in the private pool of an agent of its own
        async with afterwit_up(Path(directory), *agents) as system:
            for conversation in conversations:
                pool = f"agent/{conversation.id}"
                await ingest_conversation(system, conversation.id, pool, conversation)
                questions = [question.text for question in conversation.questions]
                now = conversation.turns[-1].at
                ours = await rankings(system, conversation.id, pool, questions, now=now, top_k=_TOP_K)
                if not _compare(table, conversation, ours):
                    below.append(conversation.id)
    console.print(table)
    if below:
        console.print(f"[bold red]Below plain BM25 on {', '.join(below)}.[/]")
    return 1 if below else 0


def _compare(table: Table, conversation: Conversation, ours: list[list[str]]) -> bool:
    """Add the rows of a conversation; whether ours is at least as good as BM25 over all its questions."""
    index = Bm25({turn.id: turn.text for turn in conversation.turns})
    plain = [index.ranking(question.text, _TOP_K) for question in conversation.questions]
    for category in sorted({question.category for question in conversation.questions}):
        for system, found in (("BM25", plain), ("afterwit", ours)):
            _row(table, conversation, category, system, _scores(conversation, found, category))
    baseline, measured = _scores(conversation, plain), _scores(conversation, ours)
    _row(table, conversation, "all", "BM25", baseline)
    _row(table, conversation, "all", "afterwit", measured)
    table.add_section()
    return measured.recall_at_5 >= baseline.recall_at_5 and measured.recall_at_10 >= baseline.recall_at_10


def _scores(conversation: Conversation, found: list[list[str]], category: str | None = None) -> Scores:
    return scores(
        (ranking, question.evidence)
        for question, ranking in zip(conversation.questions, found, strict=True)
        if category in (None, question.category)
    )


def _row(table: Table, conversation: Conversation, category: str, system: str, result: Scores) -> None:
    figures = (result.recall_at_1, result.recall_at_5, result.recall_at_10, result.mrr)
    table.add_row(conversation.id, category, system, str(result.questions), *(f"{figure:.3f}" for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
