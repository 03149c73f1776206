"""Which index a node uses: one in its own process, or a server's that it shares with others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..schemas import Invalid
from .index import Calibration, EdgeIndex, Index
from .settings import NodeSettings


@asynccontextmanager
async def index_of(settings: NodeSettings, calibration: Calibration) -> AsyncIterator[Index]:
    """The index that the settings name, for as long as the block runs.

    Raises:
        Invalid: a server is named, and its client is not installed.
        Unavailable: another process has the embedded index, or the server does not answer.
    """
    if settings.qdrant_url is None:
        async with await EdgeIndex.open(settings.data_dir / "index", calibration) as embedded:
            yield embedded
        return
    try:
        from .index.qdrant import QdrantIndex, client_for  # noqa: PLC0415  # an extra: not everybody has it
    except ImportError as e:
        raise Invalid(
            "AFTERWIT_QDRANT_URL needs the extra `server`: pip install 'afterwit[server]'", field="qdrant_url"
        ) from e
    client = client_for(settings.qdrant_url, settings.qdrant_api_key)
    async with await QdrantIndex.open(
        client, calibration, prefix=settings.qdrant_prefix, replicas=settings.qdrant_replicas
    ) as shared:
        yield shared
