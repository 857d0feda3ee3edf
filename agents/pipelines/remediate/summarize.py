"""Stage summarize: one paragraph by the model, only where one was used anyway."""

from __future__ import annotations

from pydantic import Field

from agents.errors import WORDLESS
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.remediate.prompt_text import moves_shown, results_shown
from agents.pipelines.remediate.work import Work
from agents.run import StageContext, stage

WORDS = 110


class Summary(Submission, tool="submit_summary"):
    """Deliver the paragraph."""

    text: str = Field(min_length=20, max_length=1_200)
    """At most 110 words of plain prose: what was hard, what was done, what to look at twice."""


SUMMARIZE = Conversation(
    name="summarize",
    prompt=prompt_path(__file__, "summarize.md"),
    output=Summary,
    capability=Capability.READ_ONLY,
    tier="fast",
    effort="low",
    max_turns=4,
)


@stage
async def summarize(run: StageContext, work: Work) -> Work:
    """Say in a paragraph what was done."""
    try:
        done = await run.converse(
            SUMMARIZE,
            objection=_objection,
            moves=moves_shown(run, work),
            results=results_shown(run, work),
            words=run.fence(_words(work)),
        )
    except WORDLESS:  # the tables say it all
        return work
    return work.model_copy(update={"prose": done.text})


def _objection(done: Summary) -> str | None:
    count = len(done.text.split())
    return f"That is {count} words; at most {WORDS} have room." if count > WORDS else None


def _words(work: Work) -> str:
    verdict = work.verdict
    parts = (
        work.bump.summary if work.bump else "",
        work.adapted,
        *(f"An earlier try was taken back: {each.verdict.feedback}" for each in work.failed),
        verdict.reasoning if verdict else "",
        *(f"{i.severity}: {i.description}" for i in (verdict.issues if verdict else ())),
    )
    return "\n\n".join(part for part in parts if part)[:12_000]
