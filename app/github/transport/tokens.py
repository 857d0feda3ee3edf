"""Installation tokens: narrow, shared by concurrent callers, and revoked after use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

import structlog
from cachetools import TLRUCache, TTLCache
from pydantic import AwareDatetime, BaseModel, ConfigDict, SecretStr

from agents.errors import FettleError
from app.github.transport.app_client import AppClient
from app.github.transport.errors import InstallationGone, NotPermitted, mint_fault
from app.github.transport.http import HttpApi, RequestFailed
from app.github.transport.installation_cache import InstallationLookup
from app.github.transport.rate_limits import Call, Reply
from app.secrets.redaction import Redactor

MARGIN = 300
"""Seconds before its end from which on a token is handed out no more; of a short life, less."""
SHARE = 4
"""The last quarter of a life is kept back instead, where that is less than MARGIN."""

LOGGED_SECONDS = 600.0
"""For so long after its end a token is kept out of texts: logs are written after the fact."""
MOST_TOKENS = 4096
ABSENT_SECONDS = 600.0
"""For so long a repository that was not there by its name is not asked for again."""

log = structlog.get_logger()


class Profile(Enum):
    """The use of a token; its value lists the permissions, and a token gets no others."""

    FIND = (("metadata", "read"),)
    CONTENTS = (("contents", "read"), ("metadata", "read"))
    READ = (
        ("contents", "read"),
        ("issues", "read"),
        ("metadata", "read"),
        ("pull_requests", "read"),
    )
    ISSUES = (("issues", "read"), ("metadata", "read"))
    LABELS = (("issues", "write"), ("metadata", "read"))
    CHECKS = (("checks", "read"), ("contents", "read"), ("statuses", "read"))
    LOGS = (("actions", "read"),)
    ALERTS = (("vulnerability_alerts", "read"),)
    REPORT = (("checks", "write"), ("issues", "write"), ("pull_requests", "write"))
    PUSH = (("contents", "write"),)
    PUSH_WORKFLOWS = (("contents", "write"), ("workflows", "write"))
    PULLS = (("contents", "write"), ("pull_requests", "write"))


OPTIONAL = {"workflows": "write"}
"""Permissions that Fettle uses where an App has them, and app.yml does not ask for."""


def every_permission() -> dict[str, str]:
    """Return all permissions that any token needs, which an owner has to grant."""
    every: dict[str, str] = {}
    for profile in Profile:
        for name, level in profile.value:
            if name not in OPTIONAL and every.get(name) != "write":
                every[name] = level
    return every


@dataclass(frozen=True)
class Scope:
    """What a token may reach, and the key under which the token is kept."""

    installation_id: int
    repository_ids: tuple[int, ...]
    permissions: tuple[tuple[str, str], ...]
    repository_names: tuple[str, ...] = ()
    """Repositories of the installation's owner whose ids are not known yet."""
    everywhere: bool = False
    """All of the installation's repositories, to look for what they have in common."""

    @classmethod
    def of_all(cls, installation_id: int, profile: Profile) -> Scope:
        """Return the scope of a whole installation for one use; only searches need it."""
        return cls(installation_id, (), profile.value, everywhere=True)

    @classmethod
    def for_name(cls, installation_id: int, name: str, profile: Profile) -> Scope:
        """Return the scope of one repository known by its name alone, for one use."""
        return cls(installation_id, (), profile.value, (name,))

    @classmethod
    def for_several(
        cls, installation_id: int, repository_ids: Collection[int], profile: Profile
    ) -> Scope:
        """Return the scope of up to 500 repositories, for one use."""
        return cls(installation_id, tuple(repository_ids), profile.value)

    @classmethod
    def for_one(cls, installation_id: int, repository_id: int, profile: Profile) -> Scope:
        """Return the scope of one repository, for one use."""
        return cls(installation_id, (repository_id,), profile.value)

    @property
    def repositories(self) -> dict[str, list[int] | list[str]]:
        """Return the repositories for GitHub's request; none means all, on purpose only."""
        if self.everywhere:
            return {}
        if self.repository_names:
            return {"repositories": list(self.repository_names)}
        return {"repository_ids": list(self.repository_ids)}


RecordToken = Callable[[Scope], Awaitable[None]]
"""Notes durably that a token of this scope was made."""


async def _record_nowhere(_scope: Scope) -> None:
    return


@dataclass(frozen=True)
class Token:
    """An installation token. Times are unix seconds by GitHub's clock.

    https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/generating-an-installation-access-token-for-a-github-app
    """

    value: str = field(repr=False)
    expires_at: float
    minted_at: float

    @property
    def handed_out_until(self) -> float:
        """Return until when the token may be handed out, in unix seconds.

        After that too little of its life is left for what a caller may begin with it.
        """
        return self.expires_at - min(MARGIN, (self.expires_at - self.minted_at) / SHARE)


class _Minted(BaseModel):
    """What Fettle reads of the answer to minting."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    token: SecretStr
    expires_at: AwareDatetime


class TokenBroker:
    """Hands out installation tokens."""

    def __init__(
        self, app: AppClient, api: HttpApi, redactor: Redactor, installed: InstallationLookup
    ) -> None:
        self._app = app
        self._record: RecordToken = _record_nowhere
        self._api = api
        self._redactor = redactor
        self._kept: TLRUCache[Scope, Token] = TLRUCache(
            MOST_TOKENS, ttu=lambda _, token, __: token.handed_out_until, timer=app.jwt.get_time
        )
        self._minting: dict[Scope, asyncio.Task[Token]] = {}
        self._absent: TTLCache[Scope, str] = TTLCache(
            MOST_TOKENS, ABSENT_SECONDS, timer=app.jwt.get_time
        )
        self.installed = installed
        """Asked before each token is made."""

    def record_with(self, record: RecordToken) -> None:
        """Have each token recorded before anybody gets it; where it cannot be, nobody does."""
        self._record = record

    async def token(self, scope: Scope) -> Token:
        """Return a token valid for five more minutes, or a quarter of its life; callers share it.

        Raises InstallationGone, NotPermitted, TransientError or ConfigError.
        """
        if (kept := self._kept.get(scope)) is not None:
            return kept
        if (why := self._absent.get(scope)) is not None:
            raise NotPermitted(why)
        minting = self._minting.get(scope)
        if minting is None:
            minting = asyncio.create_task(self._mint(scope))
            self._minting[scope] = minting
            minting.add_done_callback(partial(self._finish_minting, scope))
        # A caller that is cancelled must not take the token away from the others.
        return await asyncio.shield(minting)

    @asynccontextmanager
    async def lease(self, scope: Scope) -> AsyncIterator[Token]:
        """Make a token for one caller, and revoke it at the end."""
        token = await self._mint(scope)
        try:
            yield token
        finally:
            await self.revoke(token)

    def forget(self, scope: Scope, token: Token) -> None:
        """Hand out this token no more, since GitHub refused it."""
        if self._kept.get(scope) == token:
            del self._kept[scope]

    def forget_all(self, installation_id: int, repository_ids: Collection[int] = ()) -> None:
        """Hand out no token any more that was made for the installation, or for these repositories.

        Such tokens reach nothing any more, or less than new ones would.
        """
        for scope in list(self._kept):
            ours = scope.installation_id == installation_id
            if ours and (not repository_ids or set(repository_ids) & set(scope.repository_ids)):
                del self._kept[scope]
        self.look_again(installation_id)

    def look_again(self, installation_id: int) -> None:
        """Ask again for repositories of the installation that GitHub did not have a moment ago."""
        for scope in list(self._absent):
            if scope.installation_id == installation_id:
                self._absent.pop(scope, None)

    async def revoke(self, token: Token) -> None:
        """Revoke the token. A failure is only logged, since each token expires within the hour.

        https://docs.github.com/rest/apps/installations#revoke-an-installation-access-token
        """
        try:
            await self._api.send("DELETE", "/installation/token", token=token.value)
        except (RequestFailed, FettleError) as error:
            log.warning("token not revoked", reason=str(error))
        else:
            self._redactor.end(token.value, lifetime=LOGGED_SECONDS)

    def age(self, token: Token) -> float:
        """Return the token's age in seconds."""
        return self.get_time() - token.minted_at

    def get_time(self) -> float:
        """Return GitHub's time in unix seconds."""
        return self._app.jwt.get_time()

    async def _mint(self, scope: Scope) -> Token:
        permit = await self.installed.permit(scope.installation_id, scope.repository_ids)
        permissions = permit.narrow(dict(scope.permissions))

        def to_error(call: Call, reply: Reply) -> FettleError:
            found = mint_fault(call, reply, permissions)
            if permit.doubt and isinstance(found, NotPermitted):
                return InstallationGone(permit.doubt)
            return found

        answer = await self._app.request(
            "POST",
            "/app/installations/{installation_id}/access_tokens",
            url_vars={"installation_id": str(permit.installation_id)},
            data={**scope.repositories, "permissions": permissions},
            meaning=to_error,
        )
        minted, now = _Minted.model_validate(answer), self._app.jwt.get_time()
        value, expires_at = minted.token.get_secret_value(), minted.expires_at.timestamp()
        self._redactor.add(value, lifetime=max(expires_at - now, 0) + LOGGED_SECONDS)
        token = Token(value, expires_at=expires_at, minted_at=now)
        try:
            await self._record(scope)
        except FettleError:
            await self.revoke(token)
            raise
        return token

    def _finish_minting(self, scope: Scope, minting: asyncio.Task[Token]) -> None:
        del self._minting[scope]
        if minting.cancelled():
            return
        fault = minting.exception()
        if fault is None:
            self._kept[scope] = minting.result()
        elif scope.repository_names and isinstance(fault, NotPermitted):
            self._absent[scope] = str(fault)
