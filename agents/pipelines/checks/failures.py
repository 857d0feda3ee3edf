"""Attribute each failed check of a commit: to the branch, to its base, or to neither."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from agents.ports import CheckConclusion, ForeignCheck
from agents.requests import Frozen

FailureKind = Literal["branch", "flaky", "base", "external"]

RED: frozenset[CheckConclusion] = frozenset(("failure", "timed_out"))
ABANDONED: frozenset[CheckConclusion] = frozenset(("cancelled", "stale"))
OUTSIDE: Mapping[CheckConclusion, str] = {
    "cancelled": "it was cancelled",
    "stale": "it never ended",
    "action_required": "somebody has to act before it goes on",
    "startup_failure": "it did not start",
}
NO_LOG = "it ran out of time, and there is no log that says at what"
PASSED_BEFORE = "an earlier attempt on the same commit passed"
ALSO_THERE = "it fails on the base branch as well, without this branch's changes"


class Failure(Frozen):
    """A check that did not pass."""

    check: ForeignCheck
    kind: FailureKind
    why: str = ""
    """Why it is of that kind; empty for what has not been looked into."""
    said: bool = False
    """Whether the model says so: untrusted then."""
    both_ways: bool = False
    """Another check of the same name passed on the same commit: of another workflow, or event."""


class Failures(Frozen):
    """All of them on one commit, and what came of it."""

    head: str
    base: str
    """The name of the pull request's base branch."""
    trunk: str = ""
    """The commit of that branch which they were compared with."""
    every: tuple[Failure, ...] = ()
    updater: str = ""
    """The bot whose update of dependencies the pull request is, if it is one."""
    on_update: bool = False
    """Whether it is Fettle's own, and stands on such an update."""
    running: tuple[str, ...] = ()
    """The names of checks that were still at work when the waiting ended."""
    covered: str = ""
    """Why there is nothing to be done, where nobody needs to hear of it."""
    summary: str = ""
    """What the model says of its change: untrusted; empty where it made none."""
    commit: str = ""
    """The commit with it."""

    @property
    def ours(self) -> tuple[Failure, ...]:
        """Return those that the branch has to answer for, as far as is known."""
        return tuple(each for each in self.every if each.kind == "branch")

    @property
    def abandoned(self) -> bool:
        """Return whether none of them came to an end at all."""
        return all(each.check.ended in ABANDONED for each in self.every)


def sort(checks: Iterable[ForeignCheck], on_base: Iterable[ForeignCheck]) -> Iterator[Failure]:
    """Yield what failed, each with whose fault it is as far as the facts tell."""
    checks, on_base = tuple(checks), tuple(on_base)
    green = {_name(check) for check in checks if check.ended == "success"}
    base_green = {_name(check) for check in on_base if check.ended == "success"}
    base_red = {_name(check) for check in on_base if check.ended in RED} - base_green
    for check in checks:
        if check.ended in RED and _name(check) in base_red:
            yield Failure(check=check, kind="base", why=ALSO_THERE)
        elif check.ended in OUTSIDE:
            yield Failure(check=check, kind="external", why=OUTSIDE[check.ended])
        elif check.ended == "timed_out" and not check.has_log:
            yield Failure(check=check, kind="external", why=NO_LOG)
        elif check.ended in RED and "success" in check.attempts:
            yield Failure(check=check, kind="flaky", why=PASSED_BEFORE)
        elif check.ended in RED:
            yield Failure(check=check, kind="branch", both_ways=_name(check) in green)


def _name(check: ForeignCheck) -> tuple[str, str]:
    return check.app, check.name
