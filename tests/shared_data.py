"""Where the corpora and labelled cases are that evaluations run on; they are not part of the project."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

SHARED_DATA: Final = Path(os.environ.get("AFTERWIT_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
"""The folder beside the checkout, or the one that ``AFTERWIT_TEST_DATA`` names."""

LOCOMO: Final = SHARED_DATA / "locomo" / "locomo3.json"
CASES: Final = SHARED_DATA / "cases"
MEMORYBANK: Final = SHARED_DATA / "memorybank"
