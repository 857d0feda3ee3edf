"""Take an App that is there already: its id and key, held against GitHub before they are kept."""

from __future__ import annotations

import aiohttp
from pydantic import SecretStr, ValidationError

from agents.errors import RunError
from app.github.transport.app_client import AppClient
from app.github.transport.app_jwt import AppJwt
from app.github.transport.http import HttpApi
from app.github.transport.urls import Urls
from app.registration.conversion import Registered


async def adopt(urls: Urls, app_id: str, key: SecretStr) -> Registered:
    """Return the App that GitHub knows by this id and key. Raises ConfigError when there is none.

    Raises TransientError when GitHub cannot be reached.
    """
    jwt = AppJwt(app_id, key.get_secret_value())
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        answer = await AppClient(HttpApi(session, urls), jwt).request("GET", "/app")
    try:
        return Registered.model_validate(answer)
    except ValidationError:
        raise RunError(
            f"What {urls.web} answers about the App cannot be used. Check the address."
        ) from None
