"""Sign the short-lived JWT by which the App authenticates itself with its private key."""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from agents.errors import ConfigError

BACKDATED = 60
"""Seconds: a clock that is a little fast must not make `iat` lie in the future."""

LIFETIME = 9 * 60
"""Seconds; GitHub refuses more than ten minutes."""

RENEWED = 60
"""Seconds before its end from which on a JWT is not used any more."""


class AppJwt:
    """Signs JWTs as the App, by GitHub's clock as far as it is known.

    https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app
    """

    def __init__(
        self,
        app_id: int | str,
        private_key: str,
        *,
        clock: Callable[[], float] = time.time,
        renewed: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._issuer = str(app_id)
        self._key = _parse_key(private_key)
        self._clock = clock
        self._offset = 0.0
        self._made = ("", 0.0)
        self._renewed = renewed
        """Asked when GitHub does not accept the key: it may have been replaced a moment ago."""

    def renew(self) -> bool:
        """Take up a key that was replaced; return whether one was."""
        if (private_key := self._renewed()) is None:
            return False
        self._key = _parse_key(private_key)
        self._made = ("", 0.0)
        return True

    def get_time(self) -> float:
        """Return the time in unix seconds by GitHub's clock, as learnt from its answers."""
        return self._clock() + self._offset

    def token(self) -> str:
        """Return a JWT that is valid for at least another minute."""
        value, ends = self._made
        if self.get_time() < ends - RENEWED:
            return value
        now = int(self.get_time())
        claims = {"iat": now - BACKDATED, "exp": now + LIFETIME, "iss": self._issuer}
        value = jwt.encode(claims, self._key, algorithm="RS256")
        self._made = (value, now + LIFETIME)
        return value

    def set_clock(self, date: str | None) -> bool:
        """Set the clock by an answer's `Date` header; return whether that changed anything."""
        try:
            theirs = parsedate_to_datetime(date or "").timestamp()
        except ValueError:
            return False
        before, self._offset = self._offset, theirs - self._clock()
        self._made = ("", 0.0)
        return abs(self._offset - before) > 1


def _parse_key(private_key: str) -> RSAPrivateKey:
    try:
        # That its numbers are those of a key was checked where it was read, and takes a while.
        key = load_pem_private_key(
            private_key.encode(), password=None, unsafe_skip_rsa_key_validation=True
        )
    except (ValueError, TypeError) as error:
        raise ConfigError(
            "FETTLE_PRIVATE_KEY is not a private key. Set it to the whole file that GitHub gave "
            "you for the App, from its BEGIN line to its END line, or put that file's path into "
            "FETTLE_PRIVATE_KEY_FILE."
        ) from error
    if not isinstance(key, RSAPrivateKey):
        raise ConfigError(
            "FETTLE_PRIVATE_KEY is not an RSA key, so it is not the one GitHub made for the App. "
            "Download a new one under Settings, Developer settings, GitHub Apps, Private keys."
        )
    return key
