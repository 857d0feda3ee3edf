"""Column types that encrypt texts on their way to disk, and the cipher that each database uses."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Dialect, LargeBinary, Text
from sqlalchemy.types import TypeDecorator

from app.secrets.encryption import OPEN, Cipher

_SEALS: WeakKeyDictionary[Dialect, Cipher] = WeakKeyDictionary()
"""Ciphers by dialect: a column's type knows no more of its database, and each has a dialect."""


def seal_with(dialect: Dialect, seal: Cipher) -> None:
    """Have the encrypted columns of this dialect's database use the cipher `seal`."""
    _SEALS[dialect] = seal


def seal_of(dialect: Dialect) -> Cipher:
    """Return the cipher of the database that this dialect belongs to."""
    return _SEALS.get(dialect, OPEN)


class SealedText(TypeDecorator[str]):
    """A text column, encrypted in the file."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Encrypt the value for the database."""
        return None if value is None else seal_of(dialect).close(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Decrypt the value from the database."""
        return None if value is None else seal_of(dialect).open(value)


class SealedBytes(TypeDecorator[bytes]):
    """A column of bytes, compressed with LZ4 and encrypted in the file."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Encrypt the value for the database."""
        return None if value is None else seal_of(dialect).close_bytes(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Decrypt the value from the database."""
        return None if value is None else seal_of(dialect).open_bytes(bytes(value))
