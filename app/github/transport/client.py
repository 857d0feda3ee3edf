"""The GitHub client: one HTTP session and one set of limits, a narrow token for each use."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import aiohttp
from cachetools import LRUCache

from app.github.transport.app_client import AppClient
from app.github.transport.app_jwt import AppJwt
from app.github.transport.bot_identity import BotIdentity, learn_identity
from app.github.transport.etag_cache import EtagCache
from app.github.transport.http import HttpApi
from app.github.transport.installation_cache import InstallationLookup, UncachedInstallations
from app.github.transport.installation_client import InstallationClient, Permit, Sleep, TokenSource
from app.github.transport.rate_limits import RemainingRequests, left_of
from app.github.transport.throttle import Throttle
from app.github.transport.tokens import Profile, Scope, Token, TokenBroker
from app.github.transport.urls import Urls
from app.network.outbound import DIRECT, Outbound
from app.secrets.redaction import Redactor

MOST_PACES = 10_000
AT_ONCE = 50
"""Connections of this process: GitHub bears 100 at once from an App, and there may be two workers.

https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
"""


class GitHub:
    """The client of one process for one GitHub."""

    def __init__(
        self,
        urls: Urls,
        jwt: AppJwt,
        redactor: Redactor,
        *,
        session: aiohttp.ClientSession,
        write_spacing: float = 1.0,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        installed: MakeLookup | None = None,
        paces: LRUCache[int, Throttle] | None = None,
    ) -> None:
        self.urls = urls
        self.app = AppClient(HttpApi(session, urls), jwt, sleep=sleep)
        self.installed = installed(self) if installed is not None else UncachedInstallations()
        """Knows where the App is installed; asked before each token is made."""
        self.broker = TokenBroker(self.app, HttpApi(session, urls), redactor, self.installed)
        self._redactor = redactor
        self._session = session
        self._write_spacing = write_spacing
        self._sleep = sleep
        self._clock = clock
        self._identity: BotIdentity | None = None
        self._paces = LRUCache(MOST_PACES) if paces is None else paces
        self._remembered = EtagCache()
        self._permit: Permit = _permit_always
        self.without_stacks: set[int] = set()
        """Installations whose GitHub has said that it leads no pull requests as stacks."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        *,
        github_url: str,
        app_id: int | str,
        private_key: str,
        redactor: Redactor,
        outbound: Outbound = DIRECT,
        write_spacing: float = 1.0,
        renewed: Callable[[], str | None] = lambda: None,
        answered: OnAnswer = lambda _status, _seconds: None,
        installed: MakeLookup | None = None,
    ) -> AsyncIterator[GitHub]:
        """Hold the session open. Raises ConfigError for a wrong address or key.

        `renewed` returns the App's key when it was replaced since it was last asked; `answered` is
        told of each request.
        """
        urls = Urls.from_web_url(github_url, outbound)
        jwt = AppJwt(app_id, private_key, renewed=renewed)
        traces = [_measure(answered)]
        async with urls.outbound.open_session(limit=AT_ONCE, trace_configs=traces) as session:
            yield cls(
                urls,
                jwt,
                redactor,
                session=session,
                write_spacing=write_spacing,
                installed=installed,
            )

    def with_installations(self, installed: MakeLookup) -> GitHub:
        """Return the same GitHub, in the same session and pace, with this view of installations."""
        return GitHub(
            self.urls,
            self.app.jwt,
            self._redactor,
            session=self._session,
            write_spacing=self._write_spacing,
            sleep=self._sleep,
            clock=self._clock,
            installed=installed,
            paces=self._paces,
        )

    def guard_writes(self, permit: Permit) -> None:
        """Have `permit` raise before each write of a process that may not write any more."""
        self._permit = permit

    async def require_writable(self) -> None:
        """Raise TransientError where this process may not write any more, as to push."""
        await self._permit()

    async def installation(
        self, installation_id: int, repository_id: int, profile: Profile
    ) -> InstallationClient:
        """Return a client for one repository and one use, with its token at hand.

        Raises InstallationGone, NotPermitted, TransientError or ConfigError.
        """
        scope = Scope.for_one(installation_id, repository_id, profile)
        tokens = _Shared(self.broker, scope)
        await tokens.get()
        return self._client(scope, tokens)

    async def client_by_name(
        self, installation_id: int, name: str, profile: Profile
    ) -> InstallationClient:
        """Return a client for a repository of the installation's owner that is known by name alone.

        Raises NotPermitted where the repository is missing, or the App is not installed on it.
        """
        scope = Scope.for_name(installation_id, name, profile)
        tokens = _Shared(self.broker, scope)
        await tokens.get()
        return self._client(scope, tokens)

    @asynccontextmanager
    async def open_search_client(
        self, installation_id: int, name: str
    ) -> AsyncIterator[InstallationClient]:
        """Open a client that may see that this repository exists, but nothing in it."""
        scope = Scope.for_name(installation_id, name, Profile.FIND)
        async with self.broker.lease(scope) as token:
            yield self._client(scope, _Leased(token))

    @asynccontextmanager
    async def open_installation_client(
        self, installation_id: int, profile: Profile
    ) -> AsyncIterator[InstallationClient]:
        """Open a client for searches in a whole installation; its token is revoked at the end."""
        scope = Scope.of_all(installation_id, profile)
        async with self.broker.lease(scope) as token:
            yield self._client(scope, _Leased(token))

    @asynccontextmanager
    async def lease_client(
        self, installation_id: int, repository_id: int, profile: Profile
    ) -> AsyncIterator[InstallationClient]:
        """Open a client with a token for this use alone, which is revoked at the end."""
        scope = Scope.for_one(installation_id, repository_id, profile)
        async with self.broker.lease(scope) as token:
            yield self._client(scope, _Leased(token))

    @asynccontextmanager
    async def lease_shared_client(
        self, installation_id: int, repository_ids: Collection[int], profile: Profile
    ) -> AsyncIterator[InstallationClient]:
        """Open a client for some repositories of an installation."""
        scope = Scope.for_several(installation_id, repository_ids, profile)
        async with self.broker.lease(scope) as token:
            yield self._client(scope, _Leased(token))

    async def identity(self, client: InstallationClient) -> BotIdentity:
        """Return the App and its bot account; GitHub is asked once."""
        if self._identity is None:
            self._identity = await learn_identity(self.app, client)
        return self._identity

    @property
    def left(self) -> dict[int, RemainingRequests]:
        """Return the requests left in this hour by installation, as GitHub's headers say."""
        return {ident: pace.left for ident, pace in self._paces.items() if pace.left is not None}

    def _client(self, scope: Scope, tokens: TokenSource) -> InstallationClient:
        pace = self._pace(scope.installation_id)
        api = HttpApi(
            self._session,
            self.urls,
            kept=self._remembered.seen_by(scope),
            hear=lambda headers: pace.hear(left_of(headers), self.broker.get_time()),
        )
        of_one = scope.repository_ids if len(scope.repository_ids) == 1 else ()
        called = [partial(self.installed.current_name, ident) for ident in of_one]
        return InstallationClient(
            api,
            tokens,
            pace,
            self.broker,
            sleep=self._sleep,
            called=called[0] if called else None,
            permit=self.require_writable,
        )

    def _pace(self, installation_id: int) -> Throttle:
        pace = self._paces.get(installation_id)
        if pace is None:
            pace = Throttle(spacing=self._write_spacing, clock=self._clock, sleep=self._sleep)
            self._paces[installation_id] = pace
        return pace


def _measure(answered: OnAnswer) -> aiohttp.TraceConfig:
    """Return what tells of each request how it was answered, and after how long."""
    trace = aiohttp.TraceConfig(trace_config_ctx_factory=_Stopwatch)

    async def end(_session: Any, watch: Any, params: Any) -> None:
        answer = getattr(params, "response", None)  # an exception has none
        answered(answer.status if answer is not None else 0, watch.seconds)

    trace.on_request_end.append(end)
    trace.on_request_exception.append(end)
    return trace


class _Stopwatch(SimpleNamespace):
    """Tells how long ago it was made, as aiohttp does at the beginning of a request."""

    def __init__(self, **about: Any) -> None:
        super().__init__(**about)
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began


async def _permit_always() -> None:
    """Let everything be written: no other process has this one's runs."""


OnAnswer = Callable[[int, float], None]
"""Hears the status of each answer, 0 where there was none, and how many seconds it took."""
MakeLookup = Callable[[GitHub], InstallationLookup]
"""Makes what knows where the App is installed, for the GitHub that it is to ask."""


class _Shared:
    renewable = True

    def __init__(self, broker: TokenBroker, scope: Scope) -> None:
        self._broker = broker
        self._scope = scope

    async def get(self) -> Token:
        return await self._broker.token(self._scope)

    def reject_token(self, token: Token) -> None:
        self._broker.forget(self._scope, token)


class _Leased:
    renewable = False

    def __init__(self, token: Token) -> None:
        self._token = token

    async def get(self) -> Token:
        return self._token

    def reject_token(self, token: Token) -> None:
        """Nothing else is to be had: the lease is this token."""
