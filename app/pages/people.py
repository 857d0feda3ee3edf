"""What pages know of people from GitHub: a port, and what it answers for operators."""

from __future__ import annotations

from typing import Literal, Protocol

from agents.requests import Person, RemediateAlert
from app.github.transport.oauth import DeviceSignIn
from app.records.approvals import StoredApproval
from app.store.pages.logins import PageLogin
from app.store.pages.tokens import ApiToken
from app.store.runs import KeptRun

PageReach = Literal["none", "read", "write"]
ABOUT_ALERTS = RemediateAlert.model_fields["kind"].default
PageVerb = Literal["approve", "deny", "cancel", "budget", "remark", "retry"]


class People(Protocol):
    """Asks GitHub about people. All raise TransientError where it does not answer."""

    def build_sign_in_url(self, redirect_uri: str, state: str, verifier: str) -> str:
        """Return the page of GitHub where somebody signs in."""
        ...

    async def identify(self, code: str, redirect_uri: str, verifier: str) -> Person:
        """Return who came back from there. Raises RunError where GitHub says no."""
        ...

    async def begin_device(self) -> DeviceSignIn:
        """Have GitHub give a code that somebody types there. Raises RunError where it may not.

        Its `device_code` is sealed: whoever holds it can bring it back here, and no more.
        """
        ...

    async def finish_device(self, device_code: str) -> Person | None:
        """Return who typed the code; None while nobody has. Raises RunError where GitHub says no.

        `device_code` is as `begin_device` gave it.
        """
        ...

    async def find_reach(self, person: Person, repository_id: int) -> PageReach:
        """Return what the person can do in the repository; an answer is used for a minute."""
        ...

    async def find_objection(
        self, person: Person, verb: PageVerb, run: KeptRun, approval: StoredApproval | None
    ) -> str | None:
        """Return why the person may not do this to the run now, or None. GitHub is asked anew."""
        ...


class PageAccess:
    """Who sees and does what: operators everything, people what GitHub and the policy let them."""

    def __init__(
        self, people: People | None = None, operators: frozenset[str] = frozenset()
    ) -> None:
        """`operators`: logins or ids on GitHub. Without `people`, operators alone come in."""
        self.people = people
        self._operators = frozenset(each.lower() for each in operators)

    def is_operator(self, login: PageLogin) -> bool:
        """Tell whether it is an operator: by a code of the machine, or named in the settings."""
        if login.token is not None:
            return login.token.repositories is None
        person = login.person
        if person is None:
            return True
        return not self._operators.isdisjoint((person.login.lower(), str(person.id)))

    async def can_see(self, login: PageLogin, run: KeptRun) -> bool:
        """Tell whether they may see the run.

        One about alerts says what is vulnerable, and that GitHub shows who may write alone, of a
        public repository too.
        https://docs.github.com/code-security/dependabot/dependabot-alerts/about-dependabot-alerts
        """
        if login.token is not None:
            return _covers(login.token, run)
        if self.is_operator(login):
            return True
        if self.people is None or login.person is None:
            return False  # the setting was changed since they logged in
        reach = await self.people.find_reach(login.person, run.repository_id)
        return reach == "write" or (reach == "read" and run.kind != ABOUT_ALERTS)

    async def find_objection(
        self, login: PageLogin, verb: PageVerb, run: KeptRun, approval: StoredApproval | None = None
    ) -> str | None:
        """Return why they may not do this, or None."""
        if login.token is not None:
            return _object_to_program(login.token, verb)
        if self.is_operator(login):
            return None
        if self.people is None or login.person is None:
            return "Nothing was done: these pages are for operators alone now."
        return await self.people.find_objection(login.person, verb, run, approval)


def _covers(token: ApiToken, run: KeptRun) -> bool:
    """Tell whether the run is one of those that the token is for."""
    if run.kind == ABOUT_ALERTS and "alerts" not in token.rights:
        return False
    return token.repositories is None or run.repository_id in token.repositories


def _object_to_program(token: ApiToken, verb: PageVerb) -> str | None:
    """Return why a program may not do this, or None."""
    if verb in ("approve", "deny"):
        return "Nothing was done: a person decides, on the page or by a comment, and no token."
    if verb == "retry":
        return "Nothing was done: a person has work begin, on the page or on GitHub, and no token."
    if "steer" not in token.rights:
        return "Nothing was done: this token may read. Make one with `--may steer`."
    return None
