"""Ports to listen on."""

from __future__ import annotations

import errno
import socket

from ..schemas import Unavailable


def choose_port(host: str, wanted: int, option: str) -> int:
    """``wanted`` if it can be listened on, a free port for 0.

    Raises:
        Unavailable: it cannot; the message says why and names ``option``.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        # Or a port that was used a moment ago would count as taken; who listens is found all the same.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, wanted))
        except OSError as e:
            if e.errno == errno.EADDRINUSE:
                raise Unavailable(
                    f"port {wanted} on {host} is taken by another program: "
                    f"give another with {option}, or 0 for a free one",
                    port=wanted,
                ) from e
            raise Unavailable(f"cannot listen on {host} port {wanted} ({e.strerror}): see {option} and --host") from e
        port: int = probe.getsockname()[1]
        return port
