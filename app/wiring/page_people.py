"""What the pages ask GitHub about people: who signs in, what they may see, what they may do.

Whether somebody may decide or steer is told by the same rules as for a comment.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode

from cachetools import TTLCache
from cryptography.fernet import Fernet, InvalidToken

from agents.errors import ConfigError, RunError
from agents.policy import Found
from agents.requests import Command, Person, Repository
from app.commands.context import CommandContext
from app.commands.handler import SpendingBounds
from app.config.settings import Settings
from app.config.values import CALLBACK
from app.github.access.roles import role_of
from app.github.policy.file import read_policy
from app.github.transport import GitHub, InstallationGone, NotFound, NotPermitted, Profile
from app.github.transport.oauth import DeviceSignIn, OAuthClient
from app.pages.page_context import ReadPolicyById
from app.pages.people import PageAccess, PageReach, PageVerb
from app.records.approvals import StoredApproval
from app.records.installations import KnownRepository
from app.store.database import Database
from app.store.installations import StoredInstallations
from app.store.runs import KeptRun, StoredApprovals
from handlers.access import approvals as answering
from handlers.access import policy as access_policy
from handlers.access import steering
from handlers.access.issues import Refusal
from handlers.access.steering import LaneFacts

MOST_KNOWN, KNOWN_SECONDS = 10_000, 60.0
"""Answers about who may read what, and for how long each is used."""
FREE = frozenset({"deny", "cancel"})
"""What whoever may write may do, whatever the policy says: neither makes anything happen."""
DEVICES, DEVICE_SECONDS = b"sign-ins of devices", 1_800
UNKNOWN_DEVICE = "Nobody waits with this, or no more. Begin again with `fettle login`."
UNREACHABLE = "Nothing was done: the App is not installed on this repository any more."

NO_CLIENT = (
    "FETTLE_PAGES=people lets people sign in with GitHub, which takes FETTLE_CLIENT_ID and"
    " FETTLE_CLIENT_SECRET: both are on the App's page at GitHub, where the callback address of"
    f" the pages, <FETTLE_PAGES_URL>{CALLBACK}, has to be entered too. `fettle setup --pages-url`"
    " does both for a new App."
)


class GitHubPeople:
    """The port People, over the App's installations and its own sign-in."""

    def __init__(
        self, github: GitHub, database: Database, oauth: OAuthClient, bounds: SpendingBounds
    ) -> None:
        self._github = github
        self._stored = StoredInstallations(database)
        self._approvals = StoredApprovals(database)
        self._bounds = bounds
        self._known: TTLCache[tuple[int, int], PageReach] = TTLCache(MOST_KNOWN, KNOWN_SECONDS)
        self.build_sign_in_url = oauth.build_sign_in_url
        self.identify = oauth.identify
        self._oauth = oauth
        secret = oauth.client_secret.get_secret_value().encode()
        self._sealing = Fernet(urlsafe_b64encode(hmac.digest(secret, DEVICES, "sha256")))

    async def begin_device(self) -> DeviceSignIn:
        """Have GitHub give a code that somebody types there; what asks for more is sealed."""
        given = await self._oauth.begin_device()
        sealed = self._sealing.encrypt(given.device_code.encode()).decode()
        return given.model_copy(update={"device_code": sealed})

    async def finish_device(self, device_code: str) -> Person | None:
        """Return who typed the code; None while nobody has. Raises RunError."""
        try:
            opened = self._sealing.decrypt(device_code.encode(errors="replace"), ttl=DEVICE_SECONDS)
        except InvalidToken:
            raise RunError(UNKNOWN_DEVICE) from None
        return await self._oauth.finish_device(opened.decode())

    async def find_reach(self, person: Person, repository_id: int) -> PageReach:
        """Return what the person can do in the repository; an answer is used for a minute."""
        key = (person.id, repository_id)
        if (known := self._known.get(key)) is None:
            known = self._known[key] = await self._ask_for_reach(person, repository_id)
        return known

    async def find_objection(
        self, person: Person, verb: PageVerb, run: KeptRun, approval: StoredApproval | None
    ) -> str | None:
        """Return why the person may not do this to the run now, or None. GitHub is asked anew."""
        known = await self._find_repository(run.repository_id)
        if known is None:
            return UNREACHABLE
        command = Command(
            installation_id=known.installation_id,
            repository=_to_repository(known),
            number=approval.number if approval else run.number,
            verb=verb,
            approval=approval.id if approval else "",
            usd=self._bounds.run if verb == "budget" else None,
            asked_by=person,
            via="page",
            url="",
        )
        try:
            refusal = await self._judge(command, approval)
        except (InstallationGone, NotFound, NotPermitted):
            return UNREACHABLE
        return refusal.text if refusal else None

    async def _judge(self, command: Command, approval: StoredApproval | None) -> Refusal | None:
        """Return what speaks against the command, by the rules for comments."""
        client = await self._github.installation(
            command.installation_id, command.repository.id, Profile.REPORT
        )
        context = CommandContext(client, await self._github.identity(client), command, ident="")
        if approval is not None:
            facts = await context.about_approval(approval, await self._approvals.list_waiting())
            refusal = answering.decide(command, facts)
        else:
            facts = await context.about_asker()
            most = self._bounds.run
            # The page holds what is granted, and looks whether another run is under way.
            again = command.verb == "retry"
            standing = LaneFacts(live=not again, ended=again, room=most, most=most)
            refusal = steering.decide(command, facts, standing)
        if refusal is None and command.verb not in FREE:
            found = await read_policy(self._github, command.installation_id, command.repository)
            role, permission = facts.role_name, facts.permission
            refusal = access_policy.decide_command(command, found, role, permission)
        return refusal

    async def _ask_for_reach(self, person: Person, repository_id: int) -> PageReach:
        known = await self._find_repository(repository_id)
        if known is None:
            return "none"
        try:
            client = await self._github.installation(known.installation_id, known.id, Profile.FIND)
            role = await role_of(client, _to_repository(known), person)
        except (InstallationGone, NotFound, NotPermitted):
            return "none"
        if role.may_write:
            return "write"
        return "none" if role.is_bot or role.permission in ("", "none") else "read"

    async def _find_repository(self, repository_id: int) -> KnownRepository | None:
        known = await self._stored.repository(repository_id) if repository_id else None
        return known if known is not None and known.removed_at is None else None


def make_policy_reader(github: GitHub, database: Database) -> ReadPolicyById:
    """Return what reads the policy that holds in a repository; an answer is used for a minute."""
    stored = StoredInstallations(database)
    known: TTLCache[int, Found | None] = TTLCache(MOST_KNOWN, KNOWN_SECONDS)

    async def read(repository_id: int) -> Found | None:
        if repository_id not in known:
            found = await stored.repository(repository_id)
            if found is None or found.removed_at is not None:
                return None
            where = _to_repository(found)
            known[repository_id] = await read_policy(github, found.installation_id, where)
        return known[repository_id]

    return read


def build_access(
    settings: Settings, github: GitHub, database: Database, bounds: SpendingBounds
) -> PageAccess:
    """Return who may come in to the pages, and for what. Raises ConfigError."""
    if settings.pages != "people":
        return PageAccess()
    if settings.client_id is None or settings.client_secret is None:
        raise ConfigError(NO_CLIENT)
    oauth = OAuthClient(github.urls, settings.client_id, settings.client_secret)
    people = GitHubPeople(github, database, oauth, bounds)
    return PageAccess(people, frozenset(settings.operators))


def _to_repository(known: KnownRepository) -> Repository:
    return Repository(
        id=known.id,
        owner=known.owner,
        name=known.name,
        default_branch=known.default_branch,
        private=known.private,
    )
