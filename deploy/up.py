"""`afterwit up`: engines, nodes and gateways started in order, kept running, and stopped in the opposite order.

NATS → Valkey → nodes → agents named by ``--agent`` → gateways → the ready file.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import msgspec
from nats.aio.client import Client as Nats

from ..bus.identity import Agents
from ..bus.identity.parts import ADMIN, CALLOUT, GATEWAY, NODE, SYS
from ..bus.settings import settings_of
from ..bus.tls import Tls
from ..memory_node.settings import NodeSettings
from ..schemas import Invalid, Unavailable
from .admin import CALLOUT_CREDENTIALS, CREDENTIALS, SYSTEM_CREDENTIALS, connected_as
from .data_dir import DataDir, checked_agent, write_private
from .engines.nats import make_credentials, nats_config
from .engines.valkey import new_password
from .parts import Parts, Programs
from .ports import choose_port
from .ready import Ready, RunningPart
from .supervisor import Event, Supervisor

_NOT_FOR_CHILDREN: Final = frozenset({"AFTERWIT_TOKEN", "AFTERWIT_AGENT", "AFTERWIT_URL"})
SYNC_INTERVAL: Final = "AFTERWIT_SYNC_INTERVAL"
_DURATION: Final = re.compile(r"always|(\d+(ms|s|m|h))+")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    """What `afterwit up` is told. An engine whose URL is given is not started. Ports may be 0."""

    data_dir: DataDir
    host: str = "127.0.0.1"
    port: int = 8377
    nats_port: int = 4377
    agents: tuple[str, ...] = ()
    ready_file: Path | None = None
    nodes: int = 1
    gateways: int = 1
    nats_url: str | None = None
    qdrant_url: str | None = None
    redis_url: str | None = None
    inference_url: str | None = None

    def check(self, environ: Mapping[str, str]) -> None:
        """Refuse what cannot work, before anything is started.

        Raises:
            Invalid: ``detail["field"]`` is the option.
        """
        if self.nodes > 1 and not self.qdrant_url:
            raise Invalid(
                f"--nodes {self.nodes} needs --qdrant-url: the embedded index has one owner, so several nodes share "
                "a Qdrant server",
                field="nodes",
            )
        if self.nats_url and not environ.get(CREDENTIALS):
            raise Invalid(
                f"--nats-url needs {CREDENTIALS}: a file with the NATS user of our parts "
                '(.creds, or JSON {"user", "password"})',
                field="nats_url",
            )
        if self.ready_file is not None and not self.ready_file.absolute().parent.is_dir():
            raise Invalid(
                f"--ready-file: there is no directory {self.ready_file.absolute().parent}", field="ready_file"
            )
        self._check_engines()
        if (interval := environ.get(SYNC_INTERVAL)) and not _DURATION.fullmatch(interval):
            raise Invalid(
                f"{SYNC_INTERVAL}: {interval!r} is neither `always` nor a duration such as 10s", field=SYNC_INTERVAL
            )
        for agent in self.agents:
            checked_agent(agent)

    def _check_engines(self) -> None:
        """An engine that the nodes cannot use would be passed over in silence."""
        known = {setting.field for setting in settings_of(NodeSettings)}
        for field in ("qdrant_url", "redis_url", "inference_url"):
            if getattr(self, field) and field not in known:
                raise Invalid(f"--{field.replace('_', '-')}: this version's nodes have no use for it", field=field)


class Report(Protocol):
    """Who is told how it goes."""

    def event(self, event: Event) -> None:
        """Something happened to a part."""

    def ready(self, ready: Ready) -> None:
        """All is up; again after each restart of a part."""

    def stopping(self) -> None:
        """A signal came; the parts are being stopped."""


async def up(
    options: UpOptions, report: Report, *, environ: Mapping[str, str], programs: Programs | None = None
) -> None:
    """Run the deployment until SIGINT, SIGTERM or SIGHUP.

    Raises:
        Invalid: the options cannot work.
        Unavailable: the data directory is held, a port is taken, or a part did not come up.
    """
    options.check(environ)
    options.data_dir.prepare()
    with options.data_dir.hold():
        deployment = _Deployment(options, report, environ, programs or Programs())
        try:
            async with _until_signalled(report):
                await deployment.run()
        finally:
            deployment.remove_ready_files()


class _Deployment:
    def __init__(self, options: UpOptions, report: Report, environ: Mapping[str, str], programs: Programs) -> None:
        self._options = options
        self._data = options.data_dir
        self._report = report
        self._environ = environ
        self._parts = Parts({k: v for k, v in environ.items() if k not in _NOT_FOR_CHILDREN}, programs)
        self._supervisor = Supervisor(self._data.logs, self._on_event)
        self._tls = Tls.from_env(environ) if options.nats_url else None
        self._ready: Ready | None = None

    async def run(self) -> None:
        """Start everything, tell, and wait to be cancelled."""
        self.remove_ready_files()  # of a run that could not do so
        async with self._supervisor:
            nats_url = self._options.nats_url or await self._start_nats()
            async with connected_as(ADMIN, nats_url, self._credentials(ADMIN), self._tls) as nc:
                settings = await self._settings(nats_url)
                await self._start_nodes(settings, nc)
                tokens = {agent: await self._token(Agents(nc), agent) for agent in self._options.agents}
                gateways = await self._start_gateways(nats_url)
                self._ready = Ready(
                    mcp=f"{gateways[0]}/mcp",
                    nats=nats_url,
                    health=f"{gateways[0]}/health",
                    gateways=tuple(gateways),
                    agents=tokens,
                    data_dir=str(self._data.path),
                    pid=os.getpid(),
                    processes=(),
                )
                ready = self._present()
                self._write(ready)
                self._report.ready(ready)
                await asyncio.Event().wait()

    def remove_ready_files(self) -> None:
        """What is not running is not ready."""
        for file in self._ready_files():
            file.unlink(missing_ok=True)

    async def _start_nats(self) -> str:
        host, port = self._options.host, choose_port(self._options.host, self._options.nats_port, "--nats-port")
        directory = self._data.path / "nats"
        directory.mkdir(exist_ok=True, mode=0o700)
        config = directory / "nats.conf"
        credentials = make_credentials(self._data.credentials)
        sync_interval = self._environ.get(SYNC_INTERVAL) or None
        text = nats_config(
            host=host, port=port, store_dir=directory, credentials=credentials, sync_interval=sync_interval
        )
        write_private(config, text)
        await self._supervisor.start(self._parts.nats(config, _reachable(host), port))
        return f"nats://{_in_url(_reachable(host))}:{port}"

    async def _settings(self, nats_url: str) -> dict[str, str]:
        """The nodes' settings; starts Valkey if no other window was given."""
        redis_url = self._options.redis_url
        if redis_url is None:
            port, password = choose_port("127.0.0.1", 0, "--redis-url"), new_password()
            await self._supervisor.start(self._parts.valkey(self._data.path / "valkey", port, password))
            redis_url = f"redis://:{password}@127.0.0.1:{port}/0"
        given = {
            "AFTERWIT_DATA_DIR": str(self._data.path),
            "AFTERWIT_NATS_URL": nats_url,
            CREDENTIALS: str(self._credentials(NODE)),
            **self._privileged(),
            "AFTERWIT_REDIS_URL": redis_url,
            "AFTERWIT_QDRANT_URL": self._options.qdrant_url,
            "AFTERWIT_INFERENCE_URL": self._options.inference_url,
        }
        return {variable: value for variable, value in given.items() if value is not None}

    async def _start_nodes(self, settings: Mapping[str, str], nc: Nats) -> None:
        nodes = [self._parts.node(number, settings, nc) for number in range(1, self._options.nodes + 1)]
        await self._supervisor.start(*nodes)

    async def _start_gateways(self, nats_url: str) -> list[str]:
        host = self._options.host
        parts, urls = [], []
        for number in range(1, self._options.gateways + 1):
            port = choose_port(host, self._options.port if number == 1 else 0, "--port")
            url = f"http://{_in_url(_reachable(host))}:{port}"
            settings = {
                "AFTERWIT_HOST": host,
                "AFTERWIT_PORT": str(port),
                "AFTERWIT_NATS_URL": nats_url,
                CREDENTIALS: str(self._credentials(GATEWAY)),
            }
            parts.append(self._parts.gateway(number, settings, url))
            urls.append(url)
        await self._supervisor.start(*parts)
        return urls

    async def _token(self, agents: Agents, name: str) -> str:
        """The agent's kept token if it is still good; else it is given a new one, and is made if it is not there."""
        kept = self._data.kept_token(name)
        if kept is not None and await agents.verify(kept) == name:
            return kept
        token = await (agents.add(name) if await agents.get(name) is None else agents.rotate(name))
        self._data.keep_token(name, token)
        return token

    def _credentials(self, part: str) -> Path:
        if self._options.nats_url:
            return Path(self._environ[CREDENTIALS]).expanduser()
        return self._data.credentials / f"{part}.json"

    def _privileged(self) -> dict[str, str]:
        """What a node needs to let agents in and to throw them out, on a NATS of ours; else the environment says it."""
        if self._options.nats_url:
            return {}
        return {
            CALLOUT_CREDENTIALS: str(self._credentials(CALLOUT)),
            SYSTEM_CREDENTIALS: str(self._credentials(SYS)),
        }

    def _on_event(self, event: Event) -> None:
        self._report.event(event)
        if event.what == "ready" and self._ready is not None:  # a restart
            ready = self._present()
            try:
                self._write(ready)
            except Unavailable as e:  # as on a full disk: no reason to stop what runs
                self._report.event(Event("untold", event.part, event.pid, e.message))
            self._report.ready(ready)

    def _present(self) -> Ready:
        assert self._ready is not None
        processes = tuple(RunningPart(part=running.kind, pid=running.pid) for running in self._supervisor.running)
        return msgspec.structs.replace(self._ready, processes=processes)

    def _write(self, ready: Ready) -> None:
        """Write the ready files.

        Raises:
            Unavailable: one of them cannot be written; it is as it was.
        """
        text = msgspec.json.format(msgspec.json.encode(ready)).decode()
        for file in self._ready_files():
            try:
                write_private(file, text + "\n")
            except OSError as e:
                raise Unavailable(f"the ready file {file} cannot be written ({e.strerror}): make room for it") from e

    def _ready_files(self) -> list[Path]:
        return [self._data.ready_file, *([self._options.ready_file] if self._options.ready_file else [])]


@asynccontextmanager
async def _until_signalled(report: Report) -> AsyncIterator[None]:
    """Cancels the block at the first signal to stop, and counts that as its good end."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    signalled = False

    def stop() -> None:
        nonlocal signalled
        if not signalled:  # a second cancellation would break the order of stopping
            signalled = True
            report.stopping()
            task.cancel()

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        loop.add_signal_handler(number, stop)
    try:
        yield
    except asyncio.CancelledError:
        if not signalled:
            raise
        task.uncancel()
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _reachable(host: str) -> str:
    """Where a program of this machine reaches what listens on ``host``."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # compared, not listened on


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
