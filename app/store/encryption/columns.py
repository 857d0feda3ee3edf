"""Column types that encrypt texts on their way to disk, and the cipher that each database uses."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Dialect, LargeBinary, Text
from sqlalchemy.types import TypeDecorator

from app.secrets.encryption import OPEN, Cipher

_CIPHERS: WeakKeyDictionary[Dialect, Cipher] = WeakKeyDictionary()
"""Ciphers by dialect: a column's type knows no more of its database, and each has a dialect."""


def encrypt_with(dialect: Dialect, cipher: Cipher) -> None:
    """Have the encrypted columns of this dialect's database use this cipher."""
    _CIPHERS[dialect] = cipher


def cipher_of(dialect: Dialect) -> Cipher:
    """Return the cipher of the database that this dialect belongs to."""
    return _CIPHERS.get(dialect, OPEN)


class SealedText(TypeDecorator[str]):
    """A text column, encrypted in the file."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Encrypt the value for the database."""
        return None if value is None else cipher_of(dialect).encrypt(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Decrypt the value from the database."""
        return None if value is None else cipher_of(dialect).decrypt(value)


class SealedBytes(TypeDecorator[bytes]):
    """A column of bytes, compressed with LZ4 and encrypted in the file."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Encrypt the value for the database."""
        return None if value is None else cipher_of(dialect).encrypt_bytes(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Decrypt the value from the database."""
        return None if value is None else cipher_of(dialect).decrypt_bytes(bytes(value))
