"""Certificates by which the proxy ends TLS of set-up commands, and those it trusts itself."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import ssl
import warnings
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from app.dependencies.loopback_bridge import TRUSTSTORE_PASSWORD
from app.sandbox.process_group import make_memory_file

_LIFETIME = dt.timedelta(days=1)
_BEFORE = dt.timedelta(hours=1)
"""Clocks differ."""


class Authority:
    """A certificate authority that one set-up trusts; its key stays in memory."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Fettle set-up")])
        self._certificate = self._own()
        self._contexts: dict[str, ssl.SSLContext] = {}
        self.pem = self._certificate.public_bytes(serialization.Encoding.PEM).decode()
        """What sandboxes are told to trust."""

    def server(self, host: str) -> ssl.SSLContext:
        """Return the TLS context of a server with a certificate for this host."""
        if host not in self._contexts:
            self._contexts[host] = self._server(host)
        return self._contexts[host]

    def _server(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._certificate_for(host, key)
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.set_alpn_protocols(["http/1.1"])
        # OpenSSL takes keys from files alone; this one is never on a disk.
        fd = make_memory_file("key", secret + certificate.public_bytes(serialization.Encoding.PEM))
        try:
            made.load_cert_chain(f"/proc/self/fd/{fd}")
        finally:
            os.close(fd)
        return made

    def _own(self) -> x509.Certificate:
        usage = _usage(key_cert_sign=True, crl_sign=True)
        return (
            self._make_certificate_builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def _certificate_for(self, host: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
        own = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        names = x509.SubjectAlternativeName([_general_name(host)])
        return (
            self._make_certificate_builder(x509.Name([]), key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(usage, critical=False)
            .add_extension(own, critical=False)
            .add_extension(names, critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def _make_certificate_builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BEFORE)
            .not_valid_after(now + _LIFETIME)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )


def trust(certificates: Iterable[str]) -> ssl.SSLContext:
    """Return the TLS context for indexes: the machine's authorities, and these PEM texts.

    The machine's are read once, and again when their file has changed: each set-up and each
    question to an index needs them.
    """
    paths = ssl.get_default_verify_paths()
    files = [Path(path) for path in (paths.cafile, paths.capath) if path]
    times = tuple(path.stat().st_mtime_ns for path in files if path.exists())
    return _trust(tuple(certificates), times)


@lru_cache(maxsize=8)
def _trust(certificates: tuple[str, ...], _: tuple[int, ...]) -> ssl.SSLContext:
    made = ssl.create_default_context()
    for text in certificates:
        made.load_verify_locations(cadata=text)
    return made


def make_bundle(trusted: ssl.SSLContext, authority: Authority) -> str:
    """Return in PEM what a sandbox trusts: all that Fettle trusts, and the set-up's authority."""
    return _write_known(trusted) + authority.pem


@lru_cache(maxsize=8)
def _write_known(trusted: ssl.SSLContext) -> str:
    return "".join(map(ssl.DER_cert_to_PEM_cert, trusted.get_ca_certs(binary_form=True)))


def make_truststore(trusted: ssl.SSLContext, authority: Authority) -> bytes:
    """Return the same authorities as Java reads them, which knows no PEM: PKCS #12.

    https://docs.oracle.com/en/java/javase/17/security/java-secure-socket-extension-jsse-reference-guide.html
    """
    found = (*_load_all(_write_known(trusted)), *_load_all(authority.pem))
    entries = [pkcs12.PKCS12Certificate(each, b"%d" % number) for number, each in enumerate(found)]
    # Java wants it locked, although all of it is public: with what every Java since 2021 opens.
    locked = (
        serialization.PrivateFormat.PKCS12.encryption_builder()
        .kdf_rounds(1_000)
        .key_cert_algorithm(pkcs12.PBES.PBESv2SHA256AndAES256CBC)
        .hmac_hash(hashes.SHA256())
        .build(TRUSTSTORE_PASSWORD.encode())
    )
    return pkcs12.serialize_java_truststore(entries, locked)


@lru_cache(maxsize=8)
def _load_all(bundle: str) -> tuple[x509.Certificate, ...]:
    """Return the authorities; an old one that breaks a rule of later years is left out."""
    end, found = "-----END CERTIFICATE-----", []
    for text in bundle.split(end)[:-1]:
        with warnings.catch_warnings(), suppress(ValueError, CryptographyDeprecationWarning):
            warnings.simplefilter("error")
            found.append(x509.load_pem_x509_certificate(f"{text}{end}".encode()))
    return tuple(found)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(
    *, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False
) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
