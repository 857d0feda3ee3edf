"""Stages publish_proposal and end_without: the two ways in which looking for guidance ends."""

from __future__ import annotations

from collections.abc import Iterable

from agents.pipelines.guidance.write_proposal import SUBJECT, Proposal
from agents.pipelines.stages.pull_template import put_into_template
from agents.policy import POLICY_PATH
from agents.ports import GuidanceEvidence, PullRequest
from agents.run import Outcome, StageContext, stage
from agents.text import code_span, one_line, publish

SHOWN, QUOTED = 5, 160  # voices under each line, and characters of each
_INTRODUCTION = (
    "People said the same of Fettle's changes more than once. This writes it down, so that nobody"
    " has to say it again."
)
_INSTRUCTIONS = "### `{file}`\n\nRead before every change from then on.\n\n{lines}"
_POLICY = "### `{file}`\n\nEach was asked for and denied, every time.\n\n{lines}"
_REST = (
    "Change the lines as you like before you merge. Close this if you do not want it: none of it is"
    " proposed again. There is at most one such pull request a month, and with `guidance: never` in"
    " `{file}` there are none."
)
_DID = {"remark": "asked", "denial": "denied", "revert": "had it taken back"}


@stage
async def publish_proposal(run: StageContext, proposal: Proposal) -> Outcome:
    """Propose it."""
    records = run.ports.guidance
    assert records is not None, "what is proposed was gathered from there"
    opened = await open_proposal(run, "guidance", SUBJECT, describe_proposal(proposal))
    used = [each.about for each in proposal.evidence]
    await records.remember(opened.number or 0, proposal.texts, used)
    run.summarize(f"#{opened.number}")
    return Outcome(
        kind="pull_request",
        text=f"Proposed in #{opened.number}: {len(proposal.texts)} things people said repeatedly.",
        url=opened.url,
        pull_request=opened,
    )


async def open_proposal(run: StageContext, word: str, subject: str, body: str) -> PullRequest:
    """Push what was committed to a branch named by the word, and open its pull request."""
    branch = await run.new_branch(word, run.mark)
    run.lets_out()
    await run.push(branch)
    return await run.ports.publisher.open_pull_request(
        branch=branch,
        commit=run.head,
        title=await run.format_subject(subject),
        body=await put_into_template(run, body),
        draft=False,
        terms=(await run.policy()).pull_requests,
    )


@stage
async def end_without(run: StageContext, why: str) -> Outcome:
    """Propose nothing, and tell nobody."""
    run.summarize("nothing to propose")
    return Outcome(kind="covered", text=why)


def describe_proposal(proposal: Proposal) -> str:
    """Return the pull request's body in Markdown."""
    parts = [_INTRODUCTION]
    if proposal.lines:
        lines = "\n".join(_with_voices(publish(e.text), e.evidence) for e in proposal.lines)
        parts.append(_INSTRUCTIONS.format(file=proposal.file, lines=lines))
    if proposal.rules:
        lines = "\n".join(_with_voices(code_span(e.line), e.evidence) for e in proposal.rules)
        parts.append(_POLICY.format(file=POLICY_PATH, lines=lines))
    return "\n\n".join([*parts, _REST.format(file=POLICY_PATH)])


def _with_voices(line: str, evidence: Iterable[GuidanceEvidence]) -> str:
    """Return a line of the list, with who said it, where, and how it began."""
    voices = list(evidence)
    said = [
        f"  - #{each.number}, `{each.said_by}` {_DID[each.kind]}:"
        f" {one_line(publish(each.words), QUOTED)}"
        for each in voices[:SHOWN]
    ]
    more = [f"  - and {len(voices) - SHOWN} more"] if len(voices) > SHOWN else []
    return "\n".join([f"- {line.strip()}", *said, *more])
