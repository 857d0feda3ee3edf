"""HTTP calls that are signed as the App, before any installation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from math import inf
from typing import Any

from agents.errors import FettleError
from app.github.transport.app_jwt import AppJwt
from app.github.transport.errors import to_error
from app.github.transport.http import HttpApi, RequestFailed
from app.github.transport.rate_limits import TRIES, Call, Reply, limit_wait, plan_retry

Meaning = Callable[[Call, Reply], FettleError]


class AppClient:
    """Calls GitHub as the App. Each call here may be repeated without harm."""

    def __init__(
        self,
        api: HttpApi,
        jwt: AppJwt,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.jwt = jwt
        self._api = api
        self._sleep = sleep

    async def request(
        self,
        method: str,
        path: str,
        *,
        url_vars: Mapping[str, Any] | None = None,
        data: Any = b"",
        meaning: Meaning = to_error,
    ) -> Any:
        """Return the decoded answer. Raises the error that `meaning` makes of a refusal."""
        answer, _ = await self._exchange(method, path, url_vars, data, meaning)
        return answer

    async def page(self, path: str, url_vars: Mapping[str, Any]) -> tuple[Any, str | None]:
        """Return one page of a list, and the next page's address; None at the end.

        https://docs.github.com/rest/using-the-rest-api/using-pagination-in-the-rest-api
        """
        return await self._exchange("GET", path, url_vars, b"", to_error)

    async def _exchange(
        self,
        method: str,
        path: str,
        url_vars: Mapping[str, Any] | None,
        data: Any,
        meaning: Meaning,
    ) -> tuple[Any, str | None]:
        call = Call(method, path, repeatable=True, as_app=True)
        for tries in count(1):
            try:
                return await self._api.send(
                    method, path, url_vars=url_vars, data=data, jwt=self.jwt.token()
                )
            except RequestFailed as refused:
                await self._sleep(self._wait(call, refused, tries, meaning))
        raise AssertionError("counting has no end")

    def _wait(self, call: Call, refused: RequestFailed, tries: int, meaning: Meaning) -> float:
        """Return for how long to wait before the next try, or raise what the refusal means."""
        reply = refused.reply
        if tries < TRIES and _blames_clock(reply) and self.jwt.set_clock(reply.headers.get("date")):
            return 0
        if tries < TRIES and reply.status == 401 and self.jwt.renew():
            return 0
        wait = limit_wait(reply, strikes=0, now=self.jwt.get_time())
        if wait is not None:
            raise to_error(call, reply, wait=wait) from refused
        retry = plan_retry(call, reply, tries=tries, token_age=inf, reminted=True)
        if retry is None:
            raise meaning(call, reply) from refused
        return retry.after


def _blames_clock(reply: Reply) -> bool:
    said = reply.message.lower()
    return reply.status == 401 and any(word in said for word in ("'iat'", "'exp'", "expir"))
