"""`afterwit up` on engines that others run: NATS over TLS with accounts, and a user of a ``.creds`` file."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import subprocess
import sys
from pathlib import Path

import nkeys
import pytest

from afterwit.bus.connection import Credentials, connect
from afterwit.bus.identity.keys import Signer
from afterwit.bus.streams import ensure_streams
from afterwit.deploy.engines.nats import make_credentials, nats_config
from tests.engines.certificates import Authority
from tests.engines.nats_server import NatsServer
from tests.engines.system import afterwit_up, clean_environment


class AccountedServer(NatsServer):
    """With the accounts of `afterwit up`, and TLS."""

    accounts = ""

    def config(self) -> str:
        return f'{self.accounts}\nlog_file: "{self.directory / "nats.log"}"\n'


@pytest.mark.slow
async def test_everything_over_tls(no_leaks: None, tmp_path: Path) -> None:
    """Node, gateway, callout, operator and command line: each trusts the authority and shows a certificate."""
    authority = Authority(tmp_path / "ca")
    of_server, of_client = authority.issue("server"), authority.issue("client")
    secrets_dir = tmp_path / "credentials"
    credentials = make_credentials(secrets_dir)
    server = AccountedServer(tmp_path / "nats")
    server.accounts = nats_config(
        host="127.0.0.1", port=server.port, store_dir=tmp_path / "nats", credentials=credentials
    ) + (
        f'tls {{ cert_file: "{of_server.certificate}", key_file: "{of_server.key}", '
        f'ca_file: "{authority.certificate}", verify: true }}\n'
    )
    variables = {
        "AFTERWIT_NATS_CREDENTIALS": str(secrets_dir / "node.json"),
        "AFTERWIT_NATS_CALLOUT_CREDENTIALS": str(secrets_dir / "callout.json"),
        "AFTERWIT_NATS_SYSTEM_CREDENTIALS": str(secrets_dir / "sys.json"),
        "AFTERWIT_NATS_CA": str(authority.certificate),
        "AFTERWIT_NATS_CERTIFICATE": str(of_client.certificate),
        "AFTERWIT_NATS_KEY": str(of_client.key),
    }
    await asyncio.to_thread(server.start)
    try:
        url = server.url.replace("nats://", "tls://")
        async with afterwit_up(tmp_path, "alice", options=("--nats-url", url), variables=variables) as system:
            assert system.ready.nats == url

            def run(*command: str) -> str:
                environment = clean_environment(**variables, AFTERWIT_URL=url, AFTERWIT_TOKEN=system.token("alice"))
                arguments = [sys.executable, "-P", "-m", "afterwit.deploy.cli", *command]
                return subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True).stdout

            await asyncio.to_thread(run, "store", "the fox sleeps")
            assert "the fox sleeps" in await asyncio.to_thread(run, "retrieve", "fox")
    finally:
        await asyncio.to_thread(server.stop)


def seed(prefix: int) -> str:
    made: bytes = nkeys.encode_seed(secrets.token_bytes(32), prefix)
    return made.decode()


async def test_a_user_of_a_creds_file(no_leaks: None, tmp_path: Path) -> None:
    """As nsc makes them: operator, account and user are JWTs, each signed by the one above."""
    operator, account = Signer(seed(nkeys.PREFIX_BYTE_OPERATOR)), Signer(seed(nkeys.PREFIX_BYTE_ACCOUNT))
    user_seed = seed(nkeys.PREFIX_BYTE_USER)
    unlimited = {"subs": -1, "data": -1, "payload": -1}
    limits = unlimited | {"imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1}
    storage = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
    operator_jwt = operator.sign({"sub": operator.issuer, "name": "O", "nats": {"type": "operator", "version": 2}})
    system = Signer(seed(nkeys.PREFIX_BYTE_ACCOUNT))

    def account_jwt(of: Signer, name: str, **more: int) -> str:
        claims = {"type": "account", "version": 2, "limits": limits | more}
        return operator.sign({"sub": of.issuer, "name": name, "nats": claims})

    user = Signer(user_seed).issuer
    user_jwt = account.sign({"sub": user, "name": "node", "nats": {"type": "user", "version": 2} | unlimited})
    creds = tmp_path / "node.creds"
    creds.write_text(
        f"-----BEGIN NATS USER JWT-----\n{user_jwt}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user_seed}\n------END USER NKEY SEED------\n"
    )
    assert json.loads(base64.urlsafe_b64decode(user_jwt.split(".")[1] + "=="))["name"] == "node"
    preloaded = f"{account.issuer}: {account_jwt(account, 'A', **storage)}, {system.issuer}: {account_jwt(system, 'S')}"
    extra = (
        f"operator: {operator_jwt}\nsystem_account: {system.issuer}\n"
        f"resolver: MEMORY\nresolver_preload: {{ {preloaded} }}\n"
    )
    server = NatsServer(tmp_path / "nats", extra=extra)
    await asyncio.to_thread(server.start)
    try:
        nc = await connect(server.url, name="test", credentials=Credentials.from_file(creds))
        await ensure_streams(nc.jetstream())
        await nc.close()
    finally:
        await asyncio.to_thread(server.stop)
