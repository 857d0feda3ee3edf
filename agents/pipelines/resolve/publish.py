"""Step 6: publish: push the branch and open the pull request."""

from __future__ import annotations

from agents.pipelines.resolve.body import pull_request_body
from agents.pipelines.resolve.craft_pr import PullRequestText
from agents.pipelines.resolve.triage import Triage
from agents.pipelines.shared.quality import Quality
from agents.requests import ResolveIssue
from agents.run import Outcome, Run, stage


@stage
async def publish(
    run: Run, request: ResolveIssue, finding: Triage, text: PullRequestText, quality: Quality
) -> Outcome:
    """Open the pull request."""
    branch = "-".join(part for part in (str(request.number or ""), text.branch, run.mark) if part)
    body = pull_request_body(request, finding, text, quality, await run.ports.journal.spent())
    await run.ports.publisher.push(f"bot/{branch}", run.head)
    pull_request = await run.ports.publisher.open_pull_request(
        branch=f"bot/{branch}",
        commit=run.head,
        title=text.title,
        body=body,
        draft=not quality.passed,
    )
    kind = "draft pull request" if pull_request.draft else "pull request"
    where = f" #{pull_request.number}" if pull_request.number else ""
    run.summary = f"{kind}{where}"
    return Outcome(
        kind="pull_request",
        text=f"Opened {kind}{where}: {pull_request.title}",
        url=pull_request.url,
        pull_request=pull_request,
    )
