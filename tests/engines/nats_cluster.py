"""Three real nats-servers on this machine that hold every stream three times.

::

    with NatsCluster(tmp_path / "cluster") as cluster:      # returns when JetStream has elected a leader
        nc = await connect(cluster.url, name="test")        # all three URLs, separated by commas
        await ensure_streams(nc.jetstream(), replicas=3)
        victim = cluster.servers[1]                         # a NatsServer: .url, .pid, .log
        victim.kill()                                       # SIGKILL; .stop() is SIGTERM
        victim.start()                                      # again, on the same port and data
        cluster.wait_healthy()                              # until all three say that they are well and caught up

With ``credentials`` (see `afterwit.deploy.engines.nats.make_credentials`) the servers have the accounts, users and
auth callout of `afterwit up`, so that the whole product runs on them::

    credentials = make_credentials(directory)               # directory/{node,gateway,admin,callout,sys}.json
    with NatsCluster(tmp_path / "cluster", credentials=credentials) as cluster: ...

With a ``network`` each server hangs on a cable of its own (``cluster.cables``), else all are on the loopback interface.
"""

from __future__ import annotations

import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final

from afterwit.deploy.engines.nats import NatsCredentials, nats_config

from .cables import Cable, Network
from .nats_server import NatsServer
from .ports import free_port

SIZE: Final = 3
_HEALTHY_WITHIN_S: Final = 60.0
_POLL_S: Final = 0.05


class ClusterServer(NatsServer):
    """One server of a cluster."""

    def __init__(self, directory: Path, cluster: NatsCluster, cable: Cable | None) -> None:
        super().__init__(directory, cable=cable)
        self._cluster = cluster
        self.route_port = free_port()
        self.monitor_port = free_port()

    @property
    def healthy(self) -> bool:
        """Whether it says that it is well: connected to the others, its streams caught up."""
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self.monitor_port}/healthz", timeout=2.0) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def config(self) -> str:
        """As of a single server, and how it finds the others."""
        routes = ", ".join(f'"nats://{server.host}:{server.route_port}"' for server in self._cluster.servers)
        clustered = (
            f'server_name: "{self.directory.name}"\n'
            f'http: "{self.host}:{self.monitor_port}"\n'
            f'cluster {{ name: "tests", listen: "{self.host}:{self.route_port}", routes: [{routes}] }}\n'
        )
        credentials = self._cluster.credentials
        if credentials is None:
            return super().config() + clustered
        store, log_file = self.directory / "jetstream", self.directory / "nats.log"
        accounts = nats_config(host=self.host, port=self.port, store_dir=store, credentials=credentials)
        return f'{accounts}log_file: "{log_file}"\n{clustered}'


class NatsCluster:
    """See the module. ``servers`` may be stopped, killed and started one by one."""

    def __init__(
        self, directory: Path, *, credentials: NatsCredentials | None = None, network: Network | None = None
    ) -> None:
        self.credentials = credentials
        self.cables = [network.lay() if network else None for _ in range(SIZE)]
        self.servers: list[ClusterServer] = []
        self.servers += (
            ClusterServer(directory / f"n{number}", self, cable) for number, cable in enumerate(self.cables, 1)
        )
        self._stack = ExitStack()

    @property
    def url(self) -> str:
        """All servers, as settings take them: separated by commas."""
        return ",".join(server.url for server in self.servers)

    def wait_healthy(self, timeout_s: float = _HEALTHY_WITHIN_S) -> None:
        """Until all servers are well. Blocks: in a coroutine, call it in a thread.

        Raises:
            AssertionError: they were not in time.
        """
        deadline = time.monotonic() + timeout_s
        while not all(server.healthy for server in self.servers):
            if time.monotonic() > deadline:
                ill = [server for server in self.servers if not server.healthy]
                raise AssertionError("not well:\n" + "\n".join(server.log[-2000:] for server in ill))
            time.sleep(_POLL_S)

    def __enter__(self) -> NatsCluster:
        with ExitStack() as stack:
            for server in self.servers:
                stack.callback(server.stop)
                server.start()
            self.wait_healthy()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
