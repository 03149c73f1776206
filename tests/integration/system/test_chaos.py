"""A short form of `make chaos`: a minute in all. What it found once is in the history of `tests/chaos`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.report import told
from tests.chaos.run import Trial, run


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_what_was_promised_is_kept_while_parts_die(tmp_path: Path) -> None:
    trial = Trial(seed=7, seconds=35)
    outcome = await run(tmp_path, trial)
    assert not outcome.violations, told(outcome, trial)
    assert outcome.faults
