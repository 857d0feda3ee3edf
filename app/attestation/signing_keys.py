"""The Ed25519 keys of one instance: the first signs, all of them are published for verifiers.

A key file holds private keys as PEM, one below the other. To rotate is to put a new one first: what
the older ones signed is still verified by their public halves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from agents.errors import ConfigError

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner, Key

# ruff: noqa: PLC0415 - with its signers come the clients of each cloud that are installed, and a
# server at rest needs none of their 20 MB

_END = "-----END PRIVATE KEY-----"
_UNREADABLE = (
    "{path} holds something else than Ed25519 private keys as PEM without a password. Put it back"
    " from your backup, or take the file away and run `fettle signing-key --new`."
)
_CLOSED = (
    "The signing keys in {path} cannot be read: {why}. It has to be a file that the server's user"
    " may read, and nobody else."
)
_ABSENT = (
    "There is no signing key at {path}, where FETTLE_SIGNING_KEY_FILE says that workers share it."
    " Make it once with `fettle signing-key --new`, and give every worker the same file."
)
_NO_KEYS = (
    "{place} holds no public keys as Fettle publishes them. Give the file or the answer of"
    " `/.well-known/fettle-keys.json` at the server that made the pull request."
)


@dataclass(frozen=True)
class TrustedKeys:
    """Public keys that somebody decided to trust."""

    keys: Sequence[Key]

    @property
    def document(self) -> dict[str, Any]:
        """Return them as they are published: `{"keys": {id: key}}`, in TUF's form of a key.

        https://theupdateframework.github.io/specification/latest/#file-formats-keys
        """
        return {"keys": {key.keyid: key.to_dict() for key in self.keys}}

    @classmethod
    def read(cls, text: str, place: str) -> TrustedKeys:
        """Read what was published. `place`: where it was found. Raises ConfigError."""
        from securesystemslib.signer import Key

        try:
            listed: Mapping[str, Any] = json.loads(text)["keys"]
            keys = [Key.from_dict(keyid, dict(about)) for keyid, about in listed.items()]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(_NO_KEYS.format(place=place)) from error
        if not keys:
            raise ConfigError(_NO_KEYS.format(place=place))
        return cls(keys)


@dataclass(frozen=True)
class SigningKeys:
    """The private keys of this instance, the newest first."""

    private: Sequence[Ed25519PrivateKey]

    @property
    def current(self) -> CryptoSigner:
        """Return the one that signs."""
        return self._signers[0]

    @property
    def public(self) -> TrustedKeys:
        """Return the public halves of all of them."""
        return TrustedKeys([signer.public_key for signer in self._signers])

    def publish(self) -> dict[str, Any]:
        """Return the document of the public halves, for verifiers."""
        return self.public.document

    @property
    def _signers(self) -> list[CryptoSigner]:
        from securesystemslib.signer import CryptoSigner

        return [CryptoSigner(key) for key in self.private]

    @classmethod
    def read(cls, path: Path) -> SigningKeys:
        """Read the file. Raises ConfigError for one that holds no usable key."""
        try:
            blocks = path.read_text("ascii").split(_END)[:-1]
            keys = [load_pem_private_key(f"{each}{_END}\n".encode(), None) for each in blocks]
        except OSError as error:
            raise ConfigError(_CLOSED.format(path=path, why=error.strerror)) from error
        except (ValueError, TypeError) as error:
            raise ConfigError(_UNREADABLE.format(path=path)) from error
        if not keys or not all(isinstance(key, Ed25519PrivateKey) for key in keys):
            raise ConfigError(_UNREADABLE.format(path=path))
        return cls([key for key in keys if isinstance(key, Ed25519PrivateKey)])


def load_keys(path: Path, *, shared: bool) -> SigningKeys:
    """Return the keys in the file. Raises ConfigError where a shared one is absent.

    It is not made then: each worker would make its own, and none could verify the others'.
    """
    if not shared:
        return ensure_key(path)
    if not path.exists():
        raise ConfigError(_ABSENT.format(path=path))
    return SigningKeys.read(path)


def ensure_key(path: Path) -> SigningKeys:
    """Return the keys in the file, which is made with one key where there is none."""
    if not path.exists():
        _make_folder(path.parent)
        with suppress(FileExistsError):  # another process was faster
            _write_new(path, _generate(), path.parent)
    return SigningKeys.read(path)


def add_key(path: Path) -> SigningKeys:
    """Put a new key before those in the file; return all of them. Raises ConfigError."""
    if not path.exists():
        return ensure_key(path)
    SigningKeys.read(path)  # or the new one would be put before something that nobody can read
    older = path.read_text("ascii")
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    _write_new(fresh, _generate() + older, path)
    fresh.replace(path)
    return SigningKeys.read(path)


def _make_folder(folder: Path) -> None:
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        if os.geteuid() == 0:
            owner = folder.parent.stat()
            os.chown(folder, owner.st_uid, owner.st_gid)


def _generate() -> str:
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _write_new(path: Path, text: str, beside: Path) -> None:
    """Write a file that belongs to whom `beside` belongs: root may do it for the server's user."""
    owner = beside.stat()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        if os.geteuid() == 0:
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
