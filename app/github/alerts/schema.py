"""Dependabot alerts and advisories as GitHub sends them, validated as hostile text.

Anybody who reports a vulnerability writes its summary, and anybody who pushes names the manifest's
path. Malformed optional values are left out. A malformed range becomes `UNREADABLE`, against which
no version can be proved safe.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args

from packaging.utils import canonicalize_name
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, ValidationError

from agents.ports import Advisory
from agents.requests import Severity

LONGEST_NAME = 300
LONGEST_VERSION = 100
LONGEST_RANGE = 500
LONGEST_PATH = 1_000
LONGEST_SUMMARY = 1_024
LONGEST_DESCRIPTION = 20_000

UNREADABLE = "?"
"""Stands for a malformed range: no version is proved to be outside of such a range."""

NAMES: Mapping[str, str] = {
    "bundler": "rubygems",
    "cargo": "rust",
    "crates.io": "rust",
    "gem": "rubygems",
    "github_actions": "actions",
    "go_modules": "go",
    "golang": "go",
    "gomod": "go",
    "hex": "erlang",
    "npm_and_yarn": "npm",
    "packagist": "composer",
    "pypi": "pip",
    "python": "pip",
}
"""Ecosystems by other names (people, package URLs, Dependabot) to those of GitHub's alerts."""

_NAME = re.compile(r"[@A-Za-z0-9_.][A-Za-z0-9@._/:~+-]*")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_!:~-]*")
# https://docs.github.com/code-security/security-advisories, the advisories' own grammar
_ONE_RANGE = r"(?:[<>]=?|=) ?[A-Za-z0-9][A-Za-z0-9.+_!:~-]*"
_RANGE = re.compile(rf"{_ONE_RANGE}(?:, ?{_ONE_RANGE})*")
_GHSA = re.compile(r"GHSA(?:-[0-9a-z]{4}){3}")
_CVE = re.compile(r"CVE-[0-9]{4}-[0-9]{4,19}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\\]")

_SEVERITIES: tuple[Severity, ...] = get_args(Severity)
_SCOPES = ("runtime", "development")

Clean = Callable[[str], str]
"""Takes secrets out of a text."""


def ecosystem_name(said: str) -> str:
    """Return the ecosystem's name as GitHub's alerts write it."""
    name = said.strip().lower()
    return NAMES.get(name, name)


def is_package(name: str) -> bool:
    """Tell whether the text can be a package's name, in any ecosystem."""
    return len(name) <= LONGEST_NAME and _NAME.fullmatch(name) is not None


def is_version(text: str) -> bool:
    """Tell whether the text can be a version."""
    return len(text) <= LONGEST_VERSION and _VERSION.fullmatch(text) is not None


def version_in(text: str) -> str:
    """Return the version; empty where the text is none."""
    return text if is_version(text) else ""


def range_in(text: str) -> str:
    """Return the range of versions; `UNREADABLE` where the text is none."""
    readable = len(text) <= LONGEST_RANGE and _RANGE.fullmatch(text) is not None
    return text if readable else UNREADABLE


def same_package(ecosystem: str, one: str, other: str) -> bool:
    """Tell whether both names mean one package of the ecosystem."""
    if ecosystem == "pip":
        return canonicalize_name(one) == canonicalize_name(other)
    return one.casefold() == other.casefold()


def _words(value: object) -> str:
    return value if isinstance(value, str) else ""


PlainText = Annotated[str, BeforeValidator(_words)]
"""Text, or nothing where GitHub says null."""


class _Shape(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)


class _Package(_Shape):
    ecosystem: str
    name: PlainText = ""


class _Patched(_Shape):
    identifier: PlainText = ""


class _Vulnerability(_Shape):
    package: _Package
    severity: PlainText = ""
    vulnerable_version_range: PlainText = ""
    first_patched_version: _Patched | None = None


class _Advisory(_Shape):
    ghsa_id: PlainText = ""
    cve_id: PlainText = ""
    severity: PlainText = ""
    summary: PlainText = ""
    description: PlainText = ""
    withdrawn_at: AwareDatetime | None = None


class _Dependency(_Shape):
    manifest_path: str
    scope: PlainText = ""


class _Alert(_Shape):
    number: int
    state: PlainText
    dependency: _Dependency
    security_advisory: _Advisory
    security_vulnerability: _Vulnerability


class _Affected(_Shape):
    package: _Package | None = None
    vulnerable_version_range: PlainText = ""
    first_patched_version: PlainText = ""


class _Published(_Advisory):
    vulnerabilities: tuple[_Affected, ...] | None = None


def alert_in(found: Any, clean: Clean, *, closed: bool = False) -> Advisory | None:
    """Return the alert; None where it is malformed, withdrawn, or closed (unless `closed`).

    https://docs.github.com/rest/dependabot/alerts#get-a-dependabot-alert
    """
    try:
        alert = _Alert.model_validate(found)
    except ValidationError:
        return None
    about, of = alert.security_advisory, alert.security_vulnerability
    manifest = _path(alert.dependency.manifest_path)
    if about.withdrawn_at is not None or (alert.state != "open" and not closed):
        return None
    if not _GHSA.fullmatch(about.ghsa_id) or alert.number < 1:
        return None
    if manifest is None or not is_package(of.package.name):
        return None
    patched = of.first_patched_version.identifier if of.first_patched_version else ""
    return Advisory(
        ghsa_id=about.ghsa_id,
        cve_id=about.cve_id if _CVE.fullmatch(about.cve_id) else "",
        severity=_severity(of.severity, about.severity),
        package=of.package.name,
        ecosystem=ecosystem_name(of.package.ecosystem),
        vulnerable=range_in(of.vulnerable_version_range),
        first_patched=version_in(patched),
        alert=alert.number,
        manifest=manifest,
        scope=next((each for each in _SCOPES if each == alert.dependency.scope), ""),
        summary=clean(about.summary[:LONGEST_SUMMARY]),
        description=clean(about.description[:LONGEST_DESCRIPTION]),
    )


def published_in(found: Any, ecosystem: str, names: set[str], clean: Clean) -> list[Advisory]:
    """Return one entry for each range that an advisory names for one of these packages.

    https://docs.github.com/rest/security-advisories/global-advisories
    """
    try:
        advisory = _Published.model_validate(found)
    except ValidationError:
        return []
    if advisory.withdrawn_at is not None or not _GHSA.fullmatch(advisory.ghsa_id):
        return []
    return [
        Advisory(
            ghsa_id=advisory.ghsa_id,
            cve_id=advisory.cve_id if _CVE.fullmatch(advisory.cve_id) else "",
            severity=_severity(advisory.severity),
            package=each.package.name,
            ecosystem=ecosystem,
            vulnerable=range_in(each.vulnerable_version_range),
            first_patched=version_in(each.first_patched_version),
            summary=clean(advisory.summary[:LONGEST_SUMMARY]),
            description=clean(advisory.description[:LONGEST_DESCRIPTION]),
        )
        for each in advisory.vulnerabilities or ()
        if each.package is not None
        and ecosystem_name(each.package.ecosystem) == ecosystem
        and any(same_package(ecosystem, each.package.name, name) for name in names)
    ]


def _severity(*said: str) -> Severity:
    """Return the first one that is known; what nobody has rated may be bad."""
    return next((known for each in said for known in _SEVERITIES if known == each), "high")


def _path(text: str) -> str | None:
    """Return the path within the repository; None for what leads out of it, or is none."""
    path = text.strip("/")
    odd = _CONTROL.search(path) or any(part in ("", ".", "..") for part in path.split("/"))
    return None if odd or not path or len(path) > LONGEST_PATH else path
