"""What the repository's checks say: of one commit, and of a change against what was before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from agents.analysis.check_failures import (
    ComparisonVerdict,
    FailuresByProgram,
    explain_no_start,
    has_failed,
)
from agents.analysis.failure_cause import shorten_cause
from agents.analysis.services import Service
from agents.analysis.weakening import Finding
from agents.pipelines.stages.quality.lock_agreement import UnlockedManifest
from agents.policy import POLICY_PATH, Check
from agents.ports import FlakyTest, SetupResult
from agents.requests import Frozen
from agents.text import code_span, one_line, publish

NAME_LIMIT, COMMAND_LIMIT = 60, 120  # characters of a check's name, and of its command
COMMANDS_SHOWN = 4
REASON_LIMIT = 400

BY_POLICY = f"`{POLICY_PATH}`"
"""The source of checks that people named."""
NOT_THERE = "its program is not there"
_SAYS_NOTHING = "it failed and says of no test whether it ran"
NO_CHECKS = "no check of the repository was found"
_UNRUN = (
    "no check that was found runs the tests in {files}: `quality` in `.github/fettle.yml` can name"
    " the command"
)
_UNCHECKED = (
    "nothing here checks {folders}, which the change touches: tests there, such as a `test` script,"
    " or a command that `quality` names, would"
)
_UNPARSED = "since the change {files} cannot be parsed by the language that it is written in"
_UNSEEN = "no check that ran looks at {files}"
_ROOT = "the root folder"
_SET_UP = "set up with the change: {problem}"
_NOT_HERE = "{commands} cannot run here"
_LEFT_OUT = (
    "its workflows run tests that did not run here, nor anything that they are part of:"
    " {commands}; `quality` in `.github/fettle.yml` can name them"
)


class RepositoryCheck(Check):
    """A check that was found for a repository."""

    named: bool = True
    """Whether people named its command, in the policy or in a workflow; else Fettle guessed it."""


class CheckResult(Frozen):
    """One check as it ran on one commit."""

    name: str
    command: str
    timeout: float
    exit_code: int
    seconds: float
    output: str
    stopped: bool = False
    """Whether it was ended by somebody else, such as by a limit."""
    named: bool = True
    """Whether people named its command; True in records of old versions, which did not ask."""
    several: bool = False
    """Whether it failed and runs several programs, of which one that fails stops the rest."""
    failures: FailuresByProgram = FailuresByProgram()
    """What it says fails, by name."""
    missing: tuple[str, ...] = ()
    """The Python modules that it says are not there."""
    failure_lines: tuple[str, ...] = ()
    """What it writes of failures where it passes and counts no tests: untrusted."""
    success_lines: tuple[str, ...] = ()
    """And what of success, without numbers."""
    lines_lack: bool = False
    """Whether it writes more of these than are kept."""
    new: tuple[str, ...] = ()
    """The names of what fails in it and did not before the change, so far as that can be told."""
    flaky: tuple[str, ...] = ()
    """Those that fail now and then, with the change or without: nothing is held against them."""
    flaky_before: tuple[str, ...] = ()
    """Those of them that were seen to fail now and then before the change, too."""
    known: tuple[FlakyTest, ...] = ()
    """What earlier runs saw of those that are new, or fail now and then."""
    verdict: ComparisonVerdict | Literal[""] = ""
    """What it says of the change; empty on the commit before it, and in records of old versions."""
    why: str = ""
    """Why it could not be told what it says of the change: Markdown that is safe to publish."""
    lost: tuple[Finding, ...] = ()
    """Tests that ran before and do not with the change, which people have to agree to."""
    by_exit_status: bool = False
    """Whether its exit status tells so: it fails where the change's tests run without the rest."""

    rewrites: bool = False
    """Whether it is a build that wrote files of the commit otherwise than they stand there."""
    of_documents: bool = False
    """Whether documentation alone changed, and it ends and says what it did before."""

    @property
    def failed(self) -> bool:
        """Return whether it failed, by its exit code or by the report of its tests."""
        return has_failed(self)


class CheckStart(Frozen):
    """Whether a check comes to say anything."""

    runs: bool
    why: str = ""
    """Why it cannot; empty where it does, or where nobody can tell."""


Starts = Mapping[str, CheckStart]
"""The repository's checks, by their commands."""


def read_start(run: CheckResult, *, broken: bool = False) -> CheckStart:
    """Return whether the check came to say anything in that run.

    `broken`: the set-up failed, which is then taken for the reason why tests that fail say nothing.
    """
    silent = run.failures.of_tests and bool(run.exit_code) and not run.failures.told
    why = explain_no_start(run) or (_SAYS_NOTHING if silent and broken and not run.stopped else "")
    if why:
        return CheckStart(runs=False, why=f"{why}: {shorten_cause(run.output)}")
    ran_none = run.failures.of_tests and run.failures.ran == 0
    return CheckStart(runs=not (run.stopped or silent or ran_none))


class Baseline(Frozen):
    """What the checks say about the default branch."""

    runs: tuple[CheckResult, ...]
    other: tuple[CheckResult, ...] = ()
    """What they say about the other branch of a merge; empty where nothing is merged."""
    unavailable: tuple[str, ...] = ()
    """Commands that the repository suggests but that cannot run in the sandbox."""
    left_out: tuple[str, ...] = ()
    """Commands of workflows that run tests and were too many, of which nothing runs the whole."""
    source: str
    """Where the list of checks comes from, for people."""
    setup: SetupResult
    """What was installed for them."""
    services: tuple[Service, ...] = ()
    """The servers that are started around each of them."""
    set_up_for: str = ""
    """The commit whose dependencies they ran with; empty in records of old versions."""
    unstarted: tuple[str, ...] = ()
    """Why others that the repository names cannot be started: untrusted sentences."""
    form: Literal[1, 2, 3, 4] = 1
    """2: documentation is written before the change is judged, `unavailable` names only what has
    nothing in its place, and what could not be told is not ready. 3: and it is measured before it
    is judged. 4: and tests that fail with the fix of a bug go back to the engineer. Runs that an
    older version began go on as they began: the engine finds the stages
    that it has a record of."""

    divides: bool = False
    """A change that is larger than people want to read at a time is divided. False in runs that an
    older version began."""

    @property
    def chosen(self) -> bool:
        """Return whether people named the checks.

        These then say all that is asked for, whatever else could not be set up. Runs that an older
        version began are held to no more than they were.
        """
        return self.form < 2 or self.source == BY_POLICY

    def list_lacking(self) -> tuple[str, ...]:
        """Return what its checks had to do without that may matter to them: untrusted sentences.

        Checks that people named and that passed show that they need no more.
        """
        enough = self.chosen and not any(each.failed for each in self.runs)
        lacking = () if self.chosen else self.setup.problems
        return (*lacking, *(() if enough else self.unstarted))

    @property
    def is_green(self) -> bool:
        """Return whether there were checks, and all of them could run and passed."""
        ended_well = not any(check.failed for check in self.runs)
        return bool(self.runs) and not self.unavailable and ended_well

    @property
    def documents_first(self) -> bool:
        """Return whether documentation is written before the change is judged, not after it."""
        return self.form > 1

    @property
    def measures_first(self) -> bool:
        """Return whether proof and checks run before the change is judged, not after it."""
        return self.form > 2

    @property
    def mends_proof(self) -> bool:
        """Return whether tests that fail with the fix of a bug go back to the engineer."""
        return self.form > 3

    @property
    def before(self) -> tuple[tuple[CheckResult, ...], ...]:
        """Return how each check ended before, in both branches of a merge."""
        return tuple(zip(self.runs, self.other or self.runs, strict=True))


class OwnSetup(Frozen):
    """What a change itself asks to have installed, where that is not what was there before it."""

    files: tuple[str, ...] = ()
    """The changed files that decide it."""
    commit: str = ""
    """The commit that was set up; empty where the run's checks have what was there before."""
    result: SetupResult | None = None
    why_not: str = ""
    """Why it was not set up though it asks for something else: a sentence's part in Markdown."""

    def with_notes(self, notes: tuple[str, ...]) -> OwnSetup:
        """Return it with what was installed for a check besides."""
        if self.result is None or not notes:
            return self
        told = self.result.model_copy(update={"notes": (*self.result.notes, *notes)})
        return self.model_copy(update={"result": told})

    def list_new_problems(self, before: SetupResult) -> tuple[str, ...]:
        """Return what could not be installed, or not as its files ask for it, and could before."""
        if self.result is None:
            return (self.why_not,) if self.why_not else ()
        pairs = ((self.result.problems, before.problems), (self.result.refused, before.refused))
        new = [each for now, then in pairs for each in _list_new(now, then)]
        return tuple(_SET_UP.format(problem=publish(one_line(each, REASON_LIMIT))) for each in new)


def _list_new(now: tuple[str, ...], before: tuple[str, ...]) -> list[str]:
    """Return what is new by the command or package that it begins with: its cause may vary."""
    known = {each.split("` ", maxsplit=1)[0] for each in before}
    return [each for each in now if each.split("` ", maxsplit=1)[0] not in known]


class UnseenFiles(Frozen):
    """Changed files that no check which ran looks at, as far as their kind tells."""

    files: tuple[str, ...] = ()
    alone: bool = False
    """Whether the change is about nothing else."""

    def describe(self) -> str:
        """Return so in Markdown that can be published; nothing where there are none."""
        return _UNSEEN.format(files=_list_some(self.files)) if self.files else ""


class CheckComparison(Frozen):
    """What the checks say about the change, against the default branch."""

    commit: str
    runs: tuple[CheckResult, ...]
    baseline: Baseline
    added: tuple[str, ...] = ()
    """Commands that installed something, with people's approval, which the checks could use."""
    unlocked: tuple[UnlockedManifest, ...] = ()
    """Manifests that no longer fit their lock files: not every tool refuses that."""
    own_setup: OwnSetup = OwnSetup()
    """What the change itself asks to have installed, and what came of it."""
    unchecked: tuple[str, ...] = ()
    """Folders with projects that the change touches and no check looks at."""
    unseen: UnseenFiles = UnseenFiles()
    unparsed: tuple[str, ...] = ()
    """Changed files that their own language cannot parse any more."""
    unrun: tuple[str, ...] = ()
    """Files with tests, where none of the checks is there to run tests."""

    @property
    def compared(self) -> tuple[tuple[CheckResult, CheckResult], ...]:
        """Return each check as it ran before and after the change."""
        return tuple(zip(self.baseline.runs, self.runs, strict=True))

    @property
    def failing(self) -> tuple[CheckResult, ...]:
        """Return the checks that are worse than before, in both branches of a merge.

        They fail and passed there, or tests and findings fail in them that did not fail there.
        """
        return tuple(
            now
            for before, now in zip(self.baseline.before, self.runs, strict=True)
            if now.verdict == "worse" or (not now.verdict and _is_worse(before, now))
        )

    @property
    def lost(self) -> tuple[Finding, ...]:
        """Return the loss of tests that nobody can tell from their files alone."""
        return tuple(each for run in self.runs for each in run.lost)

    @property
    def untold(self) -> tuple[str, ...]:
        """Return what could not be checked; it counts as unverified.

        Each is a sentence's part in Markdown that can be published.
        """
        missing = self.baseline.unavailable if self.baseline.form > 1 or not self.runs else ()
        absent = ((missing, _NOT_HERE), (self.baseline.left_out, _LEFT_OUT))
        reasons = [text.format(commands=_list_some(each)) for each, text in absent if each]
        lacking = self.baseline.list_lacking()
        reasons += [publish(one_line(each, REASON_LIMIT)) for each in lacking]
        if not self.runs and not missing:
            reasons.append(NO_CHECKS)
        reasons += self.own_setup.list_new_problems(self.baseline.setup)
        reasons += [each.describe() for each in self.unlocked]
        if self.unchecked:
            reasons.append(_UNCHECKED.format(folders=_list_some(self.unchecked)))
        if self.unrun:
            reasons.append(_UNRUN.format(files=_list_some(self.unrun)))
        reasons += [self.unseen.describe()] if self.unseen.alone else []
        if self.unparsed:
            reasons.append(_UNPARSED.format(files=_list_some(self.unparsed)))
        reasons += [
            f"{_code(each.name, NAME_LIMIT)}: {each.why}"
            for each in self.runs
            if each.verdict == "unknown"
        ]
        return tuple(reasons)

    @property
    def verdict(self) -> ComparisonVerdict:
        """Return what all of them say of the change together."""
        if self.failing:
            return "worse"
        return "unknown" if self.untold else "no worse"

    def red_before(self, check: CheckResult) -> bool:
        """Return whether one of these checks failed before the change, too."""
        pairs = zip(self.baseline.before, self.runs, strict=True)
        return any(each.failed for before, now in pairs if now == check for each in before)


def _is_worse(before: tuple[CheckResult, ...], now: CheckResult) -> bool:
    """Return what records of old versions say, in which no verdict stands."""
    return bool(now.exit_code and (now.new or not any(each.exit_code for each in before)))


def _list_some(texts: Sequence[str]) -> str:
    """Return the first of these commands or folders; the empty one is the root."""
    codes = (_code(each, COMMAND_LIMIT) if each else _ROOT for each in texts[:COMMANDS_SHOWN])
    shown = ", ".join(codes)
    more = len(texts) - COMMANDS_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _code(text: str, limit: int) -> str:
    return code_span(one_line(text, limit))
