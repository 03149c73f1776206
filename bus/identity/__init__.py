"""Who exists, who may read what, and how NATS is told."""

from .agents import GRACE_S, RESERVED, Agents, Proof
from .callout import AuthCallout, serve_callout
from .connections import disconnect
from .pools import PoolRegistry
from .tokens import agent_of, digest, new_token

__all__ = [
    "GRACE_S", "RESERVED", "Agents", "AuthCallout", "PoolRegistry", "Proof",
    "agent_of", "digest", "disconnect", "new_token", "serve_callout",
]  # fmt: skip
