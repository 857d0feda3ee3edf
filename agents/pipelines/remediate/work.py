"""The state of a remediation: how the fix was made, what was measured and said of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from agents.pipelines.remediate.clean_climb import UNASKED
from agents.pipelines.remediate.findings.alert_group import AlertGroup
from agents.pipelines.remediate.frozen_locks import list_accepted
from agents.pipelines.remediate.ladder import Fix, Level, Move, Refusal, Step
from agents.pipelines.stages.inspect_weakening import Inspection
from agents.pipelines.stages.quality import CheckComparison
from agents.ports import OtherPull, SetupResult
from agents.remediation import Result
from agents.requests import ACTIONS, Frozen, Overruled, Severity

MECHANICAL = (Level.FLOAT, Level.BUMP)
"""Rungs that move the package alone, within what the repository allows itself."""
SMALL = ("patch", "minor", None)
_SAME = ("level", "moves", "files", "steps", "overruled", "within")
_RESULTS: Mapping[str, Result] = {
    "nothing_to_do": "nothing_to_do",
    "no_tool": "infra_error",
    "by_hand": "by_hand",
}
"""What it is called where the ladder refuses for a reason that is not that there is no way."""
BY_ENGINEER = ("no_rung", "unsupported")
"""Why the ladder refuses where an engineer may still find a way."""


class Bump(Frozen):
    """The dependency files have every copy out of every range, as far as code can prove it."""

    by: Literal["ladder", "engineer", "other"]
    """`other`: it is another bot's pull request."""
    level: Level | None = None
    """The rung; None where the ladder did not do it."""
    moves: tuple[Move, ...] = ()
    files: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    evidence: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    summary: str = ""
    """The engineer's words: untrusted."""
    tree: str
    """The git tree id of the files."""
    commit: str = ""
    overruled: Overruled | None = None
    """The override that it made, if it needed one."""
    within: bool = False
    """Whether the repository's own requirements are all as they were."""
    major: str = ""
    """The other major version that it moves to, where that may break what uses it."""
    unread: tuple[str, ...] = ()
    """Files in it that code cannot read: a command of their own tool has to accept each of them."""

    @classmethod
    def from_fix(cls, fix: Fix) -> Bump:
        """Return what the ladder did."""
        values = {name: getattr(fix, name) for name in _SAME}
        return cls(by="ladder", **values, evidence=fix.evidence, notes=fix.notes, tree=fix.tree)

    @property
    def mechanical(self) -> bool:
        """Return whether code alone proves enough: small moves only, as the repository allows.

        A step before 1.0 that may break things is none.
        Those of the ladder's first rungs; and those of other packages, where no requirement of the
        repository had to change for them.
        """
        small = all(move.delta in SMALL and not move.breaking for move in self.moves)
        allowed = self.level in MECHANICAL or (self.level is Level.PARENT and self.within)
        return self.by == "ladder" and allowed and small


class CompanionFix(Frozen):
    """Another package of the same lock file that the fix takes along."""

    found: AlertGroup
    bump: Bump | None = None
    """None: what else moved has it out of every range already."""


class FixObjection(Frozen):
    """One thing that speaks against the fix."""

    category: Literal["tests", "install", "loosened", "breaking", "incomplete", "other"]
    severity: Severity
    description: str
    suggestion: str = ""


class VerifyResult(Frozen):
    """What came of looking at the fix with fresh eyes."""

    passed: bool
    by: Literal["code", "model", "nobody"]
    """`code`: what code checks is enough here; `nobody`: people did not want it looked at."""
    issues: tuple[FixObjection, ...] = ()
    test_output: str = ""
    """What the checks wrote that fail newly: ours, never the model's."""
    feedback: str = ""
    """What the next try has to do differently."""
    reasoning: str = ""
    """The model's words: untrusted."""
    unseen: bool = False
    """A model was to look, and there was none that did: people have to."""

    @property
    def of_checks(self) -> bool:
        """Return whether checks of the repository are all that speaks against the fix."""
        every = all(each.category == "tests" for each in self.issues)
        return self.by == "code" and not self.passed and every


class Failed(Frozen):
    """One iteration whose fix did not stand."""

    made: str
    """What it had done, in a line."""
    verdict: VerifyResult


class BrokenPull(Frozen):
    """Another bot's pull request that mends it, and with which checks of the repository fail."""

    pull: OtherPull
    major: str
    """The other major version that it moves to."""


class Work(Frozen):
    """All of it, as each stage hands it to the next."""

    found: AlertGroup
    bump: Bump | None = None
    refusal: Refusal | None = None
    """Why there is no fix, if there is none."""
    skipped: str = ""
    """Why an engineer left it, if one did: untrusted."""
    unsought: str = ""
    """Why no engineer could be asked: what the model's service said, or that there is none."""
    adapted: str = ""
    """What was changed in the code beside the bump, in the engineer's words: untrusted."""
    broken: str = ""
    """Which checks failed with the new version until the code followed, and their tests."""
    unfollowed: str = ""
    """Why the code does not follow, and nobody is asked again: as the budget or policy say."""
    places: tuple[str, ...] = ()
    """The lines of the repository's files that failing checks name, as `path:line`."""
    handed_over: bool = False
    """The move is published though checks fail with it: people have the code follow."""
    setup: SetupResult | None = None
    """What installing as of the fix came to."""
    quality: CheckComparison | None = None
    inspection: Inspection = Inspection()
    verdict: VerifyResult | None = None
    failed: tuple[Failed, ...] = ()
    """Earlier iterations, oldest first."""
    prose: str = ""
    """A model's summary: untrusted."""
    release_notes: str = ""
    """What the package's authors say of the release, or where: untrusted."""
    replaces: tuple[int, ...] = ()
    """Open pull requests of others that do not mend it."""
    why_not: tuple[str, ...] = ()
    """Why they do not, one line each."""
    companions: tuple[CompanionFix, ...] = ()
    """What the fix takes along, each in a commit of its own."""
    along: Literal["all", "mechanical", "none"] = "all"
    """Whether companions are tried: not after an iteration with them that did not stand."""
    elsewhere: tuple[int, ...] = ()
    """The alerts of companions that others are at."""
    left_out: tuple[str, ...] = ()
    """Why other packages with alerts are not in it, one line each."""
    earlier: tuple[OtherPull, ...] = ()
    """Open pull requests of Fettle's about the same lock file, which it may take the place of."""
    left: BrokenPull | None = None

    @property
    def groups(self) -> tuple[AlertGroup, ...]:
        """Return every package that it is about, the first one first."""
        return (self.found, *(each.found for each in self.companions))

    @property
    def bumps(self) -> tuple[Bump, ...]:
        """Return what was made, package by package."""
        made = (self.bump, *(each.bump for each in self.companions))
        return tuple(each for each in made if each is not None)

    @property
    def moves(self) -> tuple[Move, ...]:
        """Return all that moved, in the order in which it did."""
        return tuple(move for bump in self.bumps for move in bump.moves)

    @property
    def replaced(self) -> tuple[OtherPull, ...]:
        """Return the earlier pull requests that hold nothing that is not in it."""
        mine = frozenset[int]().union(*(each.alerts for each in self.groups))
        return tuple(each for each in self.earlier if each.alerts and mine.issuperset(each.alerts))

    @property
    def mechanical(self) -> bool:
        """Return whether code alone proves enough of all that was made."""
        return all(each.mechanical for each in self.bumps)

    @property
    def wants_engineer(self) -> bool:
        """Return whether the ladder cannot, and somebody else may."""
        refusal = self.refusal
        if self.found.group.ecosystem == ACTIONS:  # no model changes what runs with secrets
            return False
        return self.bump is None and refusal is not None and refusal.cause in BY_ENGINEER

    @property
    def advisories_unknown(self) -> bool:
        """Return whether nobody could say if new advisories affect what comes in."""
        return any(UNASKED in each.notes for each in self.bumps)

    @property
    def passed(self) -> bool:
        """Return whether there is a fix, and its verification passed."""
        return self.bump is not None and self.verdict is not None and self.verdict.passed

    @property
    def is_published(self) -> bool:
        """Return whether a pull request comes of it: it passed, or people are to go on with it."""
        return self.passed or self.handed_over

    @property
    def breaks(self) -> bool:
        """Return whether checks fail with the ladder's move to another major version.

        Each try to have the code follow was taken back, if there was any.
        """
        by_ladder = self.bump is not None and self.bump.by == "ladder" and bool(self.bump.major)
        return by_ladder and not self.passed and bool(self.broken)

    @property
    def is_there(self) -> bool:
        """Return whether another bot has opened what is for people to go on with."""
        bump, left = self.bump, self.left
        return self.handed_over and bool(bump and left and bump.major == left.major)

    @property
    def fails_by_checks_alone(self) -> bool:
        """Return whether checks alone fail with that version, and no code will follow it."""
        of_checks = self.verdict is not None and self.verdict.of_checks
        return self.breaks and of_checks and bool(self.unfollowed)

    @property
    def feedback(self) -> str:
        """Return what was wrong with the fix before; empty for the first one."""
        return self.failed[-1].verdict.feedback if self.failed else ""

    @property
    def verified(self) -> bool:
        """Return whether a command said that the repository still works with the fix."""
        installed = self.setup is None or not self.setup.problems
        seen = self.verdict is None or not self.verdict.unseen
        if not (installed and seen) or self.quality is None:
            return False
        asked = bool(self.inspection.commit) or not self.quality.lost
        return asked and self.quality.verdict == "no worse"

    @property
    def wants_adapting(self) -> bool:
        """Return whether the code has to follow: tests break, or the try before was found wrong."""
        assert self.quality is not None, "the checks were run before"
        assert self.bump is not None, "and something had moved"
        if self.companions:  # what fails may be one of theirs: it goes on alone first
            return False
        again = self.bump.by == "ladder" and bool(self.failed)
        return self.bump.by != "other" and (again or bool(self.quality.failing))

    @property
    def untouched(self) -> bool:
        """Return whether no token was spent on the fix that stands."""
        by_code = self.verdict is None or self.verdict.by != "model"
        by_ladder = self.bump is None or self.bump.by != "engineer"
        return by_code and by_ladder and not self.adapted and not self.failed

    @property
    def spared(self) -> bool:
        """Return whether no token was spent on it: neither on the fix nor on its set-up."""
        looked = self.setup.proposal if self.setup is not None else None
        return self.untouched and not (looked is not None and looked.asked)

    def with_checks(self, setup: SetupResult, quality: CheckComparison) -> Work:
        """Return the work with what installing and the checks say of it."""
        bump = self.bump
        if bump is not None and (accepted := list_accepted(bump.files, setup)):
            bump = bump.model_copy(update={"evidence": (*bump.evidence, *accepted)})
        return self.model_copy(update={"setup": setup, "quality": quality, "bump": bump})

    def with_inspection(self, quality: CheckComparison, inspection: Inspection) -> Work:
        """Return the work with what was found after the code had been adapted."""
        return self.model_copy(update={"quality": quality, "inspection": inspection})


def failure_of(work: Work) -> Result:
    """Return what it was that failed."""
    if work.failed:
        return "verify_failed"
    cause = work.refusal.cause if work.refusal else ""
    return _RESULTS.get(cause, "fix_failed")
