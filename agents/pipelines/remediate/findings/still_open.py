"""Explain by code why alerts are open a day after their fix was merged."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.remediate.findings.committed import Committed
from agents.pipelines.remediate.ladder import (
    Advisory,
    Copy,
    Group,
    Ranges,
    Stuck,
    Unfit,
    ecosystem_of,
)
from agents.ports import RunRepository
from agents.requests import RemediateAlert
from agents.text import one_line
from agents.text import publish as safe

MOST_LINES = 8

_HEAD = "{alerts} open a day after this was merged."
_OTHER_BRANCH = (
    "It was merged into `{base}`, and GitHub looks for alerts on the default branch `{default}`"
    " alone. They close once the fix is there as well."
)
_COPIES = "On `{default}` ({commit}) these copies of `{package}` are still in a vulnerable range:"
_COPY = "- `{version}`{range}{path}"
_SAFE = (
    "Every copy of `{package}` on `{default}` ({commit}) is outside of the vulnerable ranges"
    " ({versions}), so nothing is left to do in the files that Fettle reads. GitHub has not looked"
    " at the dependencies since, or reads another file: a push that touches `{manifest}` makes it"
    " look again, and the dependency graph (Insights, Dependency graph) shows what it sees."
)
_UNREAD = (
    "Fettle cannot read the lock file there ({why}), so it cannot say which copy is meant. The"
    " dependency graph (Insights, Dependency graph) shows what GitHub sees."
)
_UNKNOWN = "its kind is not known"


async def why_still_open(
    source: RunRepository, request: RemediateAlert, base: str, advisories: Sequence[Advisory]
) -> str:
    """Return why these alerts are open, for the pull request; `base`: what it was merged into."""
    default = request.repository.default_branch
    numbers = ", ".join(str(each.alert) for each in advisories)
    many = len(advisories) != 1
    alerts = f"The alerts {numbers} are" if many else f"The alert {numbers} is"
    why = (
        _OTHER_BRANCH.format(base=_word(base), default=_word(default))
        if base != default
        else await _list_what_is_there(source, request, advisories)
    )
    return safe(f"{_HEAD.format(alerts=alerts)}\n\n{why}")


async def _list_what_is_there(
    source: RunRepository, request: RemediateAlert, advisories: Sequence[Advisory]
) -> str:
    """Return what is there of each package, in the order of the alerts."""
    commit = await source.fetch()
    parts = []
    for package in dict.fromkeys(each.package for each in advisories):
        mine = [each for each in advisories if each.package == package]
        about = request.model_copy(update={"package": package})
        parts.append(await _what_is_there(source, commit, about, mine))
    return "\n\n".join(parts)


async def _what_is_there(
    source: RunRepository, commit: str, request: RemediateAlert, advisories: Sequence[Advisory]
) -> str:
    group = Group(
        repository=request.repository.full_name,
        ecosystem=request.ecosystem,
        package=request.package,
        directory=request.directory.strip("/"),
        manifests=tuple(dict.fromkeys(each.manifest.strip("/") for each in advisories)),
        advisories=tuple(advisories),
    )
    ecosystem = ecosystem_of(frozenset(await source.files(commit)), group)
    if ecosystem is None:
        return _UNREAD.format(why=_UNKNOWN)
    try:
        ranges = Ranges.from_advisories(ecosystem.scheme, group.advisories)
        locked = await ecosystem.read(Committed(source, commit))
        copies = locked.copies(ecosystem.name_of(group.package))
    except (Unfit, Stuck) as fault:
        return _UNREAD.format(why=one_line(str(fault), 200))
    told = {
        "package": _word(group.package),
        "default": _word(request.repository.default_branch),
        "commit": commit[:7],
    }
    bad = [copy for copy in copies if ranges.hold(copy.version)]
    if bad:
        hit = {
            copy.version: [
                each
                for each in advisories
                if Ranges.from_advisories(ecosystem.scheme, [each]).hold(copy.version)
            ]
            for copy in bad
        }
        lines = [_line(copy, hit[copy.version]) for copy in bad[:MOST_LINES]]
        return "\n".join([_COPIES.format(**told), "", *lines])
    versions = ", ".join(dict.fromkeys(_word(copy.version) for copy in copies)) or "there is none"
    manifest = _word(next(iter(group.manifests), ""), 200)
    return _SAFE.format(**told, versions=versions, manifest=manifest)


def _line(copy: Copy, advisories: Sequence[Advisory]) -> str:
    """Return one copy, and how it comes in; of what is not public, no range is told."""
    ranges = " or ".join(f"`{_word(each.vulnerable)}`" for each in advisories)
    told = ranges and not any(each.undisclosed for each in advisories)
    path = " > ".join(_word(name) for name in copy.paths[0]) if copy.paths else ""
    return _COPY.format(
        version=_word(copy.version),
        range=f" in {ranges}" if told else "",
        path=f", through {path}" if path else "",
    )


def _word(text: str, limit: int = 80) -> str:
    return one_line(text, limit).replace("`", "'")
