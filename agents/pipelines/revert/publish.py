"""Stages say_why_not and publish_reversal: the two ways in which taking back ends."""

from __future__ import annotations

from agents.pipelines.revert.take_back import Reversal
from agents.pipelines.stages.quality import CheckComparison, checks_table, headline, to_code
from agents.requests import RevertChange, name_asker
from agents.run import Outcome, StageContext, stage
from agents.text import one_line, publish

KEY = "revert"
TITLE = 90
PROBLEM = 300

_BODY = """Takes back #{number}, as {asker} asked: {base} becomes as it was at {before}, but \
for what came after it. {files} changed back; git did it alone, without a contradiction, and no \
model was asked.

The tests that came with #{number} go with it. An issue that its merge has closed stays closed: \
reopen it if it is still to be done.

**Checks**

{checks}"""
_FAILS_BEFORE = "What fails on {base} as well is not held against this."
_PROBLEMS = "**Set-up failed,** so the checks mean less:\n\n{problems}"
_TOLD = "#{number} takes this back. {headline} It is merged by whoever may."
_DRAFT = " It is a draft, since its checks say more than before; its text says what."


@stage
async def say_why_not(run: StageContext, reversal: Reversal) -> Outcome:
    """Say why nothing is taken back."""
    run.lets_out()
    url = await run.ports.publisher.comment(KEY, reversal.why_not)
    run.summarize("nothing was taken back")
    return Outcome(kind="comment", text=reversal.why_not.partition("\n")[0], url=url)


@stage
async def publish_reversal(
    run: StageContext, request: RevertChange, reversal: Reversal, quality: CheckComparison
) -> Outcome:
    """Open the pull request that takes it back."""
    run.lets_out()
    branch = await run.new_branch("revert", str(request.number), run.mark)
    await run.push(branch)
    quality = run.rename_commits_in(quality)
    ready = not quality.failing
    pull_request = await run.ports.publisher.open_pull_request(
        branch=branch,
        commit=run.head,
        title=one_line(await run.format_subject(f'Revert "{request.title}"'), TITLE),
        body=_describe(request, reversal, quality),
        draft=not ready,
        terms=(await run.policy()).pull_requests,
    )
    told = _TOLD.format(number=pull_request.number, headline=headline(quality))
    await run.ports.publisher.comment(KEY, f"{told}{'' if ready else _DRAFT}")
    kind = "draft pull request" if pull_request.draft else "pull request"
    run.summarize(f"{kind} #{pull_request.number}")
    return Outcome(
        kind="pull_request",
        text=f"Opened {kind} #{pull_request.number}: {pull_request.title}. {headline(quality)}",
        url=pull_request.url,
        pull_request=pull_request,
        ready=ready,
    )


def _describe(request: RevertChange, reversal: Reversal, quality: CheckComparison) -> str:
    base, setup = to_code(reversal.base), quality.baseline.setup
    body = _BODY.format(
        number=request.number,
        asker=name_asker(request.via, request.asked_by),
        base=base,
        before=reversal.before[:10],
        files="1 file" if reversal.files == 1 else f"{reversal.files} files",
        checks=checks_table(quality),
    )
    problems = "\n".join(f"- {one_line(each, PROBLEM)}" for each in setup.problems)
    parts = [
        body,
        _FAILS_BEFORE.format(base=base) if any(r.exit_code for r in quality.baseline.runs) else "",
        _PROBLEMS.format(problems=publish(problems)) if problems else "",
    ]
    return "\n\n".join(part for part in parts if part)
