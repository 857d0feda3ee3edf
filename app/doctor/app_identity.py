"""The App as GitHub knows it: is the key accepted, is the clock right, may it do what it must."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, ValidationError

from agents.errors import ConfigError, FettleError, TransientError
from app.config.allowed_owners import AllowedOwners
from app.doctor.finding import Diagnosis, ok, report_failure, report_skip, report_warning
from app.doctor.github_client import DoctorClient
from app.github.transport import OPTIONAL
from app.registration.manifest import app_manifest
from handlers.access.permissions import list_lacking

SKEW_SEEN, SKEW_BAD = 10.0, 60.0
"""Seconds: a JWT is backdated by a minute, and GitHub takes none from the future."""
MOST_NAMED = 8


class _Account(BaseModel):
    id: int
    login: str


class AppState(BaseModel):
    """The App, as far as the doctor looks at it."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    slug: str
    html_url: str
    permissions: dict[str, str]
    events: list[str]


class InstallationState(BaseModel):
    """One installation, as far as the doctor looks at it."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    account: _Account | None
    html_url: str
    permissions: dict[str, str]
    suspended_at: str | None = None

    @property
    def name(self) -> str:
        """Return whose it is."""
        return self.account.login if self.account else "an account that is gone"


async def app_findings(github: DoctorClient, owners: AllowedOwners) -> list[Diagnosis]:
    """Tell who GitHub says we are, and all that follows from it; the first failure ends it."""
    try:
        known = AppState.model_validate(await github.get("/app"))
    except ConfigError as error:
        return [report_failure("App's key", str(error)), *_clock(github)]
    except TransientError as error:
        remedy = "Check FETTLE_GITHUB_URL, and this machine's way to it: DNS, firewall, proxy."
        return [report_failure("GitHub", str(error), remedy)]
    except ValidationError:
        return [report_failure("GitHub", f"{github.urls.web} does not answer like GitHub.")]
    found = [ok("App's key", f"GitHub accepts it: {known.slug}, {known.html_url}")]
    found += [*_clock(github), *_asked_for(known)]
    try:
        every = await github.list_all("/app/installations")
        installed = [InstallationState.model_validate(each) for each in every]
        served = [each for each in installed if _serves(owners, each)]
        found += _not_served(installed, served)
        return (
            found + list(_check_installations(known, served)) if served or not installed else found
        )
    except (FettleError, ValidationError) as error:
        said = str(error) if isinstance(error, FettleError) else "The answer cannot be read."
        return [*found, report_failure("installations", said)]


def _clock(github: DoctorClient) -> Iterator[Diagnosis]:
    skew = github.skew
    if skew is None:
        yield report_skip("clock", "GitHub's answer has no date.")
        return
    way = "ahead of" if skew > 0 else "behind"
    said = f"{abs(skew):.0f} s {way} GitHub's"
    remedy = "Run `timedatectl set-ntp true`, or set the host's clock."
    if abs(skew) >= SKEW_BAD:
        yield report_failure("clock", said, remedy)
    elif abs(skew) >= SKEW_SEEN:
        yield report_warning("clock", said, remedy)
    else:
        yield ok("clock", "as GitHub's, within seconds")


def _asked_for(known: AppState) -> Iterator[Diagnosis]:
    """Compare what the App asks for with app.yml."""
    manifest = app_manifest()
    page = f"{known.html_url} → App settings → Permissions & events"
    missing = list_lacking(known.permissions, manifest.default_permissions)
    used = {n: level for n, level in known.permissions.items() if OPTIONAL.get(n) != level}
    more = list_lacking(manifest.default_permissions, used)
    if missing:
        remedy = f"Add it at {page}; each installation then has to accept it."
        yield report_failure("permissions", f"The App lacks {_list(missing)}.", remedy)
    if more:
        remedy = f"Fettle does not use it: take it away at {page}."
        yield report_warning("permissions", f"The App has {_list(more)} beyond app.yml.", remedy)
    if not missing and not more:
        can = not list_lacking(known.permissions, OPTIONAL)
        yield ok("permissions", _WITH_WORKFLOWS if can else _WITHOUT_WORKFLOWS)
    wanted, heard = set(manifest.default_events), set(known.events)
    if wanted - heard:
        said = f"The App does not hear of {_list(sorted(wanted - heard))}."
        yield report_failure("events", said, f"Subscribe at {page}.")
    if heard - wanted:
        said = f"The App hears of {_list(sorted(heard - wanted))} beyond app.yml."
        yield report_warning("events", said, f"Unsubscribe at {page}.")
    if wanted == heard:
        yield ok("events", "as in app.yml")


_WITH_WORKFLOWS = "as in app.yml, and `workflows: write`: vulnerable actions are moved"
_WITHOUT_WORKFLOWS = (
    "as in app.yml; without `workflows: write`, which is optional, an alert about GitHub Actions is"
    " answered with what to write by hand"
)


def _serves(owners: AllowedOwners, each: InstallationState) -> bool:
    account = each.account
    return owners.everybody if account is None else owners.allows(account.login, account.id)


def _not_served(
    installed: list[InstallationState], served: list[InstallationState]
) -> Iterator[Diagnosis]:
    others = [each.name for each in installed if each not in served]
    if others:
        said = f"Nothing is done for {_list(others)}: not in FETTLE_OWNERS."
        remedy = "Add those that Fettle should work for, by login or id, and start it again."
        yield report_warning("owners", said, remedy)


def _check_installations(
    known: AppState, installations: list[InstallationState]
) -> Iterator[Diagnosis]:
    if not installations:
        link = f"{known.html_url}/installations/new"
        yield report_warning(
            "installations", "The App is installed nowhere.", f"Install it: {link}"
        )
        return
    fine = 0
    for each in installations:
        behind = list_lacking(each.permissions, known.permissions)
        if each.suspended_at:
            yield report_warning(
                f"installation {each.name}",
                f"Suspended since {each.suspended_at}: nothing can be done there.",
                f"An owner of {each.name} can lift that: {each.html_url}",
            )
        elif behind:
            yield report_warning(
                f"installation {each.name}",
                f"It has still to accept {_list(behind)}.",
                f"An owner of {each.name} accepts it: {each.html_url}",
            )
        else:
            fine += 1
    if fine:
        yield ok("installations", f"{fine} of {len(installations)} up to date")


def _list(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:MOST_NAMED])
    left = len(names) - MOST_NAMED
    return shown if left <= 0 else f"{shown} and {left} more"
