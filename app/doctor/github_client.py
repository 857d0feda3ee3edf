"""GitHub as the doctor asks it: as the App, and only to read."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import Any

from app.config.settings import AppCredentials
from app.github.transport import Urls
from app.github.transport.app_client import AppClient
from app.github.transport.app_jwt import AppJwt
from app.github.transport.http import HttpApi
from app.network.outbound import DIRECT, Outbound

MOST_PAGES = 20


class DoctorClient:
    """Asks; a call that has no answer is repeated as everywhere else."""

    def __init__(
        self,
        api: HttpApi,
        jwt: AppJwt,
        urls: Urls,
        sleep: Callable[[float], Awaitable[object]] | None,
    ) -> None:
        self.urls = urls
        self._api = api
        self._client = AppClient(api, jwt, **({"sleep": sleep} if sleep else {}))

    async def get(self, path: str) -> Any:
        """Return the answer. Raises what a refusal means (FettleError)."""
        return await self._client.request("GET", path)

    async def list_all(self, path: str) -> list[Any]:
        """Return the items of all pages, up to a bound."""
        found, more = await self._client.page(f"{path}{{?per_page}}", {"per_page": "100"})
        for _ in range(MOST_PAGES - 1):
            if more is None:
                break
            page, more = await self._client.page(more, {})
            found += page
        return list(found)

    @property
    def skew(self) -> float | None:
        """Return by how many seconds this machine's clock is ahead of GitHub's."""
        try:
            theirs = parsedate_to_datetime(self._api.date or "").timestamp()
        except ValueError:
            return None
        return time.time() - theirs


@asynccontextmanager
async def open_client(
    github_url: str,
    credentials: AppCredentials,
    outbound: Outbound = DIRECT,
    *,
    sleep: Callable[[float], Awaitable[object]] | None = None,
) -> AsyncIterator[DoctorClient]:
    """Hold the connection open. Raises ConfigError for a wrong address or key."""
    urls = Urls.from_web_url(github_url, outbound)
    jwt = AppJwt(credentials.app_id, credentials.private_key.get_secret_value())
    async with urls.outbound.open_session() as session:
        yield DoctorClient(HttpApi(session, urls), jwt, urls, sleep)
