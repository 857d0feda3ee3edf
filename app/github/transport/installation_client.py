"""Calls within one installation: retried where that is safe, inside GitHub's rate limits."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from gidgethub import sansio

from app.github.transport.errors import TooManyPages, to_error
from app.github.transport.http import HttpApi, RequestFailed
from app.github.transport.rate_limits import TRIES, Call, limit_wait, plan_retry
from app.github.transport.throttle import PATIENCE, Throttle
from app.github.transport.tokens import Token, TokenBroker
from app.observability.tracing import CLIENT, span

T = TypeVar("T")
Vars = Mapping[str, Any]
Called = Callable[[str, str], Awaitable[tuple[str, str]]]
"""Returns present owner and name of the client's repository from former ones."""
Sleep = Callable[[float], Awaitable[object]]
Permit = Callable[[], Awaitable[object]]
"""Raises TransientError where this process may not write any more, since another has its runs."""

PAGE = 100
_ENDLESS = "GitHub has more at `{path}` than Fettle reads."


class TokenSource(Protocol):
    """Gives a client its token."""

    renewable: bool

    async def get(self) -> Token:
        """Return a token that should be valid."""
        ...

    def reject_token(self, token: Token) -> None:
        """Note that GitHub refused this token; the next `get` returns another where possible."""
        ...


class InstallationClient:
    """Calls GitHub within one installation, inside its rate limits.

    Failed reads are retried; writes are not, since their callers look before they write again.
    `url` is a path template like `/repos/{owner}/{repo}`, filled from `url_vars`, or an address.
    Raises NotFound, Unprocessable, NotPermitted, InstallationGone, RunError, TransientError.
    """

    def __init__(
        self,
        api: HttpApi,
        tokens: TokenSource,
        pace: Throttle,
        broker: TokenBroker,
        *,
        sleep: Sleep,
        called: Called | None = None,
        permit: Permit | None = None,
    ) -> None:
        self._api = api
        self._tokens = tokens
        self._pace = pace
        self._broker = broker
        self._sleep = sleep
        self._called = called
        self._permit = permit

    async def getitem(self, url: str, url_vars: Vars | None = None, *, named: bool = False) -> Any:
        """Return one object; `named`: it is there, so a 403 or 404 may pass in a few seconds."""
        answer, _ = await self._get(url, url_vars, named=named)
        return answer

    async def getiter(
        self,
        url: str,
        url_vars: Vars | None = None,
        *,
        iterable_key: str | None = None,
        pages: float = math.inf,
    ) -> AsyncIterator[Any]:
        """Yield the objects of all pages; `iterable_key` names the list in a wrapping object.

        Raises TooManyPages after `pages` pages where GitHub has more.
        https://docs.github.com/rest/using-the-rest-api/using-pagination-in-the-rest-api
        """
        more: str | None = f"{url}{'&' if '?' in url else '?'}per_page={PAGE}"
        while more is not None:
            if pages < 1:
                raise TooManyPages(_ENDLESS.format(path=_path(url, url_vars)))
            page, more = await self._get(more, url_vars)
            pages -= 1
            url_vars = None  # the address of the next page is complete
            for item in page[iterable_key] if iterable_key else page:
                yield item

    async def post(
        self, url: str, url_vars: Vars | None = None, *, data: Any, yielding: bool = False
    ) -> Any:
        """Create an object; `yielding`: calls that people wait for go first."""
        return await self._write("POST", url, url_vars, data, yielding=yielding)

    async def patch(
        self, url: str, url_vars: Vars | None = None, *, data: Any, yielding: bool = False
    ) -> Any:
        """Change an object; `yielding`: calls that people wait for go first."""
        return await self._write("PATCH", url, url_vars, data, yielding=yielding)

    async def delete(self, url: str, url_vars: Vars | None = None) -> None:
        """Delete an object."""
        await self._write("DELETE", url, url_vars, b"")

    async def tail(self, url: str, url_vars: Vars, *, keep: int, most: int) -> bytes:
        """Return the last `keep` bytes of a file on a storage host, like a log."""
        url_vars = await self._by_now(url_vars)
        call = Call("GET", _path(url, url_vars), repeatable=True, route=_route(url))

        async def fetch(token: str) -> bytes:
            where = await self._api.locate(url, url_vars, token=token)
            return await self._api.tail(where, keep=keep, most=most)

        return await self._call(call, fetch)

    async def attempt(self, call: Call, send: Callable[[str], Awaitable[T]]) -> T:
        """Make another kind of call: `send` gets the token, and may raise RequestFailed."""
        return await self._call(call, send)

    async def graphql(
        self,
        document: str,
        variables: Vars | None = None,
        *,
        writes: bool = False,
        named: bool = False,
    ) -> dict[str, Any]:
        """Return the data of a query, or with `writes` of a mutation; `named` as in `getitem`."""
        call = Call("POST", "/graphql", repeatable=not writes, named=named, route="/graphql")
        asked = await self._by_now(variables or {})
        return await self._call(
            call, lambda token: self._api.graphql_data(document, asked, token=token)
        )

    async def _get(
        self, url: str, url_vars: Vars | None, *, named: bool = False
    ) -> tuple[Any, str | None]:
        url_vars = await self._by_now(url_vars) if url_vars else None
        call = Call("GET", _path(url, url_vars), repeatable=True, named=named, route=_route(url))
        return await self._call(
            call, lambda token: self._api.send("GET", url, url_vars=url_vars, token=token)
        )

    async def _write(
        self, method: str, url: str, url_vars: Vars | None, data: Any, *, yielding: bool = False
    ) -> Any:
        url_vars = await self._by_now(url_vars) if url_vars else None
        call = Call(method, _path(url, url_vars), repeatable=False, route=_route(url))
        answer, _ = await self._call(
            call,
            lambda token: self._api.send(method, url, url_vars=url_vars, data=data, token=token),
            yielding=yielding,
        )
        return answer

    async def _by_now(self, asked: Vars) -> Vars:
        """Return the same about the repository as it is called by now."""
        place = "repo" if "repo" in asked else "name"
        if self._called is None or "owner" not in asked or place not in asked:
            return asked
        owner, name = await self._called(asked["owner"], asked[place])
        return {**asked, "owner": owner, place: name}

    async def _call(
        self, call: Call, send: Callable[[str], Awaitable[T]], *, yielding: bool = False
    ) -> T:
        tries, reminted = 0, not self._tokens.renewable
        while True:
            token = await self._tokens.get()
            tries += 1
            try:
                async with self._turn(call, yielding=yielding) as asked_at:
                    if self._permit is not None and not call.repeatable:
                        await self._permit()
                    with span(f"github {call.method}", kind=CLIENT, url__template=call.route):
                        answer = await send(token.value)
            except RequestFailed as refused:
                remint = await self._recover(
                    call, refused, token, tries, reminted=reminted, asked_at=asked_at
                )
            else:
                self._pace.record_success(asked_at)
                return answer
            if remint:
                self._tokens.reject_token(token)
                tries, reminted = 0, True

    def _turn(self, call: Call, *, yielding: bool) -> AbstractAsyncContextManager[float]:
        return self._pace.read() if call.repeatable else self._pace.write(yielding=yielding)

    async def _recover(
        self,
        call: Call,
        refused: RequestFailed,
        token: Token,
        tries: int,
        *,
        reminted: bool,
        asked_at: float,
    ) -> bool:
        """Wait until the call may be made again and return whether with a new token; or raise."""
        reply = refused.reply
        strikes = self._pace.strikes_at(asked_at)
        wait = limit_wait(reply, strikes=strikes, now=self._broker.get_time())
        if wait is not None:
            self._pace.hold(wait, asked_at)
            if call.repeatable and tries < TRIES and wait <= PATIENCE:
                return False  # the next turn comes after the pause
            raise to_error(call, reply, wait=wait) from refused
        retry = plan_retry(
            call, reply, tries=tries, token_age=self._broker.age(token), reminted=reminted
        )
        if retry is None:
            raise to_error(call, reply) from refused
        await self._sleep(retry.after)
        return retry.remint


def _path(url: str, url_vars: Vars | None) -> str:
    return urlsplit(sansio.format_url(url, url_vars)).path


def _route(url: str) -> str:
    """Return what the path is made from: branches, labels and files are called as people like."""
    return urlsplit(url).path.partition("{?")[0]
