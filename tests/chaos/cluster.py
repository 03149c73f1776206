"""The bus on three NATS servers, with two nodes and two gateways over one index by URL, and a server that is killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from afterwit.bus.identity.parts import CALLOUT, NODE, SYS
from afterwit.deploy.admin import CALLOUT_CREDENTIALS, CREDENTIALS, SYSTEM_CREDENTIALS
from afterwit.deploy.engines.nats import make_credentials
from tests.engines.nats_cluster import NatsCluster
from tests.engines.qdrant import QdrantFacade

from .run import Trial

_SERVER: Final = "server"
_DOWN_S: Final = 4.0


@contextmanager
def clustered(directory: Path, seed: int, seconds: float) -> Iterator[Trial]:
    """A trial on a cluster that runs for as long as the block."""
    directory.mkdir(parents=True, exist_ok=True)
    secrets = directory / "credentials"
    credentials = make_credentials(secrets)
    with (
        NatsCluster(directory / "cluster", credentials=credentials) as cluster,
        QdrantFacade(directory / "qdrant") as qdrant,
    ):
        killing = _Killing(cluster)
        yield Trial(
            seed,
            seconds,
            parts=("node", "gateway"),
            options=(
                *("--nodes", "2", "--gateways", "2"),
                *("--nats-url", cluster.url, "--qdrant-url", qdrant.url),
            ),
            variables={
                CREDENTIALS: str(secrets / f"{NODE}.json"),
                CALLOUT_CREDENTIALS: str(secrets / f"{CALLOUT}.json"),
                SYSTEM_CREDENTIALS: str(secrets / f"{SYS}.json"),
                "AFTERWIT_JETSTREAM_REPLICAS": "3",
            },
            more={_SERVER: killing},
            replicas=3,
            credentials=secrets / f"{NODE}.json",
        )
        killing.finish()


class _Killing:
    """Kills one server after the other, each when the one before is well again: two at once would stop all writing."""

    def __init__(self, cluster: NatsCluster) -> None:
        self._cluster = cluster
        self._next = 0
        self._thread: threading.Thread | None = None

    def __call__(self) -> str:
        """Begin; while one is away, nothing."""
        if self._thread is not None and self._thread.is_alive():
            return ""
        self._thread = threading.Thread(target=self._kill, name="killing NATS servers")
        self._thread.start()
        return "kill NATS server of three"

    def finish(self) -> None:
        """Wait until all are well."""
        if self._thread is not None:
            self._thread.join()

    def _kill(self) -> None:
        server = self._cluster.servers[self._next % len(self._cluster.servers)]
        self._next += 1
        server.kill()
        time.sleep(_DOWN_S)
        server.start()
        self._cluster.wait_healthy()
