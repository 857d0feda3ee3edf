"""Origins that set-up commands may read from, with the credentials for each."""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from pydantic import SecretStr

from app.network.addresses import is_public, may_be_private

Scheme = Literal["http", "https"]
PORTS: Mapping[str, int] = {"http": 80, "https": 443}

_HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9])?|[0-9a-f:.]{2,45}")
_TOKEN_LENGTH = 20
_PATH_PIECES = re.compile(r"[/\\]")
_USERINFO = re.compile(r"//[^/@\s]*@")


class OriginKey(NamedTuple):
    """Scheme, host and port of an origin.

    https://www.rfc-editor.org/rfc/rfc6454#section-4
    """

    scheme: Scheme
    host: str
    port: int

    def __str__(self) -> str:
        """Return the origin as URLs begin with it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


@dataclass(frozen=True)
class Key:
    """A credential for a private index, sent to paths below `path` alone; no sandbox sees it."""

    path: str
    header: SecretStr
    """The whole value of the header `Authorization`."""
    secrets: tuple[SecretStr, ...]
    """The parts that nobody may see: password or token."""

    @classmethod
    def basic(cls, path: str, user: str, password: str) -> Key:
        """Return the credential of a user name and password."""
        pair = base64.b64encode(f"{user}:{password}".encode()).decode()
        # Where the name is a token, the password is empty or a word that only fills its place.
        hidden = [password] if password and len(user) < _TOKEN_LENGTH else [password, user]
        return cls(path, SecretStr(f"Basic {pair}"), tuple(map(SecretStr, filter(None, hidden))))

    @classmethod
    def bearer(cls, path: str, token: str) -> Key:
        """Return the credential of a token."""
        return cls(path, SecretStr(f"Bearer {token}"), (SecretStr(token),))

    def opens(self, path: str) -> bool:
        """Tell whether this raw URL path lies below `path`, however a server resolves dots."""
        pieces = (piece.partition(";")[0] for piece in _PATH_PIECES.split(_unquote_fully(path)))
        return path.startswith(self.path) and not any(piece in {".", ".."} for piece in pieces)


@dataclass(frozen=True)
class ServedPath:
    """A path of a public index that an operator's mirror answers for; its own host is not asked."""

    path: str
    """With a slash at its end it stands for all below it."""
    url: str
    """The same place on the mirror."""

    def find_url(self, target: str) -> str | None:
        """Return where this path, with its query, is on the mirror; None if it is another one."""
        if self.path.endswith("/") and target.startswith(self.path):
            return self.url + target[len(self.path) :]
        path, mark, query = target.partition("?")
        return f"{self.url}{mark}{query}" if path == self.path else None


@dataclass(frozen=True)
class Origin:
    """One origin that a set-up may reach."""

    place: OriginKey
    why: str
    """Why the origin is permitted, for the operator: like `index of pip`."""
    private_ok: bool = False
    """Whether its name may lead to an address that is not of the public internet."""
    tunnel: bool = False
    """Whether bytes pass as they are. Otherwise TLS ends with us, and only reading passes."""
    keys: tuple[Key, ...] = field(default=(), repr=False)
    served: tuple[ServedPath, ...] = ()
    """What a mirror answers in its stead; then nothing else of it can be had."""

    def key(self, path: str) -> Key | None:
        """Return the credential for this path, the longest match first."""
        fitting = [key for key in self.keys if key.opens(path)]
        return max(fitting, key=lambda key: len(key.path), default=None)


class Allowed:
    """The origins that one set-up may reach, without forbidden addresses."""

    def __init__(self, origins: Iterable[Origin]) -> None:
        self._origins: dict[OriginKey, Origin] = {}
        for origin in filter(_may_lead, origins):
            known = self._origins.get(origin.place)
            self._origins[origin.place] = _merge_origins(known, origin) if known else origin

    def find(self, scheme: Scheme, host: str, port: int) -> Origin | None:
        """Return the origin with exactly this scheme, host and port."""
        return self._origins.get(OriginKey(scheme, _plain(host), port))

    def find_for_connect(self, host: str, port: int) -> Origin | None:
        """Return the origin of a CONNECT to host and port: https, unless only http is allowed."""
        return self.find("https", host, port) or self.find("http", host, port)


def place_of(url: str) -> OriginKey:
    """Return the origin of a URL. Raises ValueError for schemes other than http and https."""
    parts = urlsplit(url)
    host = _plain(parts.hostname or "")
    if parts.scheme not in PORTS or not is_host(host):
        raise ValueError("not an address of http or https")
    scheme: Scheme = "http" if parts.scheme == "http" else "https"
    return OriginKey(scheme, host, parts.port or PORTS[scheme])


def is_host(host: str) -> bool:
    """Tell whether the text can be a host: an ASCII name or an address."""
    return bool(_HOST.fullmatch(host)) and (":" not in host or tls_name(host) is None)


def tls_name(host: str) -> str | None:
    """Return the server name for TLS, or None for an address, which has none."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host
    return None


def without_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    """Return the URL without its user and password, and the two. Raises ValueError."""
    parts = urlsplit(url)
    place, _, name = parts.netloc.rpartition("@")
    if not place:
        return url, None
    user, _, password = place.partition(":")
    return urlunsplit(parts._replace(netloc=name)), (unquote(user), unquote(password))


def remove_credentials(text: str) -> str:
    """Return the text with all credentials removed from its URLs."""
    return _USERINFO.sub("//", text)


def _may_lead(origin: Origin) -> bool:
    """Tell whether an origin that is an address may be one; names are looked at when resolved."""
    host = origin.place.host
    if tls_name(host) is not None:
        return True
    return is_public(host) or (origin.private_ok and may_be_private(host))


def _plain(host: str) -> str:
    return host.lower().removesuffix(".")


def _unquote_fully(path: str) -> str:
    """Return the path as the most obliging server would read it."""
    for _ in range(3):
        path = unquote(path)
    return path


def _merge_origins(one: Origin, other: Origin) -> Origin:
    """Return one origin for two reasons to allow it; with keys or a mirror, nothing tunnels."""
    keys = (*one.keys, *(key for key in other.keys if key not in one.keys))
    served = (*one.served, *(path for path in other.served if path not in one.served))
    return replace(
        one,
        private_ok=one.private_ok or other.private_ok,
        tunnel=(one.tunnel or other.tunnel) and not keys and not served,
        keys=keys,
        served=served,
    )
