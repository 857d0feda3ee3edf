"""What a runner of tests says of itself: how it is called, reports for programs, and selects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agents.analysis.check_failures.reported import ReportedFailures

REPORTS = "@REPORTS@"
"""Stands in additions for the folder that reports are written into; its files are gone before."""

CommandWords = tuple[str, ...]
ReadReport = Callable[[Sequence[str]], ReportedFailures | None]
"""Takes the texts of the report's files, which others wrote; None where it is no report."""


@dataclass(frozen=True)
class Additions:
    """What is added to a command that runs tests. Values are never read by a shell."""

    arguments: CommandWords = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    """Each is put behind what the variable holds already, and reaches the runner through others."""

    def join(self, other: Additions) -> Additions:
        """Return both, the other's last."""
        both = dict(self.variables)
        for name, value in other.variables.items():
            both[name] = f"{both[name]} {value}" if name in both else value
        return Additions((*self.arguments, *other.arguments), both)


NOTHING = Additions()


@dataclass(frozen=True)
class ReportKind:
    """The report that a runner writes for programs."""

    read: ReadReport
    file: str = ""
    """Its name in the folder of reports, where the runner is told to write one."""
    asked: Additions = NOTHING
    """What tells the runner to write that file."""
    through_others: bool = False
    """Whether it is told by a variable that nothing else reads, whoever calls it."""
    not_with: CommandWords = ()
    """Options of the command, by how they begin, with which it would write another one."""
    beside: Callable[[CommandWords], Additions | None] | None = None
    """Takes a call with such options; what has it write both, or None."""
    supported: str = ""
    """A bash command that succeeds where this version of the runner can be told so."""
    reporter: str = ""
    """The name of a program for the runner, in this folder, that writes the report; none if it
    writes one itself."""
    takes_output: bool = False
    """Whether the report is what the runner writes for people otherwise."""
    render: Callable[[str], str] | None = None
    """What people would have read instead of the report."""
    left: CommandWords = ()
    """Names of files that the runner leaves in its build's folders without being asked."""


@dataclass(frozen=True)
class TestRunner:
    """A program that runs tests: all that Fettle knows of how it is told what to do."""

    __test__ = False  # pytest takes classes of that name for tests

    name: str
    """As it is called where its output for people is read, such as `go test`."""
    select: Callable[[Sequence[str]], Additions | None]
    """Takes names as its reports and its output have them; None where these cannot be selected."""
    calls: tuple[CommandWords, ...] = ()
    """The words that a command of it begins with. Options may stand behind the first."""
    report: ReportKind | None = None
    afresh: Additions = NOTHING
    """What has it run tests again that passed before, where it would not."""
    verbose: Additions = NOTHING
    """What has it name each test in its output for people, where it writes no report."""
    options_first: bool = False
    """Whether arguments stand behind the program's name, not at the end."""
