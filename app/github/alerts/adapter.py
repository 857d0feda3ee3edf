"""The port `Alerts`: Dependabot alerts, their advisories, and who else works on them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import get_args

from agents.errors import RunError
from agents.ports import Advisory, AlertState, Knowledge, OtherPull
from agents.requests import RemediateAlert, Repository
from app.github.access.run_reader import REPOSITORY, RunReader, asked_at
from app.github.alerts.advisories import Advisories
from app.github.alerts.schema import alert_in, ecosystem_name, is_package, same_package
from app.github.pulls.competing import CompetingPullRequests, EarlierRuns
from app.github.transport import (
    SETTLE,
    GitHub,
    InstallationClient,
    InstallationGone,
    MarkedComments,
    NotFound,
    NotPermitted,
    OutgoingText,
    Profile,
    TooManyPages,
)
from app.secrets.redaction import Redactor

ALERTS = f"{REPOSITORY}/dependabot/alerts"
LISTED = f"{ALERTS}{{?state,ecosystem,package}}"
ALERT = f"{ALERTS}/{{number}}"
PULL = f"{REPOSITORY}/pulls/{{number}}"
PAGES = 20
"""Pages of a hundred alerts each, about one package."""
MOST_NUMBERED = 200
"""Alerts that are asked for one by one."""

FILTERS = frozenset({"composer", "go", "maven", "npm", "nuget", "pip", "pub", "rubygems", "rust"})
"""Ecosystems that GitHub lets one ask for; what is of another is sorted out here.

https://docs.github.com/rest/dependabot/alerts
"""

MARK = "alerts"
"""Stands for a run's id in markers, so that the next run replaces this one's comment."""

STATES: tuple[AlertState, ...] = get_args(AlertState)

_NO_PACKAGE = "{package!r} cannot be the name of a package, so nothing was asked about it."
_TOO_MANY = (
    "There are more open alerts about `{package}` in {repository} than Fettle reads ({most:,}), and"
    " a fix has to be held against all of them. Dismiss those that do not apply, or split the"
    " repository's manifests, then ask again."
)
_MANY_CLOSED = (
    "The override of `{package}` in {repository} was made for more alerts than Fettle reads one by"
    " one ({most:,}), so nothing can say whether it is needed."
)
_STRANGE = "GitHub calls the state of alert {number} something that Fettle does not know."

_DISABLED = (
    "Dependabot alerts are switched off for {repository}, so there is nothing to mend. Whoever"
    " administers the repository switches them on in its settings, under Advanced Security (in"
    " older versions: Code security), then Dependabot alerts. GitHub finds alerts within minutes."
)
_ARCHIVED = (
    "{repository} is archived, and GitHub has no alerts for archived repositories. Whoever"
    " administers it can unarchive it in its settings."
)
_NOT_PERMITTED = (
    "The App may not read the Dependabot alerts of {repository}. It takes two steps. Whoever runs"
    " Fettle: in the App's settings, under Permissions & events, give the repository permission"
    " `Dependabot alerts` the access `Read-only`. Then an owner of `{owner}`: in the settings of"
    " that account, under GitHub Apps, review the request next to the App and accept the new"
    " permission. After that, ask again."
)


class GitHubAlerts:
    """Reads alerts with the token profiles `alerts` and `read`, and comments with `report`."""

    def __init__(
        self,
        github: GitHub,
        request: RemediateAlert,
        run_id: str,
        redactor: Redactor,
        *,
        earlier: EarlierRuns,
        settle: float = SETTLE,
    ) -> None:
        self._github = github
        self._request = request
        self._redactor = redactor
        self._settle = settle
        self._wording = OutgoingText(github.urls, request, redactor)
        self._reading = RunReader.for_run(github, request, asked_at(run_id))
        self._advisories = Advisories(self._alerts_client, redactor.clean)
        self._others = CompetingPullRequests(self._reading, request, earlier)
        self._earlier = earlier

    async def open(self, ecosystem: str, package: str) -> tuple[Advisory, ...]:
        """Return the open alerts about this package in all folders, newest first.

        Undisclosed advisories are looked up only for public repositories.
        """
        return await self._with_secrets(await self._open(ecosystem_name(ecosystem), package))

    async def open_in_folder(self, ecosystem: str, directory: str) -> tuple[Advisory, ...]:
        """Return the open alerts of a folder, of all packages, newest first.

        Without those whose fix people declined. Where there are more than Fettle reads, those of
        the pages that it read: what is left over has runs of its own.
        """
        wanted = ecosystem_name(ecosystem)
        declined = await self._earlier.list_declined(self._request.repository.id)
        asked = {"state": "open"} | ({"ecosystem": wanted} if wanted in FILTERS else {})
        found = await self._list(wanted, asked, whole=False)
        here = [each for each in found if each.directory == directory.strip("/")]
        return await self._with_secrets([each for each in here if each.alert not in declined])

    async def _with_secrets(self, found: list[Advisory]) -> tuple[Advisory, ...]:
        """Return them with which of them the public must not learn of yet."""
        if self._request.repository.private or not found:
            return tuple(found)
        secret = await self._advisories.find_undisclosed({each.ghsa_id for each in found})
        return tuple(
            each.model_copy(update={"undisclosed": each.ghsa_id in secret}) for each in found
        )

    async def find_by_numbers(self, alerts: Collection[int]) -> tuple[Advisory, ...]:
        """Return the alerts of these numbers in any state; deleted ones are left out."""
        client, found, wanted = await self._alerts_client(), [], sorted(set(alerts))
        if len(wanted) > MOST_NUMBERED:
            package = self._request.package
            raise RunError(self._name_repository(_MANY_CLOSED, package=package, most=MOST_NUMBERED))
        for number in wanted:
            try:
                said = await client.getitem(ALERT, self._reading.url_variables(number=int(number)))
            except NotFound:
                continue
            except NotPermitted as error:
                raise self._to_refusal(error) from error
            alert = alert_in(said, self._redactor.clean, closed=True)
            if alert is not None:
                found.append(alert)
        return await self._with_secrets(found)

    async def state(self, alert: int) -> AlertState:
        """Return the present state of this alert."""
        client = await self._alerts_client()
        try:
            found = await client.getitem(ALERT, self._reading.url_variables(number=int(alert)))
        except NotPermitted as error:
            raise self._to_refusal(error) from error
        said = found.get("state") if isinstance(found, dict) else None
        for state in STATES:
            if said == state:
                return state
        raise RunError(_STRANGE.format(number=int(alert)))

    async def find_open_pulls(
        self, ecosystem: str, package: str, directory: str
    ) -> tuple[OtherPull, ...]:
        """Return the open pull requests for this package in this folder, newest first."""
        return await self._others.read(ecosystem_name(ecosystem), package, directory.strip("/"))

    async def find_published(
        self, ecosystem: str, versions: Collection[tuple[str, str]]
    ) -> Knowledge:
        """Return the published advisories that affect any of these (package, version) pairs."""
        return await self._advisories.find_published(ecosystem_name(ecosystem), versions)

    async def say(self, pull: int, key: str, body: str) -> str:
        """Post a comment on that pull request once; return its URL.

        The same key replaces the text of an earlier comment, also that of an earlier run about the
        package.
        """
        there = self._request.model_copy(update={"number": pull})
        comments = MarkedComments(self._github, there, MARK, settle=self._settle)
        place = hashlib.sha256(self._request.lane.encode()).hexdigest()[:16]
        text = await self._wording.publish(body)
        posted = await comments.say(f"{key}-{place}", text)
        if posted.text != text:
            await comments.change(posted.id, f"{key}-{place}", text, yielding=False)
        return posted.url

    async def close_pull(self, pull: int, key: str, body: str) -> None:
        """Comment on the pull request, close it, and record that nobody declined it."""
        await self.say(pull, key, body)
        request = self._request
        async with self._github.lease_client(
            request.installation_id, request.repository.id, Profile.PULLS
        ) as client:
            where = self._reading.url_variables(number=pull)
            await client.patch(PULL, where, data={"state": "closed"})
        await self._earlier.replace(request.repository.id, pull)

    async def _open(self, ecosystem: str, package: str) -> list[Advisory]:
        if not is_package(package):
            raise RunError(_NO_PACKAGE.format(package=package[:80]))
        asked = {"state": "open", "package": package}
        if ecosystem in FILTERS:
            asked["ecosystem"] = ecosystem
        try:
            found = await self._list(ecosystem, asked)
        except TooManyPages as error:
            raise RunError(
                self._name_repository(_TOO_MANY, package=package, most=PAGES * 100)
            ) from error
        return [each for each in found if same_package(ecosystem, each.package, package)]

    async def _list(
        self, ecosystem: str, asked: Mapping[str, str], *, whole: bool = True
    ) -> list[Advisory]:
        """Return the alerts of an ecosystem; `whole`: raise TooManyPages where some are left."""
        client, found = await self._alerts_client(), []
        try:
            where = self._reading.url_variables(**asked)
            async for each in client.getiter(LISTED, where, pages=PAGES):
                alert = alert_in(each, self._redactor.clean)
                if alert is not None and alert.ecosystem == ecosystem:
                    found.append(alert)
        except TooManyPages:
            if whole:
                raise
        except NotPermitted as error:
            raise self._to_refusal(error) from error
        return found

    async def _alerts_client(self) -> InstallationClient:
        """Return a client that can read the alerts, and nothing else."""
        try:
            return await self._reading.client(Profile.ALERTS)
        except InstallationGone:
            raise
        except NotPermitted as error:  # the permission is asked for, but not accepted yet
            raise self._to_refusal(error) from error

    def _to_refusal(self, error: NotPermitted) -> RunError:
        return alert_refusal(error, self._request.repository)

    def _name_repository(self, text: str, **more: object) -> str:
        return text.format(repository=f"`{self._request.repository.full_name}`", **more)


class NoAlerts(RunError):
    """GitHub has no alerts: they are switched off, or the repository is archived."""


def alert_refusal(error: NotPermitted, repository: Repository) -> RunError:
    """Return the error that tells people how to let Fettle read the alerts.

    https://docs.github.com/rest/dependabot/alerts
    """
    said = str(error).lower()
    named = {"repository": f"`{repository.full_name}`", "owner": repository.owner}
    if "disabled" in said:
        return NoAlerts(_DISABLED.format(**named))
    if "archived" in said:
        return NoAlerts(_ARCHIVED.format(**named))
    return RunError(_NOT_PERMITTED.format(**named))
