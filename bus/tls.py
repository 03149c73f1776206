"""TLS towards NATS: whom we trust, and the certificate by which the server knows us.

Without either, a ``tls://`` URL trusts the machine's certificate authorities, and a server that asks for TLS gets it.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from ..schemas import Invalid

CA: Final = "AFTERWIT_NATS_CA"
CERTIFICATE: Final = "AFTERWIT_NATS_CERTIFICATE"
KEY: Final = "AFTERWIT_NATS_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Files in PEM: the authorities to trust instead of the machine's, and our certificate with its key."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    @classmethod
    def from_env(cls, mapping: Mapping[str, str]) -> Self:
        """From the variables of the same names."""

        def file(variable: str) -> Path | None:
            return Path(value).expanduser() if (value := mapping.get(variable, "").strip()) else None

        return cls(ca=file(CA), certificate=file(CERTIFICATE), key=file(KEY))

    def context(self) -> ssl.SSLContext | None:
        """What a connection needs; ``None`` if nothing is set.

        Raises:
            Invalid: a file cannot be used; names its variable.
        """
        if self.ca is None and self.certificate is None:
            if self.key is not None:
                raise Invalid(f"{KEY} needs {CERTIFICATE}", field=KEY)
            return None
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except OSError as e:  # ssl.SSLError is one
            raise Invalid(f"{CA}: {self.ca} holds no certificates: {e}", field=CA) from e
        if self.certificate is not None:
            try:
                context.load_cert_chain(self.certificate, self.key)
            except OSError as e:
                raise Invalid(
                    f"{CERTIFICATE} and {KEY}: {self.certificate} and {self.key} are no certificate with its key: {e}",
                    field=CERTIFICATE,
                ) from e
        return context
