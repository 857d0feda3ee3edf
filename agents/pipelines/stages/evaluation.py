"""Stage evaluation: review the change in a fresh session, before people see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.stages.implement import WISH_LIMIT, ChangeGoal
from agents.pipelines.stages.inspect_weakening import FixDone
from agents.pipelines.stages.known_facts import KnownFacts, describe_facts, read_pictures
from agents.pipelines.stages.measurement import Measurement, describe_measurement
from agents.pipelines.stages.onboarding import DIFF_LIMIT, read_instructions
from agents.requests import Frozen
from agents.run import StageContext, stage
from agents.text import clean_in_child


class _Judgement(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Flaw(_Judgement):
    """Something that is wrong with the change."""

    where: str = Field(max_length=200)
    """File, and function or line."""
    what: str = Field(min_length=10, max_length=2_000)
    """And what shows it."""


class CriterionMet(_Judgement):
    """One criterion of the issue, held against the change."""

    number: int = Field(ge=1)
    met: bool
    commit: int = Field(ge=0)
    """The commit's number; 0: none."""
    test: str = Field(max_length=200)
    """File and name."""


class Evaluation(Submission, tool="submit_evaluation"):
    """Deliver your verdict on the change."""

    verdict: Literal["pass", "revise", "needs_context"]
    reasoning: str
    """What you ran and what it showed. Shown to reviewers."""
    flaws: tuple[Flaw, ...] = Field(default=(), max_length=12)
    """For `revise`: what has to change."""
    missing: str = Field(default="", max_length=4_000)
    """For `needs_context`: what only people can say."""
    criteria: tuple[CriterionMet, ...] = Field(default=(), max_length=12)
    """Each of the prompt, once."""


EVALUATION = Conversation(
    name="evaluation",
    prompt=prompt_path(__file__, "evaluation.md"),
    output=Evaluation,
    capability=Capability.READ_ONLY,
    tier="judge",
)
SMALL, LARGE = 60, 400  # changed lines
SMALL_TURNS = 16
HARD = replace(EVALUATION, effort="high")
SHORT = replace(EVALUATION, max_turns=SMALL_TURNS)


class Criterion(Frozen):
    """A criterion of the issue, and what fulfils it."""

    text: str
    met: bool
    commit: str = ""
    """Id of the commit; empty where none does."""
    test: str = ""


class EvaluationFindings(Frozen):
    """What the judge found."""

    verdict: Literal["pass", "revise", "needs_context"]
    reasoning: str
    flaws: tuple[str, ...] = ()
    missing: str = ""
    criteria: tuple[Criterion, ...] = ()

    @property
    def passed(self) -> bool:
        """Return whether the change may be shown to people as done."""
        return self.verdict == "pass"

    @property
    def mendable(self) -> bool:
        """Return whether an engineer can mend what is wrong without asking people."""
        return self.verdict == "revise"

    @property
    def stuck(self) -> bool:
        """Return whether people have to say something first."""
        return self.verdict == "needs_context"


class Judgement(Frozen):
    """What fresh eyes say of a change, and what was measured of it before they looked."""

    verdict: EvaluationFindings
    measured: Measurement | None = None
    """None in a run that an older version began."""


@stage
async def evaluation(
    run: StageContext, aim: ChangeGoal, facts: KnownFacts, measured: Measurement | None = None
) -> EvaluationFindings:
    """Look at the change with fresh eyes."""
    tree = await run.tree()
    commits = await run.ports.source.commits(aim.since, run.head)
    numbered = [f"{number}. {subject}" for number, (_, subject) in enumerate(commits, 1)]
    diff = await tree.diff(aim.since, run.head)
    evaluated = await run.converse(
        choose_length(diff, aim.risk),
        pictures=(pictures := await read_pictures(run)),
        pictured=bool(pictures),
        objection=lambda found: _objection(found, aim, len(commits)),
        instructions=await read_instructions(
            run, await tree.list_changed_paths(aim.since, run.head)
        ),
        facts=await describe_facts(run, facts, measured=measured is not None),
        measured=describe_measurement(run, measured) if measured else "",
        risk=run.fence(aim.risk) if aim.risk else "",
        source=aim.source,
        detail=run.fence(aim.detail),
        criteria=run.fence(_number_lines(aim.criteria)) if aim.criteria else "",
        commits=run.fence("\n".join(numbered)),
        wish=run.fence((await clean_in_child(aim.wish)).text, limit=WISH_LIMIT),
        diff=run.fence(diff, limit=DIFF_LIMIT),
    )
    run.summarize(evaluated.verdict.replace("_", " "))
    return _verdict(evaluated, aim, [commit for commit, _ in commits])


def choose_length(diff: str, risk: str) -> Conversation[Evaluation]:
    """Return how long and how hard the judge may look: by the diff's size, and by what may break.

    It is the judge's model in any case.
    """
    changed = sum(line[:1] in ("+", "-") for line in diff.splitlines())
    if risk.strip() or changed > LARGE:
        return HARD
    return SHORT if changed <= SMALL else EVALUATION


def _objection(found: Evaluation, aim: ChangeGoal, commits: int) -> str | None:
    """Return what speaks against the submission: a judge must not leave anything out."""
    if sorted(met.number for met in found.criteria) != list(range(1, len(aim.criteria) + 1)):
        return f"`criteria` must hold each of the {len(aim.criteria)} criteria exactly once."
    if any(met.commit > commits for met in found.criteria):
        return f"There are {commits} commits: `commit` is one of their numbers, or 0."
    if found.verdict == "pass" and any(not met.met for met in found.criteria):
        return "A change that does not meet all criteria cannot pass."
    if found.verdict == "revise" and not found.flaws:
        return "`revise` needs `flaws`: say what has to change."
    if found.verdict == "needs_context" and not found.missing.strip():
        return "`needs_context` needs `missing`: say what only people can tell."
    return None


def _verdict(found: Evaluation, aim: ChangeGoal, commits: Sequence[str]) -> EvaluationFindings:
    met = sorted(found.criteria, key=lambda each: each.number)
    return EvaluationFindings(
        verdict=found.verdict,
        reasoning=found.reasoning,
        flaws=tuple(f"{flaw.where}: {flaw.what}" for flaw in found.flaws),
        missing=found.missing,
        criteria=tuple(
            Criterion(
                text=text,
                met=each.met,
                commit=commits[each.commit - 1] if each.commit else "",
                test=each.test,
            )
            for text, each in zip(aim.criteria, met, strict=True)
        ),
    )


def _number_lines(texts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))


REVISE = Conversation(
    name="revise",
    prompt=prompt_path(__file__, "revise.md"),
    output=FixDone,
    capability=Capability.CHANGE,
    resumes="implement",
)


@stage
async def revise(run: StageContext, verdict: EvaluationFindings, aim: ChangeGoal) -> FixDone:
    """Mend what the evaluation found."""
    flaws = "\n".join(f"- {flaw}" for flaw in verdict.flaws)
    revised = await run.converse(REVISE, flaws=run.fence(flaws))
    subject = aim.subject or "Mend what the evaluation found"
    onto = aim.since if aim.subject else ""
    commit = await run.commit(subject, revised.summary, onto=onto)
    run.summarize(f"changed: {commit[:10]}" if commit else "nothing changed")
    return revised
