"""English and Chinese, and across."""

from __future__ import annotations

from tests.engines.agents import Agent


async def test_chinese_is_found_by_chinese(alice: Agent, pool: str) -> None:
    """By meaning and by words, which are segmented."""
    await alice.store("生产数据库每天凌晨三点备份一次。", pool=pool)
    await alice.store("新同事的工位在四楼靠窗。", pool=pool)
    (best, *_) = await alice.retrieve("数据库什么时候做备份？", pools=[pool])
    assert best["content"] == "生产数据库每天凌晨三点备份一次。"


async def test_a_chinese_question_finds_an_english_memory(alice: Agent, pool: str) -> None:
    """When nothing in its own language fits."""
    await alice.store("The production database is backed up every night at three.", pool=pool)
    await alice.store("The new colleague sits by the window on the fourth floor.", pool=pool)
    await alice.store("The coffee machine needs to be descaled once a month.", pool=pool)
    (best, *_) = await alice.retrieve("新同事坐在哪里？", pools=[pool])
    assert "window" in best["content"]


async def test_an_english_question_finds_a_chinese_memory(alice: Agent, pool: str) -> None:
    """Likewise."""
    await alice.store("生产数据库每天凌晨三点备份一次。", pool=pool)
    await alice.store("新同事的工位在四楼靠窗。", pool=pool)
    await alice.store("咖啡机每个月要除垢一次。", pool=pool)
    (best, *_) = await alice.retrieve("How often is the database backed up?", pools=[pool])
    assert "备份" in best["content"]


async def test_both_languages_live_in_one_memory(alice: Agent, pool: str) -> None:
    """A text may hold both; names and numbers are found as they stand."""
    mixed = await alice.store("用户反馈：checkout 页面在 Safari 17 上报错 ERR-4012。", pool=pool)
    await alice.store("The checkout page was redesigned in March.", pool=pool)
    (best, *_) = await alice.retrieve("ERR-4012", pools=[pool])
    assert best["id"] == mixed["id"]
