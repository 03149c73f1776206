"""What the parts of Afterwit (not agents) may do on NATS. A node may do everything in its account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .. import names

NODE: Final = "node"
GATEWAY: Final = "gateway"
ADMIN: Final = "admin"
CALLOUT: Final = "callout"
SYS: Final = "sys"

_ASK_SERVICES: Final = "$SRV.>"
_ANY_INBOX: Final = "_INBOX.>"
"""Where NATS clients listen that set no prefix. Nodes do so too, which is no secret from who may ask for everything."""


@dataclass(frozen=True, slots=True)
class PartPermissions:
    """What a part may publish and subscribe to; with ``may_answer`` it may also answer what it is asked."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    may_answer: bool = False


def gateway() -> PartPermissions:
    """Asks nodes in every agent's name, hears every notice and revocation, reads who exists and who may read what."""
    return PartPermissions(
        publish=(names.REQUEST_SUBJECTS, _ASK_SERVICES, *_reading(names.AGENTS), *_reading(names.POOLS)),
        subscribe=(f"{names.inbox(GATEWAY)}.>", names.CHANGED_SUBJECTS, names.REVOKED_SUBJECTS),
        may_answer=True,
    )


def admin() -> PartPermissions:
    """What the command line may do on the machine itself.

    Agents, pools, requests in every agent's name, notices, and what nodes do for an operator alone.
    """
    return PartPermissions(
        publish=(
            names.REQUEST_SUBJECTS,
            names.REVOKED_SUBJECTS,
            names.ADMIN_SUBJECTS,
            _ASK_SERVICES,
            *_reading(names.AGENTS),
            *_reading(names.POOLS),
            names.kv_subject(names.AGENTS, ">"),
            names.kv_subject(names.POOLS, ">"),
        ),
        subscribe=(f"{names.inbox(ADMIN)}.>", _ANY_INBOX, names.CHANGED_SUBJECTS),
    )


def _reading(bucket: str) -> tuple[str, ...]:
    stream = names.kv_stream(bucket)
    direct = names.direct_get(stream)
    return (direct, f"{direct}.>", names.leader_get(stream), names.stream_info(stream))
