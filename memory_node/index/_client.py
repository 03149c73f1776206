"""The client of a Qdrant server, and its errors as ours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from qdrant_client import AsyncQdrantClient
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from ...schemas import Internal, Invalid, Unavailable

OLDEST_SERVER: Final = (1, 19)
"""Older servers ignore the corpus of word statistics, so that scores would tell of pools that one may not read."""

WRITE_WITHIN_S: Final = 30.0
_FAULTS_OF_OURS: Final = frozenset({400, 422})


def client_for(url: str, api_key: str | None = None) -> AsyncQdrantClient:
    """A client of the server at ``url``; it connects when first asked something.

    Raises:
        Invalid: that is no URL.
    """
    try:
        return AsyncQdrantClient(url=url, api_key=api_key, timeout=math.ceil(WRITE_WITHIN_S), check_compatibility=False)
    except ValueError as e:
        raise Invalid(f"AFTERWIT_QDRANT_URL: {url!r} is no URL of a Qdrant server: {e}", field="qdrant_url") from e


@contextmanager
def translated() -> Iterator[None]:
    """The client's errors as ours."""
    try:
        yield
    except TimeoutError as e:
        raise Unavailable("Qdrant does not answer in time; try again") from e
    except UnexpectedResponse as e:
        if e.status_code in _FAULTS_OF_OURS:
            raise Internal(f"Qdrant does not accept what was sent ({e.status_code} {e.reason_phrase})") from e
        raise Unavailable(f"Qdrant does not serve at present ({e.status_code} {e.reason_phrase}); try again") from e
    except ApiException as e:
        raise Unavailable("Qdrant cannot be reached at present; try again") from e


def check_version(version: str) -> None:
    """Raise `Unavailable` if the server is older than `OLDEST_SERVER`."""
    major, minor, *_ = (*version.split("."), "0")
    if major.isdigit() and minor.isdigit() and (int(major), int(minor)) < OLDEST_SERVER:
        oldest = ".".join(map(str, OLDEST_SERVER))
        raise Unavailable(f"the Qdrant server is {version}; {oldest} or later is needed")
