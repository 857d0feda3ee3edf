"""GitHub as the doctor asks it: as the App or an installation of it, and only to read."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from email.utils import parsedate_to_datetime
from typing import Any

from app.config.settings import AppCredentials
from app.github.transport import Urls
from app.github.transport.app_client import AppClient
from app.github.transport.app_jwt import AppJwt
from app.github.transport.http import HttpApi, RequestFailed
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

    @asynccontextmanager
    async def enter(self, installation: int) -> AsyncIterator[InsideInstallation]:
        """Ask as an installation, by a token that can read names and rules and is given back."""
        path = f"/app/installations/{installation}/access_tokens"
        made = await self._client.request("POST", path, data={"permissions": {"metadata": "read"}})
        try:
            yield InsideInstallation(self._api, made["token"])
        finally:
            with suppress(RequestFailed):
                await self._api.send("DELETE", "/installation/token", token=made["token"])

    @property
    def skew(self) -> float | None:
        """Return by how many seconds this machine's clock is ahead of GitHub's."""
        try:
            theirs = parsedate_to_datetime(self._api.date or "").timestamp()
        except ValueError:
            return None
        return time.time() - theirs


class InsideInstallation:
    """Asks as one installation. Its refusals (RequestFailed) are not tried again."""

    def __init__(self, api: HttpApi, token: str) -> None:
        self._api = api
        self._token = token

    async def get(self, path: str, url_vars: Mapping[str, str]) -> Any:
        """Return the answer."""
        answer, _ = await self._api.send("GET", path, url_vars=url_vars, token=self._token)
        return answer

    async def list_repositories(self) -> list[Any]:
        """Return what the App is installed on there, the first hundred."""
        return list((await self.get("/installation/repositories?per_page=100", {}))["repositories"])


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
