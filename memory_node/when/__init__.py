"""When: expressions of time in English and Chinese text, as periods on the calendar."""

from .calendar import Period, Span
from .reading import MAX_CHARACTERS, periods

__all__ = ["MAX_CHARACTERS", "Period", "Span", "periods"]
