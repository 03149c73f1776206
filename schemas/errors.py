"""Every error that a caller can get.

::

    AfterwitError
    ├── Invalid          invalid          the request does not fit; the message names the field
    ├── Unauthenticated  unauthenticated  no token, or one that nobody holds
    ├── Forbidden        forbidden        the pool is visible to you, the act is not allowed
    ├── NotFound         not_found        it is not there, or not for you: both read the same
    ├── Stale            stale            somebody else's version came first: detail.current_version
    ├── Rejected         rejected         the guard refused it: detail.findings
    ├── TooLarge         too_large        over a size limit
    ├── Quota            quota            too much at once: detail.retry_after_s
    ├── Unavailable      unavailable      a part that is needed is away; nothing was changed
    ├── TimedOut         timeout          no answer in time; it may or may not have happened
    └── Internal         internal         our fault
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

Code = Literal[
    "invalid", "unauthenticated", "forbidden", "not_found", "stale", "rejected",
    "too_large", "quota", "unavailable", "timeout", "internal",
]  # fmt: skip


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    """What stands under ``error`` in a reply."""

    code: Code
    message: str
    detail: dict[str, Any] = {}


class ErrorReply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to a request that failed."""

    error: ErrorBody


class AfterwitError(Exception):
    """Root of all errors. ``code`` is the contract's word, ``detail`` is for programs."""

    code: ClassVar[Code] = "internal"

    def __init__(self, message: str, **detail: Any) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail

    @property
    def body(self) -> ErrorBody:
        """This error as it travels."""
        return ErrorBody(code=self.code, message=self.message, detail=self.detail)

    @classmethod
    def from_body(cls, body: ErrorBody) -> AfterwitError:
        """The exception that ``body`` stands for."""
        return _BY_CODE[body.code](body.message, **body.detail)


class Invalid(AfterwitError):
    """The request does not fit; ``detail["field"]`` is the path of the field, ``""`` for the whole."""

    code = "invalid"


class Unauthenticated(AfterwitError):
    """No token, or one that nobody holds."""

    code = "unauthenticated"


class Forbidden(AfterwitError):
    """The caller may see the pool but not do this to it."""

    code = "forbidden"


class NotFound(AfterwitError):
    """Not there, or not for this caller."""

    code = "not_found"


class Stale(AfterwitError):
    """Another version came first; ``detail["current_version"]`` is the one to look at."""

    code = "stale"


class Rejected(AfterwitError):
    """The guard refused the content; ``detail["findings"]`` says what kind of thing, never the thing."""

    code = "rejected"


class TooLarge(AfterwitError):
    """Over a size limit; ``detail["field"]`` and ``detail["limit_bytes"]``."""

    code = "too_large"


class Quota(AfterwitError):
    """Too much at once; ``detail["retry_after_s"]`` seconds from now it may go."""

    code = "quota"


class Unavailable(AfterwitError):
    """A part that is needed is away, and nothing was changed."""

    code = "unavailable"


class TimedOut(AfterwitError):
    """No answer in time: it may or may not have happened. Repeat with an idempotency key."""

    code = "timeout"


class Internal(AfterwitError):
    """A fault of ours; the node's log has the details."""

    code = "internal"


_BY_CODE: dict[str, type[AfterwitError]] = {kind.code: kind for kind in AfterwitError.__subclasses__()}
