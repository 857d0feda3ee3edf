"""Replace the App's webhook secret or private key, at GitHub and in the data folder."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)
from pydantic import SecretStr

from agents.errors import ConfigError
from app.github.transport import Urls
from app.github.transport.app_client import AppClient
from app.github.transport.app_deliveries import WINDOW
from app.github.transport.app_jwt import AppJwt
from app.github.transport.http import HttpApi
from app.registration.conversion import Registered, adopt

CONFIG = "/app/hook/config"
LONGER_WINDOW = 7 * 86_400.0
"""Seconds for which an Enterprise Server may bring a delivery again."""


@asynccontextmanager
async def as_app(urls: Urls, app_id: str, key: SecretStr) -> AsyncIterator[AppClient]:
    """Open a client that is authenticated as the App itself."""
    async with urls.outbound.open_session() as session:
        yield AppClient(HttpApi(session, urls), AppJwt(app_id, key.get_secret_value()))


async def tell_secret(app: AppClient, secret: str) -> None:
    """Have GitHub sign webhooks with this secret from now on.

    https://docs.github.com/rest/apps/webhooks#update-a-webhook-configuration-for-an-app
    """
    await app.request("PATCH", CONFIG, data={"secret": secret})


def window_of(urls: Urls) -> float:
    """Return for how many seconds this GitHub may redeliver a webhook."""
    host = urlsplit(urls.web).hostname or ""
    return WINDOW if host == "github.com" or host.endswith(".ghe.com") else LONGER_WINDOW


async def check_key(urls: Urls, app_id: str, old: SecretStr, new: SecretStr) -> Registered:
    """Return the App that GitHub knows by the new key. Raises ConfigError for another App's key."""
    if compute_fingerprint(old) == compute_fingerprint(new):
        raise ConfigError("That is the key which is in use already. Make another one on GitHub.")
    try:
        return await adopt(urls, app_id, new)
    except ConfigError as error:
        raise ConfigError(
            f"GitHub does not accept this key for the App {app_id}, so the old one stays. Was it"
            f" made on this App's page, and not deleted there? {error}"
        ) from None


def compute_fingerprint(key: SecretStr) -> str:
    """Return the fingerprint that GitHub shows beside a key on the App's page.

    https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/managing-private-keys-for-github-apps
    """
    private = load_pem_private_key(key.get_secret_value().encode(), password=None)
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    digest = hashlib.sha256(private.public_key().public_bytes(*form)).digest()
    return f"SHA256:{base64.b64encode(digest).decode()}"
