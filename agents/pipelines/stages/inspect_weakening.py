"""Stage inspect: list how the change weakens tests and checks, and ask people about it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from agents.analysis.weakening import (
    Finding,
    find_unseen_tests,
    find_weakening,
    is_settings,
)
from agents.errors import ToolError
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.stages.exposure import find_opened
from agents.pipelines.stages.weakening_text import format_section, list_questions
from agents.ports import Approval
from agents.requests import Frozen
from agents.run import StageContext, stage
from agents.text import printable

AROUND = 400  # lines around each change: what a line belongs to is read from them
RULE = "change/loosened"
WHAT = "loosen tests or checks"
REASON = (
    "The change takes something away from the repository's tests, or from the settings of its"
    " checks. With a yes it goes into the pull request as it is; with a no the engineer is asked to"
    " put it back."
)

WeakeningAnswer = Literal["", "approved", "denied", "void", "nobody"]


class Inspection(Frozen):
    """What the change takes away from tests and checks, and what people say to it."""

    commit: str = ""
    """The commit that was looked at: a yes holds for nothing else."""
    findings: tuple[Finding, ...] = ()
    word: WeakeningAnswer = ""
    """What came of asking; empty when there was nothing to ask."""
    by: str = ""
    """Who decided."""
    reason: str = ""
    """What they said, or why their word is void: untrusted."""
    approval: str = ""

    @property
    def grave(self) -> tuple[Finding, ...]:
        """Return what people have to agree to."""
        return tuple(each for each in self.findings if each.grave)

    @property
    def denied(self) -> bool:
        """Return whether somebody said no."""
        return self.word == "denied"

    @property
    def accepted(self) -> bool:
        """Return whether nothing is left that somebody would have to agree to."""
        return not self.grave or self.word == "approved"

    @property
    def title(self) -> str:
        """Return the heading of the section."""
        opened = all(each.kind in ("unsafe", "host", "licence") for each in self.findings)
        return "What the change opens" if opened else "What was loosened"

    @property
    def section(self) -> str:
        """Return all of it for the pull request's body, safe to publish; empty without findings."""
        return format_section(self.findings, self._verdict) if self.findings else ""

    @property
    def _verdict(self) -> str:
        if not self.grave:
            return ""
        said = f": {self.reason}" if self.reason else ""
        return {
            "approved": f"{self.by} approved this (approval {self.approval}){said}",
            "denied": f"Not approved: {self.by} said no (approval {self.approval}){said}",
            "void": f"Not approved: the answer to approval {self.approval} no longer holds{said}",
        }.get(self.word, f"Not approved: nobody could be asked{said}")


class FixDone(Submission, tool="submit_fix"):
    """Deliver what you mended."""

    summary: str
    """Point by point: what was wrong, what you changed, what you left or still fails, and why."""


PUT_BACK = Conversation(
    name="put_back",
    prompt=prompt_path(__file__, "put_back.md"),
    output=FixDone,
    capability=Capability.CHANGE,
    resumes="implement",
)


@stage
async def inspect(
    run: StageContext, lost: tuple[Finding, ...] = (), earlier: Inspection | None = None
) -> Inspection:
    """Look for tests and checks that the change loosens.

    `lost`: tests that ran before and do not now, as the checks say, though the diff does not show
    them. `earlier`: what was found before the engineer put things back. People who said no are not
    asked a second time: what is still there is theirs to see in a draft.
    """
    places = await find_weakened(run, run.base, run.head)
    return await judge(run, (*lost, *places), earlier)


async def judge(
    run: StageContext, places: tuple[Finding, ...], earlier: Inspection | None
) -> Inspection:
    """Return what people say to these findings, which are about the run's head."""
    inspection = Inspection(commit=run.head, findings=places)
    if not inspection.grave:
        run.summarize(f"{len(places)} to point out" if places else "nothing")
        return inspection
    run.summarize(f"{len(inspection.grave)} to agree to")
    if earlier is not None and earlier.denied:
        kept = {"word": "denied", "by": earlier.by, "reason": earlier.reason}
        return inspection.model_copy(update={**kept, "approval": earlier.approval})
    if run.ports.approvals is None:
        return inspection.model_copy(update={"word": "nobody"})
    return inspection.model_copy(update=await _ask_people(run, inspection.grave))


@stage
async def put_back(run: StageContext, inspection: Inspection) -> FixDone:
    """Put back what people did not accept."""
    places = "\n".join(f"- {each.place}: {each.what}: {each.text}" for each in inspection.grave)
    done = await run.converse(
        PUT_BACK,
        places=run.fence(places),
        by=inspection.by,
        reason=run.fence(inspection.reason or "(no reason given)"),
    )
    commit = await run.commit("Put back what was not accepted", done.summary)
    run.summarize(f"changed: {commit[:10]}" if commit else "nothing changed")
    return done


async def _ask_people(run: StageContext, findings: Sequence[Finding]) -> dict[str, str]:
    """Return what people decided. They see each place, or counts where a line must not be shown."""
    fault = ""
    for question in list_questions(findings):
        try:
            said = await run.consent(WHAT, question, rule=RULE, reason=REASON)
        except ToolError as error:
            fault = str(error)
        else:
            return _answer(said)
    return {"word": "nobody", "reason": fault}


def _answer(said: Approval) -> dict[str, str]:
    word = said.state if said.state in ("approved", "denied") else "void"
    reason = printable(said.reason).strip()
    return {"word": word, "by": said.decided_by, "reason": reason, "approval": said.id}


async def find_weakened(run: StageContext, old: str, new: str) -> tuple[Finding, ...]:
    """Return what the change between two commits or trees takes away from tests and checks."""
    tree = await run.tree()
    changed = await tree.list_changed_paths(old, new)
    settings = {
        path: (_decode(await tree.show(old, path)), _decode(await tree.show(new, path)))
        for path in changed
        if is_settings(path)
    }
    diff = await tree.diff(old, new, context=AROUND)
    # A large diff takes seconds of work, which must not hold up other runs.
    weakened = await asyncio.to_thread(find_weakening, diff, settings)
    opened = await find_opened(run, tree, (old, new), diff)
    return (*weakened, *find_unseen_tests(changed, diff), *opened)


def _decode(text: bytes | None) -> str | None:
    return None if text is None else text.decode("utf-8", "replace")
