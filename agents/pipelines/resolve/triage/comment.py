"""The comment that asks or proposes: its submission, and how it is posted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from agents.loop import Submission
from agents.pipelines.resolve.triage.triage import PartPlan, Triage
from agents.text import one_line, publish

Safe = Callable[..., str]
"""Makes a text of the model fit to be published."""

MOST_QUESTIONS = MOST_WAYS = 4
LONGEST = 1_000  # characters of each text of the model
PART_LIMIT = 2_000  # characters of a proposed part's text

_ASK = "### Questions before anything is changed"
_PROPOSE = "### There is more than one way to do this"
_DIVIDE = "### Parts into which this could be divided"
_ANSWER = """### How to answer

In a comment here. What somebody with write access says is taken as the answer, and the work goes \
on. So it does after `/bot go` at the start of a line: alone it means that {silence}, and words \
behind it are heard. Whoever wrote the issue can answer, too; where they have no write access, a \
maintainer then says `/bot go`.

_I wait {days}; `/bot cancel` ends it before._"""
_NOBODY = """_Nothing waits for the answer here. Put it into the issue's text, then start again._"""
_SILENCE = {
    "ask": "I may take what I would assume",
    "propose": "I may take the way that I recommend",
}


def _check_length(text: str) -> str:
    # Not a schema's length, which would stand in every prompt of the session.
    if not 3 <= len(text.strip()) <= LONGEST:
        raise ValueError(f"write a sentence or a few, {LONGEST} characters at most")
    return text


CommentWords = Annotated[str, AfterValidator(_check_length)]


class CommentPart(BaseModel):
    """A part of the comment, as the model fills it in."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class CommentQuestion(CommentPart):
    """One question."""

    question: CommentWords
    why: CommentWords
    otherwise: CommentWords
    """What you would assume."""


class Approach(CommentPart):
    """One way to do it."""

    name: CommentWords
    what: CommentWords
    pros: CommentWords
    cons: CommentWords
    complexity: Literal["small", "medium", "large"]


class ClarifyingComment(Submission, tool="submit_comment"):
    """Deliver the comment: questions or approaches, never both."""

    questions: list[CommentQuestion] = Field(max_length=MOST_QUESTIONS)
    approaches: list[Approach] = Field(max_length=MOST_WAYS)
    recommendation: str
    """The `name` of your approach."""
    reason: str

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if bool(self.questions) == bool(self.approaches):
            raise ValueError("fill in `questions` or `approaches`, and leave the other one empty")
        if self.approaches and len(self.approaches) < 2:
            raise ValueError("`approaches` needs two at least, or there is nothing to choose")
        names = [approach.name for approach in self.approaches]
        if names and self.recommendation not in names:
            raise ValueError("`recommendation` must be the `name` of one of the approaches")
        if names and not 3 <= len(self.reason.strip()) <= LONGEST:
            raise ValueError("`reason` must say in a few sentences why you recommend that approach")
        return self

    @property
    def kind(self) -> Literal["ask", "propose"]:
        """Return which of triage's decisions it carries out."""
        return "ask" if self.questions else "propose"

    def markdown(self, url: str, parts: Sequence[PartPlan], days: float | None) -> str:
        """Return the comment as it is posted in the repository at this URL.

        `parts`: what triage would divide the issue into. `days`: how long an answer is waited for;
        None: nobody can give one.
        """
        safe = partial(publish, repository_url=url)
        sections = [
            _questions(self.questions, safe) if self.questions else self._ways(safe),
            _division(parts, safe),
            _ANSWER.format(silence=_SILENCE[self.kind], days=_span(days)) if days else _NOBODY,
        ]
        return "\n\n".join(section for section in sections if section)

    def _ways(self, safe: Safe) -> str:
        ways = [_way(number, each, safe) for number, each in enumerate(self.approaches, 1)]
        chosen = safe(one_line(self.recommendation, 90))
        return "\n\n".join([_PROPOSE, *ways, f"**I recommend: {chosen}.**", safe(self.reason)])


def write_question(finding: Triage) -> ClarifyingComment:
    """Return the comment in triage's own words, where no model writes one."""
    why, detail = finding.reasoning.strip(), finding.detail.strip()
    question = CommentQuestion(
        question=f"This has to be known or chosen before anything is changed: {detail}"[:LONGEST],
        why=f"It came out of this: {why}"[:LONGEST],
        otherwise="Nothing more than the issue says.",
    )
    return ClarifyingComment(questions=[question], approaches=[], recommendation="", reason="")


def _questions(questions: Sequence[CommentQuestion], safe: Safe) -> str:
    items = [
        _item(
            number,
            safe(each.question),
            f"**Why it matters:** {safe(each.why)}",
            f"**Without an answer I would assume:** {safe(each.otherwise)}",
        )
        for number, each in enumerate(questions, 1)
    ]
    return "\n\n".join([_ASK, *items])


def _way(number: int, approach: Approach, safe: Safe) -> str:
    return _item(
        number,
        f"**{safe(one_line(approach.name, 90))}** ({approach.complexity})",
        safe(approach.what),
        f"**For:** {safe(approach.pros)}",
        f"**Against:** {safe(approach.cons)}",
    )


def _division(parts: Sequence[PartPlan], safe: Safe) -> str:
    items = [
        _item(
            number,
            f"**{safe(one_line(part.title, 120))}**",
            safe(part.body, limit=PART_LIMIT),
        )
        for number, part in enumerate(parts, 1)
    ]
    return "\n\n".join([_DIVIDE, *items]) if items else ""


def _item(number: int, *paragraphs: str) -> str:
    """Return an entry of a numbered list: indented, so that what is within stays within."""
    mark = f"{number}. "
    lines = "\n\n".join(paragraph for paragraph in paragraphs if paragraph).split("\n")
    rest = (f"{' ' * len(mark)}{line}" if line else "" for line in lines[1:])
    return "\n".join([f"{mark}{lines[0]}", *rest])


def _span(days: float) -> str:
    return "1 day" if days == 1 else f"{days:g} days"
