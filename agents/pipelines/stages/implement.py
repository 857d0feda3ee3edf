"""Stage implement: make one planned step in a fresh session, and commit it."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.stages.known_facts import KnownFacts, describe_facts, read_pictures
from agents.pipelines.stages.onboarding import describe_ground, find_paths, read_instructions
from agents.requests import Frozen
from agents.run import StageContext, stage
from agents.text import clean_in_child


class ChangeGoal(Frozen):
    """What was asked for, and where the change begins that answers it."""

    source: str
    """Where the wish comes from, like `The issue, octo/parse#7, written by jonas`."""
    wish: str
    """In its author's words: untrusted."""
    detail: str
    """What was found out before."""
    criteria: tuple[str, ...] = ()
    """What the wish says must be true afterwards."""
    since: str
    """The commit before the change."""
    subject: str = ""
    """Of the one commit that the change is to stay; empty where it may have several."""
    kind: str = ""
    """What the wish is about, like `bug`; empty for a part of one."""
    risk: str = ""
    """What could break, in the words of whoever found out before; empty: nothing special."""

    @property
    def is_part(self) -> bool:
        """Return whether it is a part of a larger change."""
        return bool(self.subject)


WISH_LIMIT = 60_000  # characters of the request that reach a prompt


class StepDone(Submission, tool="submit_step"):
    """Deliver the step."""

    summary: str
    """Cause and cure, for the commit's body: two to six lines."""
    tried: str
    """What you ran, and what it printed; what you could not check."""
    proof: str = Field(default="", max_length=500)
    """A command that runs just the tests you added or changed."""
    documentation: str = ""
    rejected: str = ""
    notes: str = ""


class Assignment(Frozen):
    """One step as the engineer gets it."""

    number: int
    count: int
    title: str
    brief: str
    plan: str
    """The titles of all steps, numbered."""
    source: str
    """Where the wish comes from, like `The issue, octo/parse#7`."""
    wish: str
    """What was asked for, in its author's words: untrusted."""
    part: int = 0
    """The number of the sub-issue that it resolves; 0 for a step of a plan."""
    risk: str = ""
    """What could break, in the words of whoever found out before; empty: nothing special."""
    goes_on: bool = False
    """Whether the conversation that planned it goes on to make it."""

    @property
    def heading(self) -> str:
        """Return what it is, for whoever does it."""
        if self.part:
            return f"sub-issue {self.number} of {self.count} (#{self.part})"
        return f"step {self.number} of {self.count}"

    def aim(self, since: str) -> ChangeGoal:
        """Return what the change after the commit `since` is to do."""
        subject = self.subject if self.part else ""
        return ChangeGoal(
            source=self.source,
            wish=self.wish,
            detail=self.brief,
            since=since,
            subject=subject,
            risk=self.risk,
        )

    @property
    def subject(self) -> str:
        """Return the commit's subject: the place in the plan only where there is more than one."""
        if self.part:
            return f"Sub-issue {self.number}/{self.count} (#{self.part}): {self.title}"
        return f"Step {self.number}/{self.count}: {self.title}" if self.count > 1 else self.title


class StepResult(Frozen):
    """What came of a step, in the words of whoever made it."""

    title: str
    summary: str
    tried: str
    proof: str = ""
    """A command that runs its tests; the model's, so it has to pass the gate."""
    commit: str | None
    """None when the step changed no file."""
    documentation: str = ""
    """What was done about the documentation, where that was part of the step; else empty."""
    rejected: str = ""
    """Other ways, where the words of the pull request were part of the step."""
    notes: str = ""
    """What a reviewer should look at twice."""

    @property
    def report(self) -> str:
        """Return all of it as text."""
        return f"{self.title}\n\n{self.summary}\n\nTried: {self.tried}"


IMPLEMENT = Conversation(
    name="implement",
    prompt=prompt_path(__file__, "implement.md"),
    output=StepDone,
    capability=Capability.CHANGE,
    max_turns=60,
)
RISKY = replace(IMPLEMENT, effort="high")
IMPLEMENT_HERE = replace(
    IMPLEMENT, prompt=prompt_path(__file__, "implement_here.md"), resumes="triage"
)


WORDS = ("documentation", "rejected", "notes")


@stage
async def implement(run: StageContext, assignment: Assignment, facts: KnownFacts) -> StepResult:
    """Make the step and commit it."""
    done = await (_go_on if assignment.goes_on else _begin)(run, assignment, facts)
    commit = await run.commit(assignment.subject, done.summary)
    run.summarize(f"{assignment.title}: {commit[:10] if commit else 'nothing to change'}")
    return StepResult(
        title=assignment.title,
        summary=done.summary,
        tried=done.tried,
        proof=done.proof,
        commit=commit,
        **({name: getattr(done, name) for name in WORDS} if assignment.goes_on else {}),
    )


async def _begin(run: StageContext, assignment: Assignment, facts: KnownFacts) -> StepDone:
    return await run.converse(
        RISKY if assignment.risk.strip() else IMPLEMENT,
        pictures=(pictures := await read_pictures(run)),
        pictured=bool(pictures),
        **assignment.model_dump(exclude={"wish"}),
        heading=assignment.heading,
        setup=await describe_ground(run, facts.baseline.setup),
        facts=await describe_facts(run, facts),
        instructions=await read_instructions(run, find_paths(assignment.brief)),
        wish=run.fence((await clean_in_child(assignment.wish)).text, limit=WISH_LIMIT),
    )


async def _go_on(run: StageContext, assignment: Assignment, facts: KnownFacts) -> StepDone:
    """Make it in the conversation that has read the issue and the code."""
    checks = facts.model_copy(update={"discussion": "", "excerpts": (), "linked": ()})
    nearby = await read_instructions(run, find_paths(assignment.brief), nearby_alone=True)
    return await run.converse(
        IMPLEMENT_HERE,
        title=assignment.title,
        facts=await describe_facts(run, checks),
        instructions=nearby,
    )
