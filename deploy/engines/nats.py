"""NATS on one machine: the server's configuration, and the secrets of the parts.

Accounts::

    APP      node, gateway, admin: everything of ours; it alone has JetStream
    AGENTS   agents, let in by the auth callout with their tokens
    AUTH     callout: is asked who may come in
    SYS      sys: lists and ends connections

Agents have an account of their own, because a client chooses the subject that is answered to. In one account with the
nodes, an agent could have the answer to its request, or JetStream's acknowledgement, sent to any subject: into the log,
or to JetStream's API (tried). Through an account's border an answer finds its way back to the asker's side only.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from ...bus import names
from ...bus.identity import parts
from ...bus.identity.callout import CalloutSecret
from ...bus.identity.keys import issuer_of, new_seed
from ...schemas import Unavailable

T = TypeVar("T", bound=msgspec.Struct)

MAX_PAYLOAD: Final = "8MB"

_AUTH_TIMEOUT_S: Final = 1.5
"""Under the two seconds after which the server sends its first ping: nats-py 2.16 takes that for being let in, and a
refusal after it for the end. So who comes back before the callout does is refused early, and tries again."""

_SERVICES: Final = (names.REQUEST_SUBJECTS, names.INGEST_SUBJECTS)
"""What agents may ask of us."""
_STREAMS: Final = (names.REJECTED_SUBJECTS, names.CHANGED_SUBJECTS)
"""What agents may hear from us. How much of it is each agent's permissions to say."""

_CONFIG: Final = """\
host: {host}
port: {port}
max_payload: {max_payload}
ping_interval: "10s"  # a client that is cut off is noticed, and not asked any more, within half a minute
ping_max: 2
jetstream {{
  store_dir: {store_dir}
{sync_interval}}}
accounts {{
  {app} {{
    jetstream: enabled
    exports: [
      {exports}
    ]
    users: [
      {{ user: node, password: {node} }}
      {{ user: gateway, password: {gateway}, permissions: {gateway_permissions} }}
      {{ user: admin, password: {admin}, permissions: {admin_permissions} }}
    ]
  }}
  {agents} {{
    imports: [
      {imports}
    ]
  }}
  {auth} {{ users: [ {{ user: callout, password: {callout} }} ] }}
  {sys_account} {{ users: [ {{ user: sys, password: {sys} }} ] }}
}}
system_account: {sys_account}
authorization {{
  timeout: {timeout}
  auth_callout {{
    issuer: {issuer}
    account: {auth}
    auth_users: [ node, gateway, admin, callout, sys ]
  }}
}}
"""


class UserSecret(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the credentials file of a part."""

    user: str
    password: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NatsCredentials:
    """The secrets of all parts."""

    node: UserSecret
    gateway: UserSecret
    admin: UserSecret
    sys: UserSecret
    callout: CalloutSecret


def make_credentials(directory: Path) -> NatsCredentials:
    """The secrets in ``directory`` (``<part>.json``, for the owner's eyes alone); those that are missing are made.

    Raises:
        Unavailable: a file cannot be read or written, or is none of ours.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def user(part: str) -> UserSecret:
        return _kept(directory / f"{part}.json", UserSecret(user=part, password=_password()))

    return NatsCredentials(
        node=user(parts.NODE),
        gateway=user(parts.GATEWAY),
        admin=user(parts.ADMIN),
        sys=user(parts.SYS),
        callout=_kept(
            directory / f"{parts.CALLOUT}.json",
            CalloutSecret(user=parts.CALLOUT, password=_password(), seed=new_seed()),
        ),
    )


def nats_config(
    *, host: str, port: int, store_dir: Path, credentials: NatsCredentials, sync_interval: str | None = None
) -> str:
    """The server's configuration. It holds passwords: write it for the owner's eyes alone.

    ``sync_interval`` is how often JetStream makes sure that writes are on the disk: ``always``, or a duration
    like ``10s``. None is NATS's own, two minutes: enough against kills, not against power loss.
    """
    return _CONFIG.format(
        host=_quoted(host),
        port=port,
        max_payload=MAX_PAYLOAD,
        store_dir=_quoted(str(store_dir)),
        sync_interval="" if sync_interval is None else f"  sync_interval: {_quoted(sync_interval)}\n",
        app=names.APP_ACCOUNT,
        agents=names.AGENTS_ACCOUNT,
        auth=names.AUTH_ACCOUNT,
        sys_account=names.SYSTEM_ACCOUNT,
        exports=_lines("{{ {kind}: {subject}, accounts: [" + names.AGENTS_ACCOUNT + "] }}"),
        imports=_lines("{{ {kind}: {{ account: " + names.APP_ACCOUNT + ", subject: {subject} }} }}"),
        node=_quoted(credentials.node.password),
        gateway=_quoted(credentials.gateway.password),
        admin=_quoted(credentials.admin.password),
        sys=_quoted(credentials.sys.password),
        callout=_quoted(credentials.callout.password),
        gateway_permissions=_permissions(parts.gateway()),
        admin_permissions=_permissions(parts.admin()),
        timeout=_AUTH_TIMEOUT_S,
        issuer=issuer_of(credentials.callout.seed),
    )


def _lines(template: str) -> str:
    kinds = [("service", subject) for subject in _SERVICES] + [("stream", subject) for subject in _STREAMS]
    return "\n      ".join(template.format(kind=kind, subject=_quoted(subject)) for kind, subject in kinds)


def _permissions(of: parts.PartPermissions) -> str:
    answer = ", allow_responses: true" if of.may_answer else ""
    return f"{{ publish: {{ allow: {_list(of.publish)} }}, subscribe: {{ allow: {_list(of.subscribe)} }}{answer} }}"


def _list(subjects: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, subjects))}]"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _password() -> str:
    return secrets.token_hex(32)


def _kept(path: Path, new: T) -> T:
    """What ``path`` holds; ``new``, written there, if there is no such file. Of several at once one wins for all."""
    try:
        if not path.exists():
            descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
            try:
                with os.fdopen(descriptor, "wb") as f:
                    f.write(msgspec.json.encode(new))
                    os.fsync(f.fileno())
                os.link(temporary, path)
            except FileExistsError:
                pass  # somebody else was faster
            finally:
                Path(temporary).unlink()
        return msgspec.json.decode(path.read_bytes(), type=type(new))
    except (OSError, msgspec.MsgspecError) as e:
        raise Unavailable(f"the credentials in {path} cannot be used: {e}") from e
