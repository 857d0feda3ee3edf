"""Stage craft_decision_pr: open a decision's pull request, and tell the issue why."""

from __future__ import annotations

from agents.errors import BudgetExceeded, ModelRefused, RunError
from agents.loop import Capability, Conversation, prompt_path
from agents.pipelines.resolve.decision.record_decision import RecordedDecision
from agents.pipelines.resolve.decision.text import DecisionWords, answer_without_record
from agents.pipelines.stages.docs_review import whole_change
from agents.pipelines.stages.pull_template import put_into_template
from agents.ports import DECISION, PullRequest
from agents.requests import ResolveIssue
from agents.run import Outcome, StageContext, stage
from agents.text import one_line

CRAFT_DECISION_PR = Conversation(
    name="craft_decision_pr",
    prompt=prompt_path(__file__, "craft_decision_pr.md"),
    output=DecisionWords,
    capability=Capability.READ_ONLY,
    resumes="record_decision",
    tier="fast",
    handed_over=True,
    effort="low",
)
_OUTCOMES = {"decline": "Declined", "decision": "Left to a decision of people"}
_COMMENT = "decision"


@stage
async def craft_decision_pr(
    run: StageContext, request: ResolveIssue, recorded: RecordedDecision
) -> Outcome:
    """Tell people the decision."""
    if recorded.commit is None:
        return await _comment_decision(run, request, recorded, recorded.note)
    words = await _words(run, recorded)
    run.lets_out()
    try:
        pull_request = await _open_pull_request(run, request, recorded, words)
    except RunError as error:  # a decision is never silent
        return await _comment_decision(run, request, recorded, str(error))
    answer = words.answer(request, recorded.finding, pull_request)
    await run.ports.publisher.comment(_COMMENT, answer)
    run.summarize(f"pull request{f' #{pull_request.number}' if pull_request.number else ''}")
    return Outcome(
        kind="pull_request",
        text=f"{_OUTCOMES[recorded.finding.decision]}: {pull_request.title}",
        url=pull_request.url,
        pull_request=pull_request,
    )


async def _words(run: StageContext, recorded: RecordedDecision) -> DecisionWords:
    try:
        return await run.converse(CRAFT_DECISION_PR, diff=await whole_change(run))
    except (BudgetExceeded, ModelRefused):  # the record is made, and triage said why
        return DecisionWords.from_record(recorded)


async def _open_pull_request(
    run: StageContext, request: ResolveIssue, recorded: RecordedDecision, words: DecisionWords
) -> PullRequest:
    number = str(request.number or "")
    branch = await run.new_branch(number, f"{DECISION}{words.branch}", run.mark)
    await run.push(branch)
    return await run.ports.publisher.open_pull_request(
        branch=branch,
        commit=run.head,
        title=one_line(await run.format_subject(words.title), 90),
        body=await put_into_template(run, words.pull_request(request, recorded)),
        draft=False,
        terms=(await run.policy()).pull_requests,
    )


async def _comment_decision(
    run: StageContext, request: ResolveIssue, recorded: RecordedDecision, note: str
) -> Outcome:
    """Tell the decision on the issue alone."""
    body = answer_without_record(request, recorded.finding, note)
    url = await run.ports.publisher.comment(_COMMENT, body)
    run.summarize("said on the issue")
    decision = _OUTCOMES[recorded.finding.decision]
    return Outcome(kind="comment", text=f"{decision}; the issue says why.", url=url)
