"""Watching resources in both eras: `subscriptions/listen` streams (2026-07-28), and handshake sessions before it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, Protocol

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY, ResourceUpdated, event_to_notification
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    EmptyResult,
    NotificationParams,
    SubscribeRequestParams,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from ...schemas import AfterwitError, Invalid, NotFound
from ._connection import connection_of
from .access import Credential
from .errors import protocol_error, resource_not_found
from .hub import Hub
from .watcher import Watcher

logger = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]

_MAX_SUBSCRIPTIONS: Final = 20_000
_MAX_URIS: Final = 1024
_WATCHER: Final = "afterwit.watcher"


class Credentials(Protocol):
    """Which token a client shows; see `afterwit.bus.mcp.sessions.Sessions`."""

    def now(self) -> Credential:
        """With the request under way."""
        ...

    def of(self, session_id: str, agent: str) -> Credential:
        """In a handshake session, as far as it was seen."""
        ...


class Subscriptions:
    """The handlers of everything that has to do with watching.

    ``caller`` gives the agent that the running request comes from, ``credentials`` its token where there are tokens.
    """

    def __init__(
        self,
        hub: Hub,
        caller: Callable[[], str],
        credentials: Credentials | None = None,
        *,
        max_subscriptions: int = _MAX_SUBSCRIPTIONS,
    ) -> None:
        self._hub = hub
        self._caller = caller
        self._credentials = credentials
        self._max_subscriptions = max_subscriptions

    async def listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """One listen stream, until the client leaves or the hub ends it."""
        if ctx.request_id is None:
            raise MCPError(INVALID_REQUEST, "subscriptions/listen needs a request id")
        if self._hub.watchers >= self._max_subscriptions:
            raise MCPError(INTERNAL_ERROR, f"{self._max_subscriptions} streams are open; try another gateway")
        honoured = _honoured(params.notifications)
        uris = honoured.resource_subscriptions or []
        if len(uris) > _MAX_URIS:
            raise MCPError(INVALID_PARAMS, f"a stream watches at most {_MAX_URIS} resources: watch their pool instead")
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        acknowledgement = SubscriptionsAcknowledgedNotification(
            params=SubscriptionsAcknowledgedNotificationParams(notifications=honoured, _meta=meta)
        )
        agent = self._caller()
        shown = Credential(agent) if self._credentials is None else self._credentials.now()
        watcher = Watcher(agent, lists=bool(honoured.resources_list_changed), credential=lambda: shown)
        async with self._hub.watching(watcher):
            for uri in uris:
                await self._watch(watcher, uri, ctx)
            await ctx.session.send_notification(acknowledgement, related_request_id=ctx.request_id)
            async for event in watcher:
                await ctx.session.send_notification(
                    event_to_notification(event, meta), related_request_id=ctx.request_id
                )
        return SubscriptionsListenResult(_meta=meta)

    async def initialized(self, ctx: Context, params: NotificationParams | None) -> None:
        """A handshake session has begun: it is told when the list of resources changes, without having to ask."""
        if connection_of(ctx).has_standalone_channel:
            self._watcher_of(ctx)

    async def subscribe(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        """A handshake session wants to be told about one more resource."""
        if not connection_of(ctx).has_standalone_channel:
            raise MCPError(INVALID_REQUEST, "this endpoint keeps no sessions: subscribe at /mcp, or use memory_changes")
        watcher = self._watcher_of(ctx)
        if len(watcher.uris) >= _MAX_URIS:
            raise MCPError(INVALID_PARAMS, f"a session watches at most {_MAX_URIS} resources: watch their pool instead")
        await self._watch(watcher, params.uri, ctx)
        return EmptyResult()

    async def unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        """A handshake session wants to be told no more; doing so twice does no harm."""
        watcher = connection_of(ctx).state.get(_WATCHER)
        if watcher is not None:
            await self._hub.unwatch(watcher, params.uri)
        return EmptyResult()

    async def _watch(self, watcher: Watcher, uri: str, ctx: Context) -> None:
        try:
            await self._hub.watch(watcher, uri)
        except (NotFound, Invalid) as e:
            raise resource_not_found(uri, ctx.protocol_version) from e
        except AfterwitError as e:
            raise protocol_error(e) from e

    def _watcher_of(self, ctx: Context) -> Watcher:
        """The session's watcher; it lives as long as the session."""
        connection = connection_of(ctx)
        watcher: Watcher | None = connection.state.get(_WATCHER)
        if watcher is None:
            watcher = connection.state[_WATCHER] = self._session_watcher(self._caller(), connection.session_id)
            connection.exit_stack.callback(watcher.end)
            self._hub.spawn(self._send(watcher, ctx))
        return watcher

    def _session_watcher(self, agent: str, session_id: str | None) -> Watcher:
        credentials = self._credentials
        if credentials is None or session_id is None:
            return Watcher(agent, lists=True, lasting=True)
        return Watcher(agent, lists=True, lasting=True, credential=lambda: credentials.of(session_id, agent))

    async def _send(self, watcher: Watcher, ctx: Context) -> None:
        try:
            async with self._hub.watching(watcher):
                async for event in watcher:
                    if isinstance(event, ResourceUpdated):
                        await ctx.session.send_resource_updated(event.uri)
                    else:
                        await ctx.session.send_notification(event_to_notification(event, {}))
        except Exception:  # the root of this task: the session goes on without notices
            logger.exception("a session of %s gets no more notices", watcher.agent)


def _honoured(requested: SubscriptionFilter) -> SubscriptionFilter:
    """What we deliver of ``requested``. Tools and prompts never change while a gateway runs, but asking is no error."""
    return SubscriptionFilter(
        tools_list_changed=requested.tools_list_changed or None,
        prompts_list_changed=requested.prompts_list_changed or None,
        resources_list_changed=requested.resources_list_changed or None,
        resource_subscriptions=list(dict.fromkeys(requested.resource_subscriptions or ())) or None,
    )
