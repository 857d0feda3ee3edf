"""Stages gather and find_lessons: what people said, and what of it more than once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from pydantic import BaseModel, ConfigDict, Field

from agents.errors import ModelRefused
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.guidance.instruction_lines import find_file
from agents.pipelines.stages.onboarding import read_instructions
from agents.ports import GatheredEvidence, GuidanceEvidence
from agents.requests import Frozen
from agents.run import StageContext, stage
from agents.text import clean_in_child, one_line

WORDS_LIMIT = 1_500  # characters of each thing that was said
WHAT = {
    "remark": "{by} asked for a change on #{number}",
    "denial": "{by} denied a call on #{number}",
    "revert": "{by} had #{number} taken back after it was merged",
}


class Lesson(BaseModel):
    """One line for the instructions."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    line: str = Field(min_length=15, max_length=240)
    """The instruction, as one sentence without a list's dash."""
    evidence: tuple[str, ...] = Field(min_length=2, max_length=12)
    """The keys of what it was said in, like `e3`, from at least two issues or pull requests."""


class FoundLessons(Submission, tool="submit_lessons"):
    """Deliver the lines that are worth proposing."""

    lessons: tuple[Lesson, ...] = Field(default=(), max_length=5)
    """The clearest ones; empty where there are none."""


class BackedLine(Frozen):
    """A line that is proposed, with what people said that makes it worth proposing."""

    text: str
    evidence: tuple[GuidanceEvidence, ...]


class Lessons(Frozen):
    """What people said more than once."""

    lines: tuple[BackedLine, ...] = ()


FIND_LESSONS = Conversation(
    name="find_lessons",
    prompt=prompt_path(__file__, "find_lessons.md"),
    output=FoundLessons,
    capability=Capability.READ_ONLY,
    max_turns=16,
)


@stage
async def gather(run: StageContext) -> GatheredEvidence:
    """Read what people said of earlier work."""
    trunk = await run.ports.source.fetch()
    await run.stand_on(trunk)
    await run.policy()  # an unreadable one ends the run before it costs anything
    records = run.ports.guidance
    gathered = await records.gather() if records is not None else GatheredEvidence()
    if gathered.enough:  # files lie beside what was installed; what fails must be known before
        await run.install()
    run.summarize(f"{len(gathered.evidence)} remarks, denials and reverts")
    return gathered


@stage
async def find_lessons(run: StageContext, gathered: GatheredEvidence) -> Lessons:
    """Find what people say again and again."""
    keyed = {f"e{number}": each for number, each in enumerate(gathered.evidence, 1)}
    try:
        found = await run.converse(
            FIND_LESSONS,
            objection=partial(_object, keyed, gathered.declined),
            file=await find_file(run),
            instructions=await read_instructions(run),
            declined=run.fence("\n".join(f"- {line}" for line in gathered.declined)),
            evidence=[await _describe(run, key, each) for key, each in keyed.items()],
        )
    except ModelRefused:  # there may be none: what follows from denials needs none either
        run.summarize("came to no result")
        return Lessons()
    run.summarize(f"{len(found.lessons)} worth proposing")
    return Lessons(
        lines=tuple(
            BackedLine(
                text=one_line(each.line, 240),
                evidence=tuple(keyed[key] for key in dict.fromkeys(each.evidence)),
            )
            for each in found.lessons
        )
    )


async def _describe(run: StageContext, key: str, said: GuidanceEvidence) -> dict[str, str]:
    return {
        "key": key,
        "what": WHAT[said.kind].format(by=said.said_by, number=said.number),
        "words": run.fence((await clean_in_child(said.words)).text, limit=WORDS_LIMIT),
    }


def _object(
    keyed: Mapping[str, GuidanceEvidence], declined: Sequence[str], found: FoundLessons
) -> str | None:
    """Return what no maintainer should be shown: lines of one voice, and those declined before."""
    before = {_plain(line) for line in declined}
    faults: list[str] = []
    for number, lesson in enumerate(found.lessons, 1):
        unknown = [key for key in lesson.evidence if key not in keyed]
        places = {keyed[key].number for key in lesson.evidence if key in keyed}
        if unknown:
            faults.append(f"Line {number} names {', '.join(unknown)}, which nobody said.")
        elif len(places) < 2:
            faults.append(
                f"Line {number} rests on one issue or pull request: leave it out, or name where"
                " else people said it."
            )
        if _plain(lesson.line) in before:
            faults.append(f"Line {number} was proposed before and not wanted: leave it out.")
        if "\n" in lesson.line or "<!--" in lesson.line or lesson.line.startswith(("#", "-", "*")):
            faults.append(f"Line {number} has to be one plain sentence.")
    return " ".join(faults) or None


def _plain(line: str) -> str:
    return "".join(letter for letter in line.casefold() if letter.isalnum())
