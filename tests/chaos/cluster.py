"""The bus on three NATS servers, two nodes and two gateways over one index by URL; servers are killed or cut off.

Where there can be network namespaces, Valkey, the index, each node and each gateway hang on cables of their own, which
are pulled out as well: packets vanish, and no connection is closed.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from afterwit.bus.identity.parts import CALLOUT, NODE, SYS
from afterwit.deploy.admin import CALLOUT_CREDENTIALS, CREDENTIALS, SYSTEM_CREDENTIALS
from afterwit.deploy.engines.nats import make_credentials
from tests.engines.cables import Cable, Network, NoNetwork
from tests.engines.nats_cluster import ClusterServer, NatsCluster
from tests.engines.qdrant import QdrantFacade
from tests.engines.valkey import Valkey

from . import gateway, node
from .run import Trial
from .spaces import offer

_SERVER: Final = "server"
_NODES: Final = 2
_GATEWAYS: Final = 2
_DOWN_S: Final = 4.0
_CABLE_OUT_S: Final = (1.0, 4.0, 15.0)
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
        ExitStack() as stack,
    ):
        harming = _Harming(cluster)
        more: dict[str, Callable[[], str]] = {_SERVER: harming}
        variables: dict[str, str] = {}
        options: tuple[str, ...] = ()
        index: Cable | None = None
        if network:
            index, window, *parts = (network.lay() for _ in range(2 + _NODES + _GATEWAYS))
            nodes, gateways = parts[:_NODES], parts[_NODES:]
            valkey = stack.enter_context(Valkey(directory / "valkey", window))
            options = ("--redis-url", valkey.url)
            variables = {
                node.SPACES: offer(directory / "nodes", nodes),
                gateway.SPACES: offer(directory / "gateways", gateways),
            }
            chance = random.Random(seed)  # noqa: S311  # as in `plan`
            cuttings = {
                "index cable": _Cutting("index", [index], chance),
                "Valkey cable": _Cutting("Valkey", [window], chance),
                "node cable": _Cutting("node", nodes, chance),
                "gateway cable": _Cutting("gateway", gateways, chance),
            }
            for cutting in cuttings.values():
                stack.callback(cutting.finish)
            more |= cuttings
        qdrant = stack.enter_context(QdrantFacade(directory / "qdrant", index))
        yield Trial(
            seed,
            seconds,
            parts=("node", "gateway"),
            options=(
                *("--nodes", str(_NODES), "--gateways", str(_GATEWAYS)),
                *options,
                *("--nats-url", cluster.url, "--qdrant-url", qdrant.url),
            ),
            variables={
                CREDENTIALS: str(secrets / f"{NODE}.json"),
                CALLOUT_CREDENTIALS: str(secrets / f"{CALLOUT}.json"),
                SYSTEM_CREDENTIALS: str(secrets / f"{SYS}.json"),
                "AFTERWIT_JETSTREAM_REPLICAS": "3",
                **variables,
            },
            more=more,
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


class _Cutting:
    """Pulls out one of the cables of parts of a kind, and puts it in again some seconds later."""

    def __init__(self, name: str, cables: Sequence[Cable], chance: random.Random) -> None:
        self._name = name
        self._cables = cables
        self._chance = chance
        self._thread: threading.Thread | None = None

    def __call__(self) -> str:
        """Begin; while one is out, nothing."""
        if self._thread is not None and self._thread.is_alive():
            return ""
        cable, lasts_s = self._chance.choice(self._cables), self._chance.choice(_CABLE_OUT_S)
        self._thread = threading.Thread(target=self._cut_off, args=(cable, lasts_s), name=f"cutting off {self._name}")
        self._thread.start()
        return f"cut off {self._name} for {lasts_s:g} s"

    def finish(self) -> None:
        """Wait until it is in again."""
        if self._thread is not None:
            self._thread.join()

    def _cut_off(self, cable: Cable, lasts_s: float) -> None:
        cable.plug(inserted=False)
        time.sleep(lasts_s)
        cable.plug(inserted=True)


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
