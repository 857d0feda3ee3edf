"""The values that parsers return: failures by name, and how a format is recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import model_validator

from agents.requests import Frozen

ALL_OF_IT = " (all of it)"
"""Ends the name of a file or package whose tests could not be run one by one."""


class ReportedFailures(Frozen):
    """What one program told of its failures."""

    names: Mapping[str, int] = {}
    """What failed, and how often a finding of that name was made."""
    whole: bool = False
    """Whether these are all that failed; else it stopped early, or a part could not be read."""
    early: bool = False
    """Whether it says that it stopped before it had run all of them."""
    ended: bool = False
    """Whether it said at its end how many failed, as it does where nothing fails."""
    sessions: int = 0
    """How many times it ran, where a failure may keep it from running again; else nothing."""
    ran: int | None = None
    """How many tests ran, without those it left out; None where it does not say."""
    tests: str = ""
    """Their names, packed; empty where it does not name them all."""

    @property
    def unread(self) -> tuple[str, ...]:
        """Return the files and packages whose tests could not be run one by one."""
        return tuple(n.removesuffix(ALL_OF_IT) for n in self.names if n.endswith(ALL_OF_IT))

    @property
    def total(self) -> int:
        """Return how many failed."""
        return sum(self.names.values())


class FailuresByProgram(Frozen):
    """What the programs of one check told, by their names; empty where none was recognised."""

    told: Mapping[str, ReportedFailures] = {}
    reports: Mapping[str, ReportedFailures] = {}
    """What stands in the files that they write for programs; of those that write none, nothing."""
    of_tests: bool = False
    """Whether the check is there to run tests, by its command or by what people call it."""

    @model_validator(mode="before")
    @classmethod
    def _leave_out(cls, data: object) -> object:
        """Leave out what older versions recorded: one report, whichever programs had run."""
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if key != "report"}

    @property
    def programs(self) -> tuple[ReportedFailures, ...]:
        """Return what each program told in its output, and in its report."""
        return (*self.told.values(), *self.reports.values())

    @property
    def best(self) -> Mapping[str, ReportedFailures]:
        """Return what each program told in its report, or else in its output."""
        return {**self.told, **self.reports}

    @property
    def names(self) -> frozenset[str]:
        """Return the names of all that failed, as any of them has them."""
        return frozenset(name for each in self.programs for name in each.names)

    @property
    def failed_tests(self) -> tuple[str, ...]:
        """Return the names of the tests that failed, without what linters and compilers found."""
        told = [each for each in self.best.values() if each.ran is not None]
        return tuple(name for each in told for name in each.names)

    @property
    def total(self) -> int:
        """Return how many tests and findings failed."""
        return sum(each.total for each in self.best.values())

    @property
    def ran(self) -> int | None:
        """Return how many tests ran; None where one of the programs does not say."""
        counts = [each.ran for each in self.best.values()]
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) else None

    @property
    def counted(self) -> bool:
        """Return whether any of them said how many tests ran."""
        return any(each.ran is not None for each in self.programs)

    @property
    def whole(self) -> bool:
        """Return whether these are all that failed, as far as programs were recognised."""
        return bool(self.best) and all(each.whole for each in self.best.values())


@dataclass(frozen=True)
class ReportFormat:
    """One program's way to say what failed."""

    name: str
    """What people call it, like `pytest`."""
    signs: tuple[str, ...]
    """One of these stands in all that it writes."""
    read: Callable[[Sequence[str]], ReportedFailures | None]
    """Takes lines without colours and white space at their ends; None if it is another's."""


def report_failures(
    names: Iterable[str],
    *,
    said: int | None,
    early: bool = False,
    sessions: int = 0,
    ran: int | None = None,
) -> ReportedFailures | None:
    """Return what was told; None without a name and a number.

    `said`: how many failed by the program's own count, where it gave one; `ran`: how many tests
    ran by that count.
    """
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    if not found and said is None:
        return None
    return ReportedFailures(
        names=found,
        whole=not early and (said is None or said <= sum(found.values())),
        early=early,
        ended=said is not None,
        sessions=sessions,
        ran=ran,
    )


def count_each_once(told: ReportedFailures | None) -> ReportedFailures | None:
    """Return the failures with each name once: a test fails or passes, whoever says it again."""
    return told and told.model_copy(update={"names": dict.fromkeys(told.names, 1)})
