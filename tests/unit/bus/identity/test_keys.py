from __future__ import annotations

import base64
import json

import nkeys
import pytest

from afterwit.bus.identity.keys import Signer, auth_request, issuer_of, new_seed


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def test_a_jwt_is_signed_by_its_issuer() -> None:
    seed = new_seed()
    head, body, signature = Signer(seed).sign({"sub": "U1", "name": "alice"}).split(".")
    claims = json.loads(decoded(body))
    assert claims["iss"] == issuer_of(seed)
    assert claims["name"] == "alice"
    assert nkeys.from_seed(bytearray(seed.encode())).verify(f"{head}.{body}".encode(), decoded(signature))


def test_what_a_server_asks_is_read_from_its_jwt() -> None:
    asked = {"user_nkey": "U1", "server_id": {"id": "N1"}, "connect_opts": {"auth_token": "t"}, "type": "x"}
    request = auth_request(Signer(new_seed()).sign({"nats": asked}).encode())
    assert (request.user_nkey, request.server_id.id, request.connect_opts.auth_token) == ("U1", "N1", "t")


@pytest.mark.parametrize("junk", [b"", b"a.b.c", b"\xff.\xff.\xff"])
def test_junk_is_a_value_error(junk: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # of several kinds, each the decoder's own
        auth_request(junk)
