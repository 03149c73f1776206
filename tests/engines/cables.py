"""Cables that can be pulled out: packets vanish, and nobody is told. Needs network namespaces (root, the ip command).

::

    with Network() as network:
        cable = network.lay()
        with NatsServer(tmp_path / "nats", cable=cable) as server:    # at cable.address, in a namespace of its own
            cable.plug(inserted=False)
            cable.plug(inserted=True)
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import ExitStack
from types import TracebackType


class NoNetwork(Exception):
    """There can be no network namespaces here."""


class Cable:
    """One end is in this namespace's bridge, the other one in a namespace of its own, at ``address``."""

    def __init__(self, space: str, address: str) -> None:
        self.space = space
        self.address = address

    @property
    def command(self) -> tuple[str, ...]:
        """Put before a command, it runs at the cable's far end."""
        return ("ip", "netns", "exec", self.space)

    def plug(self, *, inserted: bool) -> None:
        """Put it in, or pull it out."""
        _ip("-n", self.space, "link", "set", "far", "up" if inserted else "down")


class Network:
    """A bridge on this machine alone.

    Raises:
        NoNetwork: on entering it.
    """

    def __init__(self) -> None:
        self._name = f"aw{os.getpid()}"
        self._prefix = f"10.{os.getpid() % 200 + 20}.7"
        self._laid = 0
        self._stack = ExitStack()

    def lay(self) -> Cable:
        """Another cable, plugged in."""
        self._laid += 1
        space, near = f"{self._name}-{self._laid}", f"{self._name}n{self._laid}"
        cable = Cable(space, f"{self._prefix}.{self._laid + 1}")
        _ip("netns", "add", space)
        self._stack.callback(_ip, "netns", "del", space)
        _ip("link", "add", near, "type", "veth", "peer", "name", "far", "netns", space)
        _ip("link", "set", near, "master", self._name, "up")
        _ip("-n", space, "addr", "add", f"{cable.address}/24", "dev", "far")
        _ip("-n", space, "link", "set", "lo", "up")
        cable.plug(inserted=True)
        return cable

    def __enter__(self) -> Network:
        if os.getuid() != 0 or shutil.which("ip") is None:
            raise NoNetwork("network namespaces need root and the ip command")
        with ExitStack() as stack:
            try:
                _ip("link", "add", self._name, "type", "bridge")
                stack.callback(_ip, "link", "del", self._name)
                _ip("addr", "add", f"{self._prefix}.1/24", "dev", self._name)
                _ip("link", "set", self._name, "up")
                _ip("netns", "add", self._name)
                _ip("netns", "del", self._name)
            except subprocess.CalledProcessError as e:
                raise NoNetwork(f"no network namespaces here: {e.stderr.decode().strip()}") from e
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def _ip(*words: str) -> None:
    subprocess.run(("ip", *words), check=True, capture_output=True)
