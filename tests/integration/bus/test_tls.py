"""NATS over TLS: who is trusted, who proves who it is, and that nothing is said in the clear."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from afterwit.bus.connection import Credentials, connect, wait_connected
from afterwit.bus.tls import CA, CERTIFICATE, KEY, Tls
from afterwit.deploy.cli import cli
from afterwit.schemas import Invalid, Unavailable
from tests.engines.certificates import Authority
from tests.engines.nats_server import NatsServer
from tests.engines.waiting import wait_until


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def tls_server(no_leaks: None, tmp_path: Path, authority: Authority) -> Iterator[NatsServer]:
    """Asks clients for a certificate, and for a password."""
    own = authority.issue("server")
    extra = (
        f'tls {{ cert_file: "{own.certificate}", key_file: "{own.key}", ca_file: "{authority.certificate}", '
        "verify: true }\nauthorization { user: node, password: secret }"
    )
    with NatsServer(tmp_path / "nats", extra=extra) as server:
        yield server


def over_tls(server: NatsServer) -> str:
    return server.url.replace("nats://", "tls://")


USER = Credentials(user="node", password="secret")


@pytest.mark.parametrize("scheme", ["tls", "nats"])
async def test_a_trusted_server_and_a_known_client(tls_server: NatsServer, authority: Authority, scheme: str) -> None:
    own = authority.issue("client")
    tls = Tls(ca=authority.certificate, certificate=own.certificate, key=own.key)
    nc = await connect(tls_server.url.replace("nats://", f"{scheme}://"), name="test", credentials=USER, tls=tls)
    assert (await nc.jetstream().account_info()).streams == 0
    await asyncio.to_thread(tls_server.stop)
    await wait_until(lambda: not nc.is_connected, description="the connection is gone")
    await asyncio.to_thread(tls_server.start)
    await wait_connected(nc, 30.0)
    await nc.flush()
    await nc.close()


async def test_a_containers_health_is_asked_over_tls_too(tls_server: NatsServer, authority: Authority) -> None:
    own, secret = authority.issue("probe"), tls_server.directory / "node.json"
    secret.write_text('{"user": "node", "password": "secret"}')
    variables = {
        "AFTERWIT_NATS_URL": over_tls(tls_server),
        "AFTERWIT_NATS_CREDENTIALS": str(secret),
        CA: str(authority.certificate),
        CERTIFICATE: str(own.certificate),
        KEY: str(own.key),
    }
    asked = await asyncio.to_thread(CliRunner().invoke, cli, ["healthcheck", "node"], env=variables)
    assert (asked.exit_code, asked.output) == (1, "The node does not serve.\n")  # NATS does, and no node is there


async def refusal(url: str, tls: Tls | None) -> str:
    """What is said in vain: it takes one attempt, and a machine may stand still for as long as all of them may take."""
    timeout_s = 1.0
    while True:
        with pytest.raises(Unavailable) as refused:
            await connect(url, name="test", credentials=USER, tls=tls, timeout_s=timeout_s)
        if "(" in refused.value.message:
            return refused.value.message
        timeout_s *= 4


async def test_a_server_of_another_authority_is_refused(
    tls_server: NatsServer, authority: Authority, tmp_path: Path
) -> None:
    own = authority.issue("client")
    stranger = Authority(tmp_path / "other", "stranger")
    tls = Tls(ca=stranger.certificate, certificate=own.certificate, key=own.key)
    assert "certificate verify failed" in await refusal(over_tls(tls_server), tls)


async def test_without_a_certificate_of_our_own_the_server_refuses(
    tls_server: NatsServer, authority: Authority
) -> None:
    await refusal(over_tls(tls_server), Tls(ca=authority.certificate))
    assert "client didn't provide a certificate" in tls_server.log


@pytest.mark.parametrize("by", ["url", "settings"])
async def test_who_wants_tls_says_nothing_in_the_clear(nats_server: NatsServer, authority: Authority, by: str) -> None:
    """A server, or somebody in between, that offers no TLS does not get the password."""
    url, tls = (over_tls(nats_server), None) if by == "url" else (nats_server.url, Tls(ca=authority.certificate))
    assert "secure connection required" in await refusal(url, tls)


def test_settings_that_do_not_fit_name_their_variable(authority: Authority, tmp_path: Path) -> None:
    nothing, wrong = tmp_path / "nothing.pem", tmp_path / "wrong.pem"
    wrong.write_text("not a certificate")
    for given, variable in (
        ({CA: str(nothing)}, CA),
        ({CA: str(wrong)}, CA),
        ({CERTIFICATE: str(authority.certificate)}, CERTIFICATE),
        ({KEY: str(wrong)}, KEY),
    ):
        with pytest.raises(Invalid, match=variable) as caught:
            Tls.from_env(given).context()
        assert caught.value.detail["field"] == variable
    assert Tls.from_env({}).context() is None
