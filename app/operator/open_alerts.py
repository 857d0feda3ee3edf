"""The open alerts of one repository, put together as they are mended: by package and folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from agents.errors import ConfigError, RunError
from agents.pipelines.remediate.ladder import Group
from agents.ports import Advisory
from agents.requests import Severity
from app.github.alerts.adapter import alert_refusal
from app.github.alerts.schema import alert_in
from app.github.transport import GitHub, NotPermitted, Profile, TooManyPages
from app.operator.remediation_report import SEVERITIES, find_highest
from app.operator.repositories import Installed

LISTED = "/repos/{owner}/{repo}/dependabot/alerts{?state}"
PAGES = 100
"""Of a hundred alerts each."""

_TOO_MANY = (
    "`{name}` has more than {most:,} open alerts, which is more than Fettle lists. Work on one"
    " package at a time: dismiss what does not apply, or let `fettle serve` take them one by one."
)


@dataclass(frozen=True)
class Choice:
    """Which of them are meant."""

    alerts: tuple[int, ...] = ()
    """By number, whatever their severity; none: all."""
    severities: tuple[Severity, ...] = ()
    """None: those that the repository's policy says, which each run reads."""
    packages: tuple[str, ...] = ()

    def why_not(self, group: Group) -> str:
        """Return why a group is left alone; empty: it is meant."""
        named = {_key(group.ecosystem, each) for each in self.packages}
        if named and _key(group.ecosystem, group.package) not in named:
            return "It is none of the packages that were asked for."
        numbers = {each.alert for each in group.advisories}
        if self.alerts and not numbers.intersection(self.alerts):
            return "None of its alerts was asked for."
        wanted = () if self.alerts else self.severities
        if wanted and not any(each.severity in wanted for each in group.advisories):
            return f"No alert of it is {' or '.join(wanted)}."
        return ""

    @property
    def narrow(self) -> bool:
        """Return whether certain alerts or packages are meant, so that others are not worth a word.

        Severities are not that: what is left alone because of them should be known.
        """
        return bool(self.alerts or self.packages)

    def require(self, groups: Iterable[Group], name: str) -> None:
        """Raise ConfigError when what was named is not there: a slip of the pen must be told."""
        every = list(groups)
        known = {each.alert for group in every for each in group.advisories}
        if absent := [f"#{number}" for number in self.alerts if number not in known]:
            raise ConfigError(f"`{name}` has no open alert {', '.join(absent)}.")
        packages = {_key(group.ecosystem, group.package) for group in every}
        for package in self.packages:
            if not any(
                (ecosystem, _name(ecosystem, package)) in packages for ecosystem, _ in packages
            ):
                raise ConfigError(f"`{name}` has no open alert about `{package}`.")


async def open_alerts(
    github: GitHub, installed: Installed, clean: Callable[[str], str]
) -> Sequence[Group]:
    """Return all groups of open alerts, the most severe first; `clean` takes secrets out of texts.

    Raises NoAlerts, RunError where GitHub refuses, TransientError for what may pass.
    """
    repository = installed.repository
    where = {"owner": repository.owner, "repo": repository.name, "state": "open"}
    found: list[Advisory] = []
    try:
        client = await github.installation(installed.installation_id, repository.id, Profile.ALERTS)
        async for each in client.getiter(LISTED, where, pages=PAGES):
            alert = alert_in(each, clean)
            if alert is not None:
                found.append(alert)
    except TooManyPages as error:
        raise RunError(_TOO_MANY.format(name=installed.name, most=PAGES * 100)) from error
    except NotPermitted as error:
        raise alert_refusal(error, repository) from error
    return group_alerts(installed.name, found)


def group_alerts(repository: str, advisories: Iterable[Advisory]) -> list[Group]:
    """Return the alerts by ecosystem, package and folder, the most severe groups first."""
    parts: dict[tuple[str, str, str], list[Advisory]] = {}
    for each in advisories:
        parts.setdefault((*_key(each.ecosystem, each.package), each.directory), []).append(each)
    groups = [_group(repository, mine) for mine in parts.values()]
    return sorted(groups, key=_urgency)


def _group(repository: str, advisories: list[Advisory]) -> Group:
    first = advisories[0]
    return Group(
        repository=repository,
        ecosystem=first.ecosystem,
        package=first.package,
        directory=first.directory,
        manifests=tuple(dict.fromkeys(each.manifest.strip("/") for each in advisories)),
        advisories=tuple(advisories),
    )


def _urgency(group: Group) -> tuple[int, str, str, str]:
    severity = find_highest(each.severity for each in group.advisories)
    place = SEVERITIES.index(severity) if severity else len(SEVERITIES)
    return place, group.directory, group.ecosystem, group.package.lower()


def _key(ecosystem: str, package: str) -> tuple[str, str]:
    return ecosystem, _name(ecosystem, package)


def _name(ecosystem: str, package: str) -> str:
    """Return a package's name in the form that tells it from others."""
    return canonicalize_name(package) if ecosystem == "pip" else package.casefold()
