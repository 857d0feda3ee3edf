"""Encrypt texts at rest with the operator's keys; without keys they stay plain.

The first key encrypts, and every key decrypts. An encrypted text is marked as such, so rows from
before the first key, and rows of older keys, stay readable.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from agents.errors import ConfigError

# ruff: noqa: PLC0415 - the settings import this module, and cryptography takes a while to import

SEALED, LITERAL = "sealed:1:", "plain:1:"
_RAW = b"\x80"
"""How a Fernet token begins when it is not in base64; no LZ4 frame begins so."""
SHUT = (
    "The database holds texts that are sealed with a key which this process was not given"
    "{which}. Put it into FETTLE_ENCRYPTION_KEYS, behind the newest one. Without that key nobody"
    " can read them."
)


def make_locked_error(fingerprint: str = "") -> ConfigError:
    """Return the error for a text, or a whole database, that no key decrypts."""
    return ConfigError(SHUT.format(which=f" (fingerprint {fingerprint})" if fingerprint else ""))


def fingerprint_of(key: str) -> str:
    """Return a fingerprint that tells keys apart; keys are random, so it reveals nothing."""
    return hashlib.sha256(base64.urlsafe_b64decode(key)).hexdigest()[:16]


class Cipher:
    """Encrypts and decrypts. Raises ConfigError for a text that none of the keys decrypts.

    Keys and tokens are Fernet's:
    https://github.com/fernet/spec/blob/master/Spec.md
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        self.fingerprints = tuple(fingerprint_of(key) for key in keys)
        self._newest = self._all = None
        if keys:
            from cryptography.fernet import Fernet, MultiFernet

            self._newest = Fernet(keys[0])
            self._all = MultiFernet([Fernet(key) for key in keys])

    def __bool__(self) -> bool:
        """Tell whether there is a key."""
        return self._newest is not None

    def encrypt(self, text: str) -> str:
        """Return the text encrypted, or plain without keys."""
        if self._newest is None:
            return f"{LITERAL}{text}" if text.startswith((SEALED, LITERAL)) else text
        return f"{SEALED}{self._newest.encrypt(_bytes(text)).decode('ascii')}"

    def decrypt(self, stored: str) -> str:
        """Return the decrypted text."""
        if not stored.startswith(SEALED):
            return stored.removeprefix(LITERAL)
        return self._decrypt(stored.removeprefix(SEALED)).decode("utf-8", "surrogatepass")

    def encrypt_bytes(self, data: bytes) -> bytes:
        """Return the LZ4 frame encrypted, or plain without keys."""
        if self._newest is None:
            return data
        return base64.urlsafe_b64decode(self._newest.encrypt(data))

    def decrypt_bytes(self, stored: bytes) -> bytes:
        """Return the decrypted LZ4 frame."""
        if not stored.startswith(_RAW):
            return stored
        return self._decrypt(base64.urlsafe_b64encode(stored).decode("ascii"))

    def is_current(self, stored: str | bytes) -> bool:
        """Tell whether the stored text is encrypted with the newest key."""
        if isinstance(stored, bytes):
            token = base64.urlsafe_b64encode(stored).decode() if stored.startswith(_RAW) else ""
        else:
            token = stored.removeprefix(SEALED) if stored.startswith(SEALED) else ""
        if self._newest is None or not token:
            return self._newest is None and not token
        from cryptography.fernet import InvalidToken

        try:
            self._newest.decrypt(token)
        except InvalidToken:
            return False
        return True

    def _decrypt(self, token: str) -> bytes:
        if self._all is None:
            raise make_locked_error()
        from cryptography.fernet import InvalidToken

        try:
            return self._all.decrypt(token)
        except InvalidToken:
            raise make_locked_error() from None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


OPEN = Cipher()
"""Without keys: everything is stored as it is."""
