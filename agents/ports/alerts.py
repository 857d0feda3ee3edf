"""The port for Dependabot alerts: open alerts, and other bots' pull requests about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Literal, Protocol

from agents.requests import Frozen, Severity, folder_of_manifest

AlertState = Literal["open", "fixed", "dismissed", "auto_dismissed"]
"""https://docs.github.com/rest/dependabot/alerts"""


class Advisory(Frozen):
    """One alert about a package, or one advisory of GitHub's database, as GitHub tells it."""

    ghsa_id: str
    cve_id: str = ""
    severity: Severity
    package: str
    ecosystem: str
    """GitHub's name for it, like `pip` or `npm`."""
    vulnerable: str
    """The range of one alert as GitHub writes it, like `>= 3.0, < 3.1.4`."""
    first_patched: str = ""
    alert: int = 0
    """The number of the alert in its repository; 0 for an advisory without an alert here."""
    undisclosed: bool = False
    """Whether the public must not learn of it yet: titles and branches stay neutral."""
    manifest: str = ""
    """The file that the alert names."""
    scope: Literal["runtime", "development", ""] = ""
    """Who needs the package; empty: GitHub does not say, which counts as runtime."""
    summary: str = ""
    """One line by the advisory's author: untrusted, as is the description."""
    description: str = ""

    @property
    def directory(self) -> str:
        """Return the folder of the manifest: alerts of one package and folder belong together."""
        return folder_of_manifest(self.ecosystem, self.manifest)


class OtherPull(Frozen):
    """An open pull request that moves the same package: another bot's, or an earlier one of ours.

    Found by its author and by the branch names that Dependabot and Renovate document:
    https://docs.github.com/code-security/dependabot and https://docs.renovatebot.com. That it
    mends anything is for the run to find out.
    """

    number: int
    url: str
    title: str
    """Untrusted."""
    branch: str
    head: str
    base: str
    """The branch that it is to be merged into."""
    author: str
    """Login, such as `dependabot[bot]`."""
    own: bool = False
    """Fettle opened it."""
    draft: bool = False
    """People are to look at it before it may be merged."""
    foreign: bool = False
    """Its head is in another repository: a bot's never is."""
    of_package: bool = True
    """It is about the package itself; else, of Fettle's own, about others of the same folder."""
    alerts: tuple[int, ...] = ()
    """Of Fettle's own: the open alerts that it is for, where that is on record."""
    pushed_by: tuple[str, ...] = ()
    """Logins of others than its author who have pushed to its branch."""


class Knowledge(Frozen):
    """What GitHub's advisory database says of some versions."""

    complete: bool
    """Whether it could be asked about all of them."""
    advisories: tuple[Advisory, ...] = ()


class Alerts(Protocol):
    """The alerts of the run's repository. Every call may be repeated.

    What GitHub refuses raises RunError, what may pass TransientError.
    """

    async def open(self, ecosystem: str, package: str) -> tuple[Advisory, ...]:
        """Return all open alerts about this package, those of every folder.

        https://docs.github.com/rest/dependabot/alerts: read page by page to the end; withdrawn
        advisories are left out.
        """
        ...

    async def open_in_folder(self, ecosystem: str, directory: str) -> tuple[Advisory, ...]:
        """Return the open alerts about all packages of one folder that a fix may take along.

        Left out are those for which people have declined a fix: theirs to ask for again.
        """
        ...

    async def find_by_numbers(self, alerts: Collection[int]) -> tuple[Advisory, ...]:
        """Return these alerts, whatever has become of them; without those that are gone.

        https://docs.github.com/rest/dependabot/alerts: withdrawn advisories are left out here too.
        """
        ...

    async def state(self, alert: int) -> AlertState:
        """Return what has become of this alert by now."""
        ...

    async def find_open_pulls(
        self, ecosystem: str, package: str, directory: str
    ) -> tuple[OtherPull, ...]:
        """Return the open pull requests for this package in this folder, newest first.

        Among them are Fettle's own for other packages of the folder.
        """
        ...

    async def find_published(
        self, ecosystem: str, versions: Collection[tuple[str, str]]
    ) -> Knowledge:
        """Return all published advisories that affect any of these (package, version) pairs.

        https://docs.github.com/rest/security-advisories/global-advisories, its parameter
        `affects`; one entry for each package and range of an advisory.
        """
        ...

    async def say(self, pull: int, key: str, body: str) -> str:
        """Say this on that pull request once, whatever happens; return its URL.

        The same key again replaces what was said.
        """
        ...

    async def close_pull(self, pull: int, key: str, body: str) -> None:
        """Say why on a pull request of Fettle's own, and close it; one that is closed stays so.

        Nobody has declined it thereby: another one does what it did.
        """
        ...


class ActionRepository(Frozen):
    """A repository whose action workflows use."""

    name: str
    """What it is called by now, like `actions/checkout`: a former name leads there as well."""
    tags: Mapping[str, str]
    """The commit of each of its tags; of an annotated one, the commit that it is about."""


class ActionReleases(Protocol):
    """Reads releases of actions on the GitHub of the run's own repository; all may be repeated.

    What may pass raises TransientError, what GitHub refuses RunError.
    """

    async def find(self, repository: str) -> ActionRepository | None:
        """Return the repository with all its tags; None where the App can see none of that name."""
        ...

    async def find_commit(self, repository: str, tag: str) -> str:
        """Return the commit that GitHub has for this tag at this moment.

        Empty where it has none, or where a branch has the same name, so that nobody can tell which
        of the two a workflow would run.
        """
        ...

    async def holds(self, repository: str, commit: str, ref: str) -> bool:
        """Return whether a branch, tag or commit is that commit, or goes on from there."""
        ...

    async def find_day(self, repository: str, tag: str) -> date | None:
        """Return the day on which the release of this tag was published; None: nobody says."""
        ...

    async def read_notes(self, repository: str, tags: Sequence[str]) -> Mapping[str, str]:
        """Return what the releases of these tags say of themselves, by tag: anybody's words.

        Only of releases that can be read now and say something: nothing depends on it.
        """
        ...

    async def may_change_workflows(self) -> bool:
        """Return whether the owners let the App change the workflows of the run's repository."""
        ...
