"""The ladder's input and output: alerts of one package; a fix, or why there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from datetime import date, timedelta
from enum import IntEnum
from typing import Literal, TypeVar

from agents.errors import FettleError
from agents.ports import Advisory, CommandResult
from agents.requests import Frozen, Overruled
from agents.text import plain_output, printable

_Result = TypeVar("_Result")


class Level(IntEnum):
    """The rungs, from the cheapest to the most intrusive."""

    FLOAT = 0
    """Only the lock file moves; every requirement stays as it is."""
    BUMP = 1
    """The repository's own pin or floor moves, within what it allowed."""
    WIDEN = 2
    """The repository's own upper bound moves."""
    PARENT = 3
    """Another package moves to the smallest release that admits the fix."""
    OVERRIDE = 4
    """An entry in the manifest overrules what other packages ask for."""


class Group(Frozen):
    """All open alerts for one package in one folder of one repository."""

    repository: str
    ecosystem: str
    package: str
    directory: str = ""
    """The folder of the manifest; empty for the repository's root."""
    manifests: tuple[str, ...] = ()
    """The files that the alerts name."""
    advisories: tuple[Advisory, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the advisories' ids, each once."""
        return tuple(dict.fromkeys(each.ghsa_id for each in self.advisories))

    @property
    def undisclosed(self) -> bool:
        """Return whether nothing that is published may say what the fix is for."""
        return any(each.undisclosed for each in self.advisories)


class Terms(Frozen):
    """What a fix may do; made from the policy and from what people said."""

    today: date
    majors: bool = False
    """Whether a package may move to another major version."""
    unwanted: tuple[str, ...] = ()
    """Ranges of versions of the package itself that people do not want, as its ecosystem writes
    them."""
    min_days: int = 0
    """How many days ago whatever comes in must have been published."""
    overrides: bool = False
    """Whether an entry may overrule what other packages ask for."""
    override_days: int = 90
    """After that an override is to be looked at again."""
    back: bool = False
    """Whether the package itself may go back to an older release that is safe: what others ask for
    where nothing overrules them any more."""
    churn: int = 12
    """How many other entries of the lock file may move, come or go."""
    tries: int = 40
    """How often a resolver may be asked while a parent's release is searched."""

    @property
    def newest(self) -> date | None:
        """Return the last day on which what comes in may have been published; None: any."""
        return self.today - timedelta(days=self.min_days) if self.min_days else None


class Target(Frozen):
    """Where one version of the package is to go."""

    name: str
    old: str
    new: str


Delta = Literal["patch", "minor", "major", "other"]


class Move(Frozen):
    """One package of the lock file that moved, came or went."""

    name: str
    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    delta: Delta | None = None
    """How far; None for one that came or went."""
    forced: bool = False
    """Whether nobody named it: resolving the others made it move."""

    breaking: bool = False
    """Whether it is a step before 1.0 that may break what uses it, though no major one."""

    @property
    def ends(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return what left and what came: copies of the package that stayed are no part of it."""
        gone = [version for version in self.old if version not in self.new]
        come = [version for version in self.new if version not in self.old]
        return gone or self.old, come or self.new


class Step(Frozen):
    """One rung that was tried or passed over, and what came of it."""

    level: Level
    done: bool
    why: str
    """For people: why it was not enough, or what it did."""


class Fix(Frozen):
    """The work tree has every copy out of every vulnerable range."""

    level: Level
    tool: str
    targets: tuple[Target, ...]
    moves: tuple[Move, ...]
    """All that moved; the package itself comes first."""
    files: tuple[str, ...]
    """The files that changed: manifests and lock files alone."""
    steps: tuple[Step, ...]
    """Every rung up to this one."""
    evidence: tuple[str, ...] = ()
    """What was checked by code, one line each."""
    notes: tuple[str, ...] = ()
    """What people should know, such as what could not be checked."""
    tree: str = ""
    """The git tree id of the result."""
    within: bool = False
    """Whether the repository's own requirements are all as they were."""
    overruled: Overruled | None = None
    """The override that it made, if it needed one."""

    @property
    def forced(self) -> tuple[Move, ...]:
        """Return what moved without being named."""
        return tuple(move for move in self.moves if move.forced)


Cause = Literal[
    "nothing_to_do",  # no copy is in a vulnerable range, or there is no copy
    "unsupported",  # no ecosystem of the ladder knows these files
    "by_hand",  # nobody here can prove a change of these files: people are told what they can do
    "unsafe",  # a file is, or asks for, what it must not be
    "other_index",  # the repository names an index that nobody configured, so none is asked
    "no_tool",  # the sandbox cannot be given the resolver, or no way to the indexes
    "no_release",  # no release is outside of the ranges and allowed
    "no_rung",  # every rung was tried
]


class Refusal(Frozen):
    """The ladder did not fix it, and the work tree is as it was."""

    cause: Cause
    reason: str
    """For people: what happened, why, what to do next."""
    steps: tuple[Step, ...] = ()
    major: str = ""
    """The version of another major line that would do, where only that one is left."""


SHOWN = 800


class Stuck(FettleError):
    """This rung does not lead to a fix; the text says why, and the next one is tried."""


class Immovable(Stuck):
    """A requirement of the repository's own that cannot be changed so that it admits a version."""

    def __init__(self, file: str, asked: str, version: str, *, widen: bool) -> None:
        how = "" if widen else " without moving its upper bound"
        super().__init__(
            f"`{file}` asks for `{asked.strip()}`, which cannot be changed to admit {version}{how}."
        )


class OtherContents(Stuck):
    """The index has something else under a name and version than the lock file says."""

    def __init__(self, name: str, version: str) -> None:
        super().__init__(
            f"The index does not have {name} {version} with the contents that the lock file says,"
            " so it may be another package of that name. Lead Fettle to the index that the lock"
            " file was made with."
        )


class Unfit(FettleError):
    """The ladder can do nothing here; `cause` and the text become the Refusal."""

    def __init__(self, cause: Cause, text: str, *, major: str = "") -> None:
        super().__init__(text)
        self.cause = cause
        self.major = major


_UNPROVED = (
    "That the requirements of {files} install together could not be proved: {tool} finds no"
    " solution before the change either: {said} A change that nobody can prove is not published."
    " Where they do install, move {moved}, run `{command}`, and commit it once that ends well."
)


class Unproved(Unfit):
    """No change of these manifests can be proved here, so none is published."""

    def __init__(
        self,
        files: Sequence[str],
        tool: str,
        command: str,
        said: str,
        moved: Sequence[tuple[str, str]],
    ) -> None:
        goals = ", ".join(f"{name} to {version}" for name, version in moved) or "it"
        named = ", ".join(f"`{file}`" for file in files)
        about = {"files": named, "tool": tool, "command": command, "said": said, "moved": goals}
        super().__init__("by_hand", _UNPROVED.format(**about))


class Accepted(Frozen):
    """What an ecosystem's own tool has shown of the files as they are."""

    commands: tuple[str, ...] = ()
    """What ran, in the files' folder; each ended with exit code 0."""
    fetched: tuple[str, ...] = ()
    """The packages that were fetched and held against the hashes in the lock file."""
    notes: tuple[str, ...] = ()
    """What could not be proved, and could not be before."""

    def with_commands(self, *commands: str) -> Accepted:
        """Return it with commands that ran before."""
        return self.model_copy(update={"commands": (*commands, *self.commands)})


def require_finished(program: str, result: CommandResult) -> None:
    """Raise Stuck where something stopped a program before it had an answer.

    What was killed says nothing: no output of it is no consent.
    """
    stopped = result.why if result.why != "exit" else "killed" if result.exit_code > 128 else ""
    if stopped:
        raise Stuck(f"{program} was stopped ({stopped}) after {result.seconds:.0f} s.")


def describe_failure(program: str, result: CommandResult) -> str:
    """Return what a program that ended by itself says against it; empty: it succeeded.

    Raises Stuck where it was stopped.
    """
    require_finished(program, result)
    said = tail_output(result.output) or f"{program} ended with exit code {result.exit_code}."
    return said if result.exit_code else ""


def tail_output(output: str) -> str:
    """Return the end of what a tool wrote, as bounded plain text; untrusted all the same."""
    text = printable(plain_output(output)).strip()
    return text if len(text) <= SHOWN else f"… {text[-SHOWN:]}"


async def run_all(*calls: Awaitable[_Result]) -> list[_Result]:
    """Wait for calls that run at the same time, until all have ended; raise what one raised."""
    ended = await asyncio.gather(*calls, return_exceptions=True)
    results = []
    for each in ended:
        if isinstance(each, BaseException):
            raise each
        results.append(each)
    return results
