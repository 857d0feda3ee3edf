"""Authenticate callers: verify App JWTs, mint, look up and revoke installation tokens."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import jwt

from app.simulator.github.accounts import Actor, App
from app.simulator.github.answers import ApiError
from app.simulator.github.state.world import Installation, Repository, World

LONGEST_JWT = timedelta(minutes=10)
LEVELS = {"read": 1, "write": 2, "admin": 3}


@dataclass(eq=False)
class Token:
    """What an installation token opens, and until when."""

    text: str
    installation: Installation
    repositories: list[Repository] | None
    """None: whatever the installation has at the time of the call."""
    permissions: dict[str, str]
    expires_at: datetime
    used: set[tuple[str, str]] = field(default_factory=set)
    """What calls were let through with: permission and level, of all tokens together."""

    @property
    def actor(self) -> Actor:
        """Return who acts with this token: the App's bot."""
        app = self.installation.app
        return Actor(app.bot, app)

    def sees(self, repository: Repository) -> bool:
        """Say whether the repository is within reach."""
        wanted = self.repositories
        chosen = wanted is None or repository in wanted
        return chosen and repository in self.installation.repositories

    def grants(self, permission: str, level: str) -> bool:
        """Say whether a permission is held at least at this level."""
        held = min(
            LEVELS.get(self.permissions.get(permission, ""), 0),
            LEVELS.get(self.installation.permissions.get(permission, ""), 0),
        )
        if held < LEVELS[level]:
            return False
        self.used.add((permission, level))
        return True


class Tokens:
    """The mint."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._live: dict[str, Token] = {}
        self.used: set[tuple[str, str]] = set()
        """What calls were let through with so far: permission and level."""
        self.lifetime = timedelta(hours=1)
        """How long new tokens live; tests set minutes or seconds."""

    def app_of(self, bearer: str) -> App:
        """Return the App that signed this JWT; Refused 401 with GitHub's reason."""
        unsigned = _claims_of(bearer)
        app = self._app_named(unsigned.get("iss"))
        try:
            options: Any = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}
            claims = jwt.decode(bearer, app.public_key, ["RS256"], options=options)
        except jwt.InvalidTokenError:
            raise ApiError(401, "A JSON web token could not be decoded") from None
        self._check_times(claims)
        return app

    def _app_named(self, issuer: object) -> App:
        for app in self._world.apps.values():
            if issuer in (str(app.id), app.id, app.client_id):
                return app
        raise ApiError(404, "Integration not found")

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        now = self._world.get_time().timestamp()
        issued, expires = claims.get("iat"), claims.get("exp")
        if not isinstance(issued, int) or issued > now:
            raise ApiError(
                401,
                "'Issued at' claim ('iat') must be an Integer representing the time that the"
                " assertion was issued",
            )
        if not isinstance(expires, int) or expires <= now:
            raise ApiError(
                401,
                "'Expiration time' claim ('exp') must be a numeric value representing the future"
                " time at which the assertion expires",
            )
        if expires > now + LONGEST_JWT.total_seconds():
            raise ApiError(401, "'Expiration time' claim ('exp') is too far in the future")

    def mint(
        self,
        installation: Installation,
        repositories: Sequence[Repository] | None,
        permissions: Mapping[str, str] | None,
    ) -> Token:
        """Make a token no wider than the installation; Refused when asked for more."""
        if installation.suspended_at:
            raise ApiError(403, "This installation has been suspended")
        if not set(repositories or ()) <= set(installation.repositories):
            raise ApiError(
                422,
                "There is at least one repository that does not exist or is not accessible to the"
                " parent installation.",
            )
        token = Token(
            text=_token_text(installation.app),
            installation=installation,
            repositories=None if repositories is None else list(repositories),
            permissions=_narrow_permissions(installation.permissions, permissions),
            expires_at=self._world.get_time() + self.lifetime,
            used=self.used,
        )
        self._live[token.text] = token
        return token

    def find(self, text: str) -> Token:
        """Return a live token; Refused 401 for any other text, 403 while suspended."""
        token = self._live.get(text)
        if token is None or token.expires_at <= self._world.get_time():
            raise ApiError(401, "Bad credentials")
        if self._world.installations.get(token.installation.id) is not token.installation:
            raise ApiError(401, "Bad credentials")
        if token.installation.suspended_at:
            raise ApiError(403, "This installation has been suspended")
        return token

    def revoke(self, token: Token) -> None:
        """End a token before its time."""
        self._live.pop(token.text, None)


def bearer_of(header: str | None) -> str | None:
    """Return the credential of an Authorization header: `Bearer`, `token`, or basic password."""
    scheme, _, value = (header or "").partition(" ")
    if scheme.lower() in {"bearer", "token"}:
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value).decode().partition(":")[2]
        except ValueError:
            return ""
    return None


def _claims_of(bearer: str) -> dict[str, Any]:
    try:
        claims: dict[str, Any] = jwt.decode(bearer, options={"verify_signature": False})
    except jwt.InvalidTokenError:
        raise ApiError(401, "A JSON web token could not be decoded") from None
    return claims


def _narrow_permissions(
    held: Mapping[str, str], wanted: Mapping[str, str] | None
) -> dict[str, str]:
    if wanted is None:
        return {**held, "metadata": "read"}
    for permission, level in wanted.items():
        if LEVELS.get(level, 9) > LEVELS.get(held.get(permission, ""), 0):
            raise ApiError(422, "The permissions requested are not granted to this installation.")
    return {**wanted, "metadata": "read"}


def _token_text(app: App) -> str:
    """Return a text in the form of the stateless tokens: `ghs_<app id>_<JWT>`."""
    claims = {"iss": "local-github", "jti": secrets.token_hex(150)}  # about 520 characters in all
    token = jwt.encode(claims, secrets.token_bytes(32), algorithm="HS256")
    return f"ghs_{app.id}_{token}"
