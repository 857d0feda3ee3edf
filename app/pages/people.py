"""What pages know of people from GitHub: a port, and what it answers for operators."""

from __future__ import annotations

from typing import Literal, Protocol

from agents.requests import Person
from app.records.approvals import StoredApproval
from app.store.page_logins import PageLogin
from app.store.runs import KeptRun

PageVerb = Literal["approve", "deny", "cancel", "budget", "remark"]


class People(Protocol):
    """Asks GitHub about people. All raise TransientError where it does not answer."""

    def build_sign_in_url(self, redirect_uri: str, state: str, verifier: str) -> str:
        """Return the page of GitHub where somebody signs in."""
        ...

    async def identify(self, code: str, redirect_uri: str, verifier: str) -> Person:
        """Return who came back from there. Raises RunError where GitHub says no."""
        ...

    async def can_read(self, person: Person, repository_id: int) -> bool:
        """Tell whether the person can see the repository; an answer is used for a minute."""
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
        person = login.person
        if person is None:
            return True
        return not self._operators.isdisjoint((person.login.lower(), str(person.id)))

    async def can_read(self, login: PageLogin, repository_id: int) -> bool:
        """Tell whether they may see what Fettle did in the repository."""
        if self.is_operator(login):
            return True
        if self.people is None or login.person is None:
            return False  # the setting was changed since they logged in
        return await self.people.can_read(login.person, repository_id)

    async def find_objection(
        self, login: PageLogin, verb: PageVerb, run: KeptRun, approval: StoredApproval | None = None
    ) -> str | None:
        """Return why they may not do this, or None."""
        if self.is_operator(login):
            return None
        if self.people is None or login.person is None:
            return "Nothing was done: these pages are for operators alone now."
        return await self.people.find_objection(login.person, verb, run, approval)
