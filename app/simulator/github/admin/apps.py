"""Add accounts and register Apps without the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from app.simulator.github.accounts import Account, App
from app.simulator.github.calls import Parts
from app.simulator.github.state.world import World

PERMISSIONS: Mapping[str, str] = {
    "actions": "read",
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "read",
}
EVENTS = ("issues", "issue_comment", "check_run", "pull_request", "push")
AccountKind = Literal["User", "Organization", "Bot"]


@dataclass(frozen=True)
class AppCredentials:
    """What an operator gets when they register an App."""

    app_id: int
    client_id: str
    slug: str
    bot_id: int
    bot_login: str
    private_key: str = field(repr=False)
    webhook_secret: str = field(repr=False)
    client_secret: str = field(repr=False)


class AppsAdmin:
    """Signs up accounts, registers Apps."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.world: World = parts.world
        self.webhooks = parts.webhooks
        self.tokens = parts.tokens

    def create_user(self, login: str, *, name: str | None = None) -> Account:
        """Sign somebody up."""
        return self._account(login, name=name)

    def create_organization(self, login: str, *, name: str | None = None) -> Account:
        """Found an organization."""
        return self._account(login, kind="Organization", name=name)

    def create_app(
        self,
        slug: str,
        *,
        owner: Account | None = None,
        webhook_url: str | None = None,
        webhook_secret: str = "",
        permissions: Mapping[str, str] = PERMISSIONS,
        events: Sequence[str] = EVENTS,
        callback_urls: Sequence[str] = (),
    ) -> AppCredentials:
        """Register an App. Its webhook can be set later, once the receiver's port is known."""
        key = _key(len(self.world.apps))
        bot = self._account(f"{slug}[bot]", kind="Bot")
        app = App(
            **self.world.birth(),
            slug=slug,
            owner=owner or self.world.account("octo-owner") or self.create_user("octo-owner"),
            bot=bot,
            public_key=_public_pem(key),
            permissions=dict(permissions),
            events=list(events),
            webhook_url=webhook_url,
            webhook_secret=webhook_secret,
            hook_id=next(self.world.ids),
            callback_urls=list(callback_urls),
        )
        self.world.apps[app.id] = app
        return AppCredentials(
            app_id=app.id,
            client_id=app.client_id,
            slug=slug,
            bot_id=bot.id,
            bot_login=bot.login,
            private_key=_private_pem(key),
            webhook_secret=webhook_secret,
            client_secret=app.client_secret,
        )

    async def set_webhook(self, app_id: int, url: str, secret: str | None = None) -> None:
        """Say where an App's webhooks go; GitHub pings the place."""
        app = self.world.apps[app_id]
        app.webhook_url = url
        app.webhook_secret = app.webhook_secret if secret is None else secret
        self.webhooks.ping(app)
        await self.webhooks.wait_until_settled()

    def _account(
        self, login: str, *, kind: AccountKind = "User", name: str | None = None
    ) -> Account:
        if self.world.account(login):
            raise ValueError(f"There is an account {login!r} already.")
        account = Account(**self.world.birth(), login=login, kind=kind, name=name)
        self.world.accounts[login.lower()] = account
        return account


@cache
def _key(_: int) -> rsa.RSAPrivateKey:
    """Return the key of a world's first, second ... App, the same in every world of this process.

    Making a key takes a tenth of a second, which is longer than most uses of a world.
    """
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _public_pem(key: rsa.RSAPrivateKey) -> str:
    shape = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, shape).decode()


def _private_pem(key: rsa.RSAPrivateKey) -> str:
    """Return the key as GitHub hands it out: PKCS#1 PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()
