"""Stages say_why_not and publish_reversal: the two ways in which taking back ends."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.revert.take_back import Reversal
from agents.pipelines.stages.pull_template import put_into_template
from agents.pipelines.stages.quality import CheckComparison, checks_table, headline, to_code
from agents.requests import Frozen, OnMerge, name_asker
from agents.run import Outcome, StageContext, stage
from agents.text import one_line, publish

KEY = "revert"
TITLE = 90
PROBLEM = 300

_BODY = """{why}: {base} becomes as it was at {before}, but for what came after it. {files} \
changed back; git did it alone, without a contradiction, and no model was asked.

The tests that came with #{number} go with it. An issue that its merge has closed stays closed: \
reopen it if it is still to be done.

**Checks**

{checks}"""
_ASKED = "Takes back #{number}, as {asker} asked"
_BROKE = """Since #{number} was merged, this fails on {base}, and without it no longer:

{mended}

The repository's own checks ran at {before} before the merge, at {merged} after it, and on the \
newest {base} with the change and without. This takes #{number} back"""
_FAILS_BEFORE = "What fails on {base} as well is not held against this."
_PROBLEMS = "**Set-up failed,** so the checks mean less:\n\n{problems}"
_TOLD = "#{number} takes this back. {headline} It is merged by whoever may."
_TOLD_BROKE = """Since this was merged, this fails on {base}, and without it no longer:

{mended}

#{number} takes it back. {headline} Nothing is merged by itself: merge it, or close it and mend \
the cause. To have such failures looked into no more, set `watch: {{hours: 0}}` in the policy."""
_NO_WAY = """Since this was merged, this fails on {base}:

{mended}

{why_not}"""
_DRAFT = " It is a draft, since its checks say more than before; its text says what."


class Cure(Frozen):
    """What taking the change back would mend."""

    mended: tuple[str, ...] = ()
    """The checks that began to fail with the merge, still do, and no longer without it, each with
    the names of what fails: safe to publish."""


@stage
async def say_why_not(
    run: StageContext, reversal: Reversal, failing: Sequence[str] = ()
) -> Outcome:
    """Say why nothing is taken back; `failing`: what fails since the merge, for the watch."""
    run.lets_out()
    told = reversal.why_not
    if failing:
        told = _NO_WAY.format(base=to_code(reversal.base), mended=_list(failing), why_not=told)
    url = await run.ports.publisher.comment(KEY, told)
    run.summarize("nothing was taken back")
    return Outcome(kind="comment", text=reversal.why_not.partition("\n")[0], url=url)


@stage
async def publish_reversal(
    run: StageContext,
    request: OnMerge,
    reversal: Reversal,
    quality: CheckComparison,
    cure: Cure | None = None,
) -> Outcome:
    """Open the pull request that takes it back; `cure`: what that mends, for the watch."""
    mended = cure.mended if cure is not None else ()
    run.lets_out()
    branch = await run.new_branch("revert", str(request.number), run.mark)
    await run.push(branch)
    quality = run.rename_commits_in(quality)
    ready = not quality.failing
    pull_request = await run.ports.publisher.open_pull_request(
        branch=branch,
        commit=run.head,
        title=one_line(await run.format_subject(f'Revert "{request.title}"'), TITLE),
        body=await put_into_template(run, _describe(request, reversal, quality, mended)),
        draft=not ready,
        terms=(await run.policy()).pull_requests,
    )
    told = (_TOLD_BROKE if mended else _TOLD).format(
        number=pull_request.number,
        headline=headline(quality),
        base=to_code(reversal.base),
        mended=_list(mended),
    )
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


def _list(mended: Sequence[str]) -> str:
    return "\n".join(f"- {each}" for each in mended)


def _describe(
    request: OnMerge, reversal: Reversal, quality: CheckComparison, mended: Sequence[str]
) -> str:
    base, setup, before = to_code(reversal.base), quality.baseline.setup, reversal.before[:10]
    why = (_BROKE if mended else _ASKED).format(
        number=request.number,
        asker=name_asker(request.via, request.asked_by),
        base=base,
        before=before,
        merged=request.merged[:10],
        mended=_list(mended),
    )
    body = _BODY.format(
        why=why,
        number=request.number,
        base=base,
        before=before,
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
