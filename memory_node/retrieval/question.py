"""What is asked: the query, with what its words say about language, identifiers and time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from ...schemas import Invalid
from ..index import folded, han_share, is_identifier, terms
from ..when import Period, periods


@dataclass(frozen=True, slots=True)
class Question:
    """``chinese`` is the share of Chinese in the text, 0…1; ``identifiers`` are the codes in it, folded."""

    text: str
    folded: str
    now: datetime
    chinese: float
    identifiers: frozenset[str]
    periods: tuple[Period, ...]

    @classmethod
    def of(cls, text: str, now: datetime, time_zone: str | None = None) -> Question:
        """Read ``text`` as asked at ``now``, in ``time_zone`` (an IANA name; left out, that of ``now``).

        Raises:
            Invalid: there is no such time zone.
        """
        return cls(
            text=text,
            folded=folded(text),
            now=now,
            chinese=han_share(text),
            identifiers=frozenset(term for term in terms(text[:2000]) if is_code(term)),
            periods=tuple(periods(text, now, _zone(time_zone))),
        )


def is_code(term: str) -> bool:
    """Whether a term names one thing and nothing near it: letters and digits joined, as in ``kst-312``."""
    return is_identifier(term) and len(term) >= 4 and any(c.isalpha() for c in term) and "-" in term


def _zone(name: str | None) -> ZoneInfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as e:  # not found, not a name, a directory
        raise Invalid(
            f"time_zone: there is no {name!r}; an IANA name like Asia/Shanghai is meant", field="time_zone"
        ) from e
