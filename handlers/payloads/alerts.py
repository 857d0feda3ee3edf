"""Views of a Dependabot alert: the fields that Fettle reads, in deliveries and in lists alike.

Writers of a repository name its folders, and advisories name packages: both are hostile.
https://docs.github.com/rest/dependabot/alerts
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from agents.requests import AlertSummary, Severity, folder_of_manifest
from handlers.payloads.common import Account, Id, Installation, RepositoryView, Url, View

MOST_PACKAGE = 300
MOST_PATH = 1000

Ecosystem = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]


class PackageView(View):
    """The package of an alert."""

    ecosystem: Ecosystem
    name: str


class Dependency(View):
    """Where the repository needs the package."""

    package: PackageView
    manifest_path: str
    scope: Literal["runtime", "development"] | None = None


class FirstPatched(View):
    """The first version without the weakness."""

    identifier: str


class Vulnerability(View):
    """The severity, and the vulnerable versions."""

    severity: Severity
    vulnerable_version_range: str = ""
    first_patched_version: FirstPatched | None = None


class AlertView(View):
    """One alert."""

    number: Id
    state: Literal["open", "fixed", "dismissed", "auto_dismissed"]
    dependency: Dependency
    security_vulnerability: Vulnerability
    html_url: Url

    @property
    def package(self) -> str:
        """Return the name of the package."""
        return self.dependency.package.name

    @property
    def ecosystem(self) -> str:
        """Return GitHub's name for where the package is from."""
        return self.dependency.package.ecosystem

    @property
    def directory(self) -> str:
        """Return the folder of the manifest; empty for the repository's root."""
        return folder_of_manifest(self.ecosystem, self.dependency.manifest_path)

    @property
    def severity_told(self) -> AlertSummary:
        """Return what the policy judges by: severity and scope."""
        severity, scope = self.security_vulnerability.severity, self.dependency.scope or ""
        return AlertSummary(alert=self.number, severity=severity, scope=scope)

    @property
    def fault(self) -> str:
        """Return why nothing can be done about an alert of such names; empty where it can."""
        if not _nameable(self.package, MOST_PACKAGE) or " " in self.package:
            return "the alert's package has a name that no package can have"
        path = self.dependency.manifest_path.strip("/")
        if not _nameable(path, MOST_PATH) or ".git" in path.lower().split("/"):
            return "the alert's manifest has a name that no file of a repository should have"
        return ""


class AlertChanged(View):
    """`dependabot_alert` with any action."""

    alert: AlertView
    repository: RepositoryView
    sender: Account | None = None
    installation: Installation | None = None


def _nameable(name: str, most: int) -> bool:
    """Tell whether a path of at most `most` characters stays in its folder and is printable."""
    parts = set(name.split("/"))
    return 0 < len(name) <= most and name.isprintable() and not {"", ".", ".."} & parts
