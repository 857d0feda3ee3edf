"""Stage verify: check the fix by code, and let a model judge only the rest."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.errors import ModelRefused, RunError
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.remediate.frozen_locks import list_refused, list_unproved
from agents.pipelines.remediate.prompt_text import alerts_shown, moves_shown, results_shown
from agents.pipelines.remediate.work import FixObjection, VerifyResult, Work
from agents.pipelines.stages.onboarding import DIFF_LIMIT, read_instructions
from agents.pipelines.stages.quality import CheckResult, some_names
from agents.requests import RemediateAlert, Severity
from agents.run import StageContext, stage

OUTPUT_LIMIT = 4_000  # characters of what failing checks wrote that are handed on

_FAILS = "The check `{name}` (`{command}`) passed before the change and fails now."
_FAILS_MORE = (
    "The check `{name}` (`{command}`) failed before the change, too, but now it fails in more"
    " places. New: {new}."
)
_INSTALL = "With the change the dependencies cannot be installed as locked: {problem}"
_LOOSENED = "The change takes something away from the repository's tests or checks."
_CHANGED = (
    "The files changed while the fix was only to be looked at, so nothing that was found can be"
    " trusted. Run it again; if it happens once more, look at the sandbox."
)
_WORDS = {
    (True, True): "stands, says {by}",
    (True, False): "not verified: {by} has nothing against it",
    (False, True): "does not stand, says {by}",
    (False, False): "does not stand, says {by}",
}
_KEEP = "Put back what was taken from tests and checks, and mend the code instead."


class Objection(BaseModel):
    """Something that is wrong with the fix."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    category: Literal["tests", "breaking", "incomplete", "other"]
    """`tests`: what tests show; `breaking`: what the new version changed and the code relies on;
    `incomplete`: a copy or a place that stays vulnerable."""
    severity: Severity
    """How bad it would be to merge it so."""
    description: str = Field(min_length=10, max_length=1_000)
    """What is wrong, and what shows it: file and line, or what you ran."""
    suggestion: str = Field(max_length=1_000)
    """What would put it right."""


class Verification(Submission, tool="submit_verification"):
    """Deliver your verdict on the fix."""

    passed: bool
    """Whether you would merge it."""
    issues: tuple[Objection, ...] = Field(default=(), max_length=10)
    """Each thing that is wrong with it."""
    feedback: str = Field(max_length=3_000)
    """For whoever makes the next fix from the start: what to do differently. Empty if it passed."""
    reasoning: str = Field(min_length=20, max_length=3_000)
    """What you looked at and ran, and what it showed. Reviewers read it."""


VERIFY = Conversation(
    name="verify",
    prompt=prompt_path(__file__, "verify.md"),
    output=Verification,
    capability=Capability.READ_ONLY,
    tier="judge",
)


@stage
async def verify(run: StageContext, request: RemediateAlert, work: Work) -> Work:
    """Look at the fix with fresh eyes."""
    verdict = by_code(work)
    if verdict is None and request.skip_verify:
        verdict = VerifyResult(passed=True, by="nobody")
    if verdict is None:
        verdict = await _by_model_if_any(run, work)
    run.summarize(_WORDS[verdict.passed, work.verified].format(by=verdict.by))
    return work.model_copy(update={"verdict": verdict})


def by_code(work: Work) -> VerifyResult | None:
    """Return the verdict that needs no model; None where one has to look.

    What fails newly is a no. A patch or minor move by one of the ladder's first rungs is a yes:
    everything that could be said of it was measured. Another's pull request is only proved here,
    and judged by people.
    """
    assert work.bump is not None, "a fix was made"
    assert work.quality is not None, "and checked"
    issues = (
        *_list_failing_checks(work),
        *_list_install_problems(work),
        *_list_unproved_locks(work),
        *_list_loosened(work),
    )
    if issues:
        output = "\n\n".join(check.output for check in work.quality.failing)[-OUTPUT_LIMIT:]
        feedback = "\n".join(f"{i.description} {i.suggestion}".strip() for i in issues)
        return VerifyResult(
            passed=False, by="code", issues=issues, test_output=output, feedback=feedback
        )
    if (work.mechanical or work.bump.by == "other") and not work.adapted:
        return VerifyResult(passed=True, by="code")
    return None


async def _by_model_if_any(run: StageContext, work: Work) -> VerifyResult:
    """Have a model look; where none did, what code alone made and proved waits for people.

    What a model made stands on nobody's word but its own then, and does not pass.
    """
    try:
        return await _by_model(run, work)
    except ModelRefused as refused:
        by_code = work.bump is not None and work.bump.by == "ladder" and not work.adapted
        if not by_code:
            raise
        alone = not work.companions  # else what needs no look does not wait for one
        return VerifyResult(passed=alone, by="nobody", unseen=True, reasoning=str(refused))


async def _by_model(run: StageContext, work: Work) -> VerifyResult:
    """Ask somebody who has seen nothing but the change and what our process measured."""
    run.update_state(tainted=True)  # an advisory's text and foreign releases are anybody's
    tree = await run.tree(run.head)
    before = await tree.snapshot()
    found = await run.converse(
        VERIFY,
        objection=_objection,
        instructions=await read_instructions(run),
        alerts=await alerts_shown(run, *work.groups),
        moves=moves_shown(run, work),
        results=results_shown(run, work),
        diff=run.fence(await tree.diff(run.base, run.head), limit=DIFF_LIMIT),
    )
    if await run.at_work.snapshot() != before:
        raise RunError(_CHANGED)
    return VerifyResult(
        passed=found.passed,
        by="model",
        issues=tuple(FixObjection(**each.model_dump()) for each in found.issues),
        feedback=found.feedback,
        reasoning=found.reasoning,
    )


def _objection(found: Verification) -> str | None:
    grave = [each for each in found.issues if each.severity in ("high", "critical")]
    if found.passed and grave:
        return "A fix with a high or critical issue does not pass: decide which of the two holds."
    if not found.passed and not (found.feedback.strip() and found.issues):
        return "A fix that does not pass needs `issues`, and `feedback` for whoever tries again."
    return None


def _list_failing_checks(work: Work) -> list[FixObjection]:
    checks = work.quality.failing if work.quality else ()
    return [
        FixObjection(
            category="tests",
            severity="high",
            description=_describe_failing_check(work, check),
            suggestion="Make the code work with the new version; leave the check as it is.",
        )
        for check in checks
    ]


def _describe_failing_check(work: Work, check: CheckResult) -> str:
    assert work.quality is not None, "and checked"
    command = check.command[:200]
    if not work.quality.red_before(check):
        new = f" These fail: {some_names(check.new)}." if check.new else ""
        return _FAILS.format(name=check.name, command=command) + new
    return _FAILS_MORE.format(name=check.name, command=command, new=some_names(check.new))


def _list_install_problems(work: Work) -> list[FixObjection]:
    """Return what cannot be installed now and could be before."""
    if not (work.setup and work.setup.problems) or not work.quality:
        return []
    if work.quality.baseline.setup.problems:
        return []
    problem = work.setup.problems[0][:500]
    text = _INSTALL.format(problem=problem)
    return [FixObjection(category="install", severity="high", description=text)]


def _list_unproved_locks(work: Work) -> list[FixObjection]:
    """Return the files that nobody can read and no tool accepted, and the locks that one refuses.

    What the ladder has proved without installing is installed frozen by set-up, where it can be.
    """
    if work.bump is None or work.setup is None:
        return []
    faults = list_unproved(work.bump.unread, work.setup)
    if work.quality is not None:
        read = [file for bump in work.bumps for file in bump.files if file not in bump.unread]
        faults += list_refused(read, work.setup, work.quality.baseline.setup)
    return [
        FixObjection(category="install", severity="high", description=f"{why}.")
        for why in dict.fromkeys(faults)
    ]


def _list_loosened(work: Work) -> list[FixObjection]:
    if work.inspection.accepted:
        return []
    places = ", ".join(sorted({each.path for each in work.inspection.grave})[:6])
    text = f"{_LOOSENED} ({places})"
    return [FixObjection(category="loosened", severity="high", description=text, suggestion=_KEEP)]
