"""The simulated GitHub's accounts: users, organisations, Apps, roles, labels and reactions."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypedDict

WEB_FLOW = "web-flow"  # who commits what GitHub itself commits for others
GITHUB_EMAIL = "noreply@github.com"
BASE_PERMISSION = {"maintain": "write", "triage": "read"}  # how GitHub folds `role_name`


class CreationFields(TypedDict):
    """The fields that GitHub gives to everything that is created."""

    id: int
    created_at: datetime


@dataclass(eq=False, kw_only=True)
class Thing:
    """Anything GitHub gives an id."""

    id: int
    created_at: datetime

    prefix = "X"

    @property
    def node_id(self) -> str:
        """Return the opaque id that GraphQL uses."""
        return f"{self.prefix}_kw{base64.urlsafe_b64encode(str(self.id).encode()).decode()}"


@dataclass(eq=False, kw_only=True)
class Account(Thing):
    """A person, an organization, or the bot user of an App."""

    login: str
    kind: Literal["User", "Organization", "Bot"] = "User"
    name: str | None = None

    prefix = "U"

    @property
    def email(self) -> str:
        """Return the address that ties a commit to this account."""
        if self.login == WEB_FLOW:
            return GITHUB_EMAIL
        return f"{self.id}+{self.login}@users.noreply.github.com"


@dataclass(eq=False, kw_only=True)
class App(Thing):
    """A GitHub App: who it is, what it may ask for, where its webhooks go."""

    slug: str
    owner: Account
    bot: Account
    public_key: str
    permissions: dict[str, str]
    events: list[str]
    webhook_url: str | None
    webhook_secret: str
    hook_id: int
    client_secret: str = field(default_factory=lambda: secrets.token_hex(20))
    callback_urls: list[str] = field(default_factory=list)
    device_flow: bool = False
    """Whether its owner has ticked "Enable Device Flow", which no manifest can."""

    prefix = "A"

    @property
    def client_id(self) -> str:
        """Return the other id that may stand in a JWT's `iss`."""
        return f"Iv23li{self.id:014d}"


@dataclass(frozen=True)
class Actor:
    """Who does something: an account, and the App it acts through if any."""

    account: Account
    app: App | None = None


@dataclass(eq=False, kw_only=True)
class Label(Thing):
    """A label of a repository."""

    name: str
    color: str = "ededed"
    description: str | None = None

    prefix = "LA"


@dataclass(eq=False, kw_only=True)
class Reaction(Thing):
    """An emoji under an issue or a comment."""

    user: Account
    content: str

    prefix = "REA"


@dataclass(frozen=True)
class Role:
    """What a person may do in a repository; `name` may be a custom role on top of `base`."""

    name: str
    base: str

    @property
    def permission(self) -> str:
        """Return the folded value that GitHub calls `permission`."""
        return BASE_PERMISSION.get(self.base, self.base)
