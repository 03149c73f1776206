"""The labels of MemoryBank stand by themselves; with the corpus, each of them is a turn of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evaluation import corpora, memorybank
from tests.shared_data import MEMORYBANK


def test_turns_and_questions_are_as_an_agent_would_have_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both speakers' turns in order, on their day; alternatives and parts of an answer as labelled."""
    labels = tmp_path / "labels.txt"
    labels.write_text(
        "# notes\n\n## en\n\nOther\n1: -\n\n## zh\n\n小明\n1: 2023-04-27/0/q | 2023-04-27/0/r & 2023-04-28/0/q\n2: -\n"
    )
    monkeypatch.setattr(memorybank, "_LABELS", labels)
    folder = tmp_path / "cn"
    folder.mkdir()
    history = {
        "2023-04-27": [{"query": "我喜欢爬山。", "response": "爬山很好。"}],
        "2023-04-28": [{"query": "也喜欢游泳。", "response": "不错。"}],
    }
    (folder / "memory_bank_cn.json").write_text(json.dumps({" 小明 ": {"history": history}}))
    (folder / "probing_questions_cn.jsonl").write_text(json.dumps({"小明": ["我喜欢什么运动？", "我几岁？"]}))

    corpus = corpora.of_memorybank(tmp_path, "zh")

    assert [m.content for m in corpus.memories] == [
        "小明：我喜欢爬山。",
        "同伴：爬山很好。",
        "小明：也喜欢游泳。",
        "同伴：不错。",
    ]
    assert [str(m.occurred_at.date()) for m in corpus.memories] == ["2023-04-27"] * 2 + ["2023-04-28"] * 2
    first, second = corpus.questions
    assert first.relevant == (
        frozenset({"小明/2023-04-27/0/q", "小明/2023-04-27/0/r"}),
        frozenset({"小明/2023-04-28/0/q"}),
    )
    assert second.relevant == ()
    assert first.where.pools == (corpus.memories[0].pool,)
    together = corpora.of_memorybank(tmp_path, "zh", together=True)
    assert together.questions[0].text == "小明：我喜欢什么运动？"


@pytest.mark.skipif(not MEMORYBANK.exists(), reason="MemoryBank is not here")
@pytest.mark.parametrize("language", memorybank.LANGUAGES)
def test_every_label_is_a_turn(language: memorybank.Language) -> None:
    conversations = memorybank.load(MEMORYBANK, language)
    assert sum(len(conversation.questions) for conversation in conversations) == 100
    for conversation in conversations:
        turns = {turn.id for turn in conversation.turns}
        assert all(group and group <= turns for question in conversation.questions for group in question.evidence)
