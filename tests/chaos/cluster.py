"""The bus on three NATS servers, two nodes and two gateways over one index by URL; servers are killed or cut off."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from afterwit.bus.identity.parts import CALLOUT, NODE, SYS
from afterwit.deploy.admin import CALLOUT_CREDENTIALS, CREDENTIALS, SYSTEM_CREDENTIALS
from afterwit.deploy.engines.nats import make_credentials
from tests.engines.cables import Cable, Network, NoNetwork
from tests.engines.nats_cluster import ClusterServer, NatsCluster
from tests.engines.qdrant import QdrantFacade

from .run import Trial

_SERVER: Final = "server"
_DOWN_S: Final = 4.0
_CUT_OFF_S: Final = 15.0
"""Long enough that the others elect new leaders (RAFT of NATS waits for 4 to 9 s)."""


@contextmanager
def clustered(directory: Path, seed: int, seconds: float) -> Iterator[Trial]:
    """A trial on a cluster that runs for as long as the block."""
    directory.mkdir(parents=True, exist_ok=True)
    secrets = directory / "credentials"
    credentials = make_credentials(secrets)
    with (
        _network() as network,
        NatsCluster(directory / "cluster", credentials=credentials, network=network) as cluster,
        QdrantFacade(directory / "qdrant") as qdrant,
    ):
        harming = _Harming(cluster)
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
            more={_SERVER: harming},
            replicas=3,
            credentials=secrets / f"{NODE}.json",
        )
        harming.finish()


@contextmanager
def _network() -> Iterator[Network | None]:
    """Cables for the servers, where root allows it."""
    with ExitStack() as stack:
        try:
            network = stack.enter_context(Network())
        except NoNetwork as e:
            print(f"servers are killed, and not cut off: {e}", flush=True)
            network = None
        yield network


class _Harming:
    """Harms one server after the other, each when the one before is well again: two at once would stop all writing."""

    def __init__(self, cluster: NatsCluster) -> None:
        self._cluster = cluster
        self._turns = itertools.cycle(zip(cluster.servers, cluster.cables, strict=True))
        self._cutting = itertools.cycle((False, True))
        self._thread: threading.Thread | None = None

    def __call__(self) -> str:
        """Begin; while one is away, nothing."""
        if self._thread is not None and self._thread.is_alive():
            return ""
        server, cable = next(self._turns)
        did = "kill"
        self._thread = threading.Thread(target=self._kill, args=(server,), name="killing a NATS server")
        if next(self._cutting) and cable is not None:
            did = "cut off"
            self._thread = threading.Thread(target=self._cut_off, args=(cable,), name="cutting off a NATS server")
        self._thread.start()
        return f"{did} NATS server of three"

    def finish(self) -> None:
        """Wait until all are well."""
        if self._thread is not None:
            self._thread.join()

    def _kill(self, server: ClusterServer) -> None:
        server.kill()
        time.sleep(_DOWN_S)
        server.start()
        self._cluster.wait_healthy()

    def _cut_off(self, cable: Cable) -> None:
        cable.plug(inserted=False)
        time.sleep(_CUT_OFF_S)
        cable.plug(inserted=True)
        self._cluster.wait_healthy()
