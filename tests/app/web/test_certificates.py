"""An encrypted page is read only from whom its certificate names."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agents.errors import ToolError
from tests.app.web.conftest import HOST, fetch, go, open_site, text


def certificate(tmp_path, name):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path / f"{name}.pem"
    form = serialization.PrivateFormat.PKCS8
    plain = serialization.NoEncryption()
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, form, plain)
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return pem


@pytest.fixture
async def secure(tmp_path):
    pem, names = certificate(tmp_path, HOST), []
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(pem)
    served.sni_callback = lambda _socket, name, _context: names.append(name)
    async with open_site("127.0.0.1", ssl_context=served) as made:
        made.names = names
        made.trust = ssl.create_default_context(cafile=pem)
        yield made


async def test_the_certificate_is_checked_against_the_name_not_the_address(secure):
    secure.answer_with("/", text("safe"))

    page = await fetch(secure, f"https://{HOST}/", trust=secure.trust)

    assert page.text == "safe"
    assert secure.names == [HOST]
    assert secure.asked == (HOST, 443)


@pytest.mark.parametrize("host", [HOST, "other.example.com"])
async def test_a_certificate_of_nobody_or_of_another_host_is_refused(secure, host):
    trust = None if host == HOST else secure.trust

    with pytest.raises(ToolError, match="certificate is not valid"):
        await fetch(secure, f"https://{host}/", allowed=lambda _: True, trust=trust)
    assert secure.requests == []


async def test_a_redirect_out_of_the_encryption_is_refused(secure):
    secure.answer_with("/", go(f"http://{HOST}/"))

    with pytest.raises(ToolError, match="out of the encryption"):
        await fetch(secure, f"https://{HOST}/", trust=secure.trust)
