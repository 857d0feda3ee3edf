"""A scan that was written to a file: read as what it is, a text that anybody may have written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from agents.errors import ConfigError
from agents.pipelines.remediate.findings.alert_group import AlertGroup
from agents.pipelines.remediate.ladder import Advisory, Group
from agents.text import one_line
from app.github.alerts.schema import is_package, same_package
from app.operator.issue_reference import FULL
from app.operator.remediation_report import Report
from app.operator.repository_reference import RepositoryName

FORMAT = Report.model_fields["format"].default
LARGEST = 20_000_000  # bytes
MOST_REPOSITORIES, MOST_GROUPS, MOST_ALERTS = 2_000, 500, 200
MOST_ITEMS = 20_000  # of any other list
LONGEST = 100_000  # characters of a text; GitHub's advisories end at 65,536

_COMMIT = re.compile(r"[0-9a-f]{40}")
_ECOSYSTEM = re.compile(r"[a-z][a-z0-9_+-]{0,30}")
_GHSA = re.compile(r"GHSA(?:-[0-9a-z]{4}){3}")
_CVE = re.compile(r"(?:CVE-[0-9]{4}-[0-9]{4,19})?")
_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{0,1000}")
_VERSION = re.compile(r"[A-Za-z0-9.!+*~^<>=|, _:?-]{0,500}")


@dataclass(frozen=True)
class Scan:
    """What an earlier scan found, by repository."""

    source: str
    """What to call it."""
    found: dict[str, tuple[AlertGroup, ...]]
    """By `owner/name` in small letters."""

    def find_groups(self, name: RepositoryName) -> tuple[AlertGroup, ...]:
        """Return what it found in this repository. Raises ConfigError when that is not in it."""
        if (mine := self.found.get(str(name).lower())) is None:
            others = one_line(", ".join(list(self.found)[:5]), 200) or "no repository"
            raise ConfigError(
                f"{self.source} is about {others}, and not about {name}. Scan that:"
                f" `fettle scan {name} --format json`."
            )
        return mine

    def get_only(self) -> RepositoryName:
        """Return the one repository that it is about. Raises ConfigError when there are more."""
        if len(self.found) != 1:
            raise ConfigError(
                f"{self.source} is about {len(self.found)} repositories, and the clone does not say"
                " which of them it is."
            )
        owner, _, name = next(iter(self.found)).partition("/")
        return RepositoryName(owner, name)

    def require(self, name: RepositoryName, commit: str) -> None:
        """Raise ConfigError when it looked at another commit than this one."""
        for each in self.find_groups(name):
            if each.commit != commit:
                raise ConfigError(
                    f"{self.source} looked at {each.commit[:12]} of {name}, which stands at"
                    f" {commit[:12]} now. Scan again: `fettle scan {name} --format json`."
                )


def read_scan(file: Path) -> Scan:
    """Return the scan in this file. Raises ConfigError for anything that `fettle scan` cannot say.

    Texts in it stay as untrusted as GitHub's own advisories are: no more is made of them here.
    """
    source = f"The scan in `{one_line(str(file), 200)}`"
    try:
        if file.exists() and not file.is_file():
            raise ConfigError(f"{source} is no file, so nothing is read from it.")
        if file.stat().st_size > LARGEST:
            raise _unfit(source, f"it has more than {LARGEST // 1_000_000} MB")
        with file.open("rb") as opened:
            data = opened.read(LARGEST + 1)
    except OSError as error:
        raise ConfigError(f"{source} cannot be read: {error.strerror}.") from error
    return _scan(source, data)


def _scan(source: str, data: bytes) -> Scan:
    try:
        value = orjson.loads(data)  # ends what is nested too deep, and what is no UTF-8
    except ValueError as error:
        raise _unfit(source, "it is not JSON") from error
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise _unfit(source, f"its `format` is not {FORMAT}")
    for fault in _bounds(value):
        raise _unfit(source, fault)
    try:
        report = Report.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise _unfit(source, f"`{one_line(where, 80)}`: {one_line(first['msg'], 120)}") from error
    if report.command != "scan":
        raise _unfit(source, "it is the report of a remediation")
    return Scan(source, dict(_repositories(source, report)))


def _repositories(source: str, report: Report) -> Iterator[tuple[str, tuple[AlertGroup, ...]]]:
    if len(report.repositories) > MOST_REPOSITORIES:
        raise _unfit(source, f"it has more than {MOST_REPOSITORIES} repositories")
    for each in report.repositories:
        if len(each.groups) > MOST_GROUPS:
            raise _unfit(source, f"a repository in it has more than {MOST_GROUPS} packages")
        found = tuple(group.found for group in each.groups if group.found is not None)
        if not FULL.fullmatch(each.repository):
            raise _unfit(source, "what it calls a repository is none")
        for group in found:
            for fault in _faults(group, each.repository):
                raise _unfit(source, f"what it says of a package is wrong: {fault}")
        if len({_place(group) for group in found}) < len(found):
            raise _unfit(source, "it names a package of a folder twice")
        if len({group.commit for group in found}) > 1:
            raise _unfit(source, "it looked at several commits of one repository")
        yield each.repository.lower(), found


def _place(found: AlertGroup) -> tuple[str, ...]:
    return found.group.ecosystem, found.group.package, found.group.directory


def _faults(found: AlertGroup, repository: str) -> Iterator[str]:
    """Yield what is not as a scan would have it: each of these goes further than into prose."""
    group = found.group
    if group.repository.lower() != repository.lower():
        yield "it is of another repository"
    if not _COMMIT.fullmatch(found.commit):
        yield "its commit is none"
    if not _ECOSYSTEM.fullmatch(group.ecosystem) or not is_package(group.package):
        yield "its ecosystem, or its name, cannot be one"
    if not all(map(_is_path, (group.directory, *group.manifests))):
        yield "it lies outside of the repository"
    if not 0 < len(group.advisories) <= MOST_ALERTS:
        yield f"it has no alert, or more than {MOST_ALERTS}"
    for each in group.advisories:
        yield from _advisory_faults(each, group)
    yield from _judgement_faults(found)


def _advisory_faults(advisory: Advisory, group: Group) -> Iterator[str]:
    ecosystem, package = group.ecosystem, group.package
    if advisory.ecosystem != ecosystem or not same_package(ecosystem, advisory.package, package):
        yield "an alert is of another package"
    if advisory.directory != group.directory.strip("/") or not _is_path(advisory.manifest):
        yield "an alert is of another folder"
    if not 0 <= advisory.alert < 2**31 or not _is_id(advisory.ghsa_id, advisory.cve_id):
        yield "an alert's number or id cannot be one"
    if not all(map(_VERSION.fullmatch, (advisory.vulnerable, advisory.first_patched))):
        yield "an alert's range is none"


def _judgement_faults(found: AlertGroup) -> Iterator[str]:
    known = {(each.alert, each.ghsa_id) for each in found.group.advisories}
    for triaged in found.triage:
        if (triaged.alert, triaged.ghsa_id) not in known or not _is_id("", triaged.cve_id):
            yield "it judges an alert that it does not have"
    for copy in found.copies:
        if not all(map(_LINE.fullmatch, (copy.version, *chain(*copy.paths)))):
            yield "a copy's version, or the way to it, cannot be one"


def _is_path(path: str) -> bool:
    parts = path.strip("/").split("/")
    return bool(_LINE.fullmatch(path)) and not path.startswith("/") and ".." not in parts


def _is_id(ghsa: str, cve: str) -> bool:
    return bool((not ghsa or _GHSA.fullmatch(ghsa)) and _CVE.fullmatch(cve))


def _bounds(value: Any) -> Iterator[str]:
    """Yield what is larger than any scan has it; however deep it is, this is not."""
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, str) and len(part) > LONGEST:
            yield f"a text in it has more than {LONGEST:,} characters"
        elif isinstance(part, dict | list):
            if len(part) > MOST_ITEMS:
                yield f"a list in it has more than {MOST_ITEMS:,} entries"
            left.extend(part.values() if isinstance(part, dict) else part)


def _unfit(source: str, why: str) -> ConfigError:
    return ConfigError(
        f"{source} cannot be used: {why}. Make it with `fettle scan OWNER/REPO --format json`."
    )
