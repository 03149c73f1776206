"""What the containers of ``docker-compose.yml`` need before they start: secrets, made once, to each its own."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from ..schemas import Unavailable
from .data_dir import write_private
from .engines.nats import make_credentials, nats_config
from .engines.qdrant import qdrant_config
from .engines.valkey import valkey_config

NATS_PORT: Final = 4222
VALKEY_PORT: Final = 6379
QDRANT_PORT: Final = 6333

ALL: Final = "all"
"""Where everything is kept; mounted by nothing but what makes it."""

FILES_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "nats": ("nats.conf",),
    "valkey": ("valkey.conf", "valkey_password"),
    "qdrant": ("qdrant.yaml",),
    "node": ("node.json", "callout.json", "sys.json", "redis_url", "qdrant_api_key"),
    "gateway": ("gateway.json",),
    "admin": ("admin.json",),
}
"""Which files each service gets to see."""

_EVERYWHERE: Final = "0.0.0.0"  # noqa: S104  inside a network of their own, of which nothing is published


def write_secrets(directory: Path, *, sync_interval: str | None = None) -> None:
    """Fill ``directory/all`` with credentials and the engines' configurations, and ``directory/<service>`` from it.

    Repeating it changes no secret: containers start anew with the volumes that they have.

    Raises:
        Unavailable: a file cannot be read or written.
    """
    try:
        _write_all(directory / ALL, sync_interval)
        for service, files in FILES_OF.items():
            (directory / service).mkdir(mode=0o700, parents=True, exist_ok=True)
            for file in files:
                shutil.copy(directory / ALL / file, directory / service / file)  # with its mode, 0600
    except OSError as e:
        raise Unavailable(f"the secrets in {directory} cannot be written: {e}") from e


def _write_all(directory: Path, sync_interval: str | None) -> None:
    credentials = make_credentials(directory)
    password = _kept(directory / "valkey_password", lambda: secrets.token_hex(24))
    api_key = _kept(directory / "qdrant_api_key", lambda: secrets.token_hex(24))
    data = Path("/data")
    texts = {
        "redis_url": f"redis://:{password}@valkey:{VALKEY_PORT}/0",
        "valkey.conf": valkey_config(host=_EVERYWHERE, port=VALKEY_PORT, password=password, directory=data),
        "qdrant.yaml": qdrant_config(api_key=api_key),
        "nats.conf": nats_config(
            host=_EVERYWHERE, port=NATS_PORT, store_dir=data, credentials=credentials, sync_interval=sync_interval
        ),
    }
    for name, text in texts.items():
        write_private(directory / name, text)


def _kept(path: Path, make: Callable[[], str]) -> str:
    if not path.exists():
        write_private(path, make())
    return path.read_text(encoding="utf-8")
