"""What an embedder's vectors need before they can be compared: language bias removed, cosines given a meaning.

Two facts about multilingual embedders make raw cosines useless for thresholds and unfair between languages: all
vectors share a large common part, and texts of one language share another. Subtracting the centroid of the text's
language (one for each role, since the model's prefixes move vectors too) takes both away. What remains is scaled
by two anchors, measured on the same sample of sentences, each in English and Chinese: the mean cosine of
unrelated sentences, and that of translations of each other.
"""

from __future__ import annotations

import functools
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from ..inference import Embedder, Role
from .analysis import han_share

VERSION: Final = 1
"""Of the method and the sample: measured files of another version are measured anew."""

AT_RELATED: Final = 0.8
"""The unit similarity of a sentence and its translation: what says the same, in other words."""

_ROLES: Final[tuple[Role, ...]] = ("query", "passage")


@dataclass(frozen=True, slots=True)
class Scale:
    """Mean cosines, after centring, of unrelated texts and of texts that say the same; and the former's spread."""

    unrelated: float
    spread: float
    related: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Of one model. ``centroids[role]`` is ``(2, dimensions)``: English (and all that is not Chinese), Chinese.

    ``scales[role]`` is for comparing a text in that role with passages.
    """

    model: str
    centroids: dict[Role, NDArray[np.float32]]
    scales: dict[Role, Scale]

    @property
    def dimensions(self) -> int:
        """Of the vectors."""
        return int(self.centroids["passage"].shape[1])

    @classmethod
    def measure(cls, embedder: Embedder) -> Self:
        """Embed the bundled sample (about 600 texts: some seconds on two cores) and measure.

        Raises:
            Unavailable: the embedder does not answer.
        """
        english, chinese = _sample("en"), _sample("zh")
        raw = {role: (embedder.embed(english, role), embedder.embed(chinese, role)) for role in _ROLES}
        centroids = {role: np.stack([en.mean(axis=0), zh.mean(axis=0)]) for role, (en, zh) in raw.items()}
        centred = {
            role: tuple(_unit_rows(part - centroids[role][i]) for i, part in enumerate(parts))
            for role, parts in raw.items()
        }
        scales = {role: _scale(centred[role], centred["passage"]) for role in _ROLES}
        return cls(embedder.model, centroids, scales)

    def apply(self, vectors: NDArray[np.floating], texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """``(n, dimensions)`` raw vectors of ``texts`` as unit vectors that can be compared across languages.

        A text in both languages is centred between them, by its share of Chinese.
        """
        shares = np.array([[han_share(text)] for text in texts], dtype=np.float32).reshape(-1, 1)
        english, chinese = self.centroids[role]
        return _unit_rows(np.asarray(vectors, dtype=np.float32) - (english + shares * (chinese - english)))

    def unit(self, cosine: float, role: Role = "query") -> float:
        """A cosine of calibrated vectors as 0…1, comparable across models.

        0 is what unrelated texts have on average (or less), `AT_RELATED` what translations have, 1 identity; linear
        between these, so that ranks are kept.
        """
        scale = self.scales[role]
        if cosine <= scale.unrelated:
            return 0.0
        if cosine <= scale.related:
            return AT_RELATED * (cosine - scale.unrelated) / (scale.related - scale.unrelated)
        return min(1.0, AT_RELATED + (1 - AT_RELATED) * (cosine - scale.related) / max(1 - scale.related, 1e-6))

    def units(self, cosines: NDArray[np.floating], role: Role = "query") -> NDArray[np.float64]:
        """`unit` of each, in the same shape; NaN stays NaN."""
        scale = self.scales[role]
        bounds = [scale.unrelated, scale.related, max(1.0, scale.related + 1e-6)]
        units: NDArray[np.float64] = np.interp(cosines, bounds, [0.0, AT_RELATED, 1.0])
        return units

    def alike(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """``(n, n)``: of the calibrated vectors ``(n, dimensions)`` of passages each with each, as `unit` has it."""
        return self.units(vectors @ vectors.T, "passage").astype(np.float32)

    @classmethod
    def load_or_measure(cls, embedder: Embedder, directory: Path) -> Self:
        """The calibration for this model that comes with the package or is kept in ``directory``.

        If there is none, a fresh one, which is then kept there. Blocks as long as `measure` does: call it in a thread.
        """
        name = f"{file_stem(embedder.model)}.calibration.npz"
        path = directory / name
        for place in (resources.files(__package__).joinpath(name), path):
            kept = cls._load(place)
            if kept is not None and kept.model == embedder.model and kept.dimensions == embedder.dimensions:
                return kept
        fresh = cls.measure(embedder)
        fresh._save(path)
        return fresh

    @classmethod
    def _load(cls, path: Traversable) -> Self | None:
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                if int(kept["version"]) != VERSION:
                    return None
                return cls(
                    str(kept["model"]),
                    {role: kept[f"centroids_{role}"] for role in _ROLES},
                    {role: Scale(*map(float, kept[f"scale_{role}"])) for role in _ROLES},
                )
        except (FileNotFoundError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
            return None  # never measured, or damaged: measuring again costs seconds

    def _save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        values: dict[str, NDArray[np.generic]] = {"version": np.array(VERSION), "model": np.array(self.model)}
        for role in _ROLES:
            scale = self.scales[role]
            values[f"centroids_{role}"] = self.centroids[role]
            values[f"scale_{role}"] = np.array([scale.unrelated, scale.spread, scale.related])
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npz", delete=False) as file:
            np.savez(file, **values)  # type: ignore[arg-type]  # numpy's stub takes the names for allow_pickle
        Path(file.name).replace(path)


def file_stem(model: str) -> str:
    """A model's name as part of a file name."""
    return "".join(c if c.isalnum() or c in "-." else "_" for c in model)


def _scale(queries: tuple[NDArray[np.float32], ...], passages: tuple[NDArray[np.float32], ...]) -> Scale:
    every_query, every_passage = np.concatenate(queries), np.concatenate(passages)
    cosines = every_query @ every_passage.T
    pair = np.arange(len(every_query)) % len(queries[0])
    unrelated = cosines[pair[:, None] != pair[None, :]]
    translations = np.concatenate([np.sum(queries[0] * passages[1], axis=1), np.sum(queries[1] * passages[0], axis=1)])
    return Scale(float(unrelated.mean()), float(unrelated.std()), float(translations.mean()))


def _unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.maximum(norms, 1e-9)).astype(np.float32)


@functools.cache
def _sample(language: str) -> tuple[str, ...]:
    """Everyday sentences, the n-th of each language meaning the same."""
    return tuple(resources.files(__package__).joinpath(f"sample_{language}.txt").read_text("utf-8").splitlines())
