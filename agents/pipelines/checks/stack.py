"""Stage stack: open what mends another bot's update as a pull request on top of it."""

from __future__ import annotations

from collections.abc import Mapping

from agents.errors import RunError
from agents.pipelines.checks.consider import remember
from agents.pipelines.checks.failures import Failures
from agents.pipelines.checks.tell import (
    KEY,
    describe_failures,
    describe_summary,
    format_measurements,
)
from agents.pipelines.stages.checkout_pull_request import reviewing_port
from agents.pipelines.stages.pull_template import put_into_template
from agents.pipelines.stages.push_update import PushResult
from agents.pipelines.stages.quality import VerifiedChange, headline
from agents.ports import PullSnapshot
from agents.run import Outcome, StageContext, stage
from agents.text import code_span, one_line

BRANCH = "adapt"
NAME, TITLE = 200, 120

_TITLE = "Adapt the code to #{number}: {title}"
_STANDS_ON = (
    "This stands on #{number}, an update of {bot}, and changes the code alone: manifests and lock"
    " files are as the bot left them. It is a pull request of its own because that one's branch,"
    " {branch}, does not take Fettle's commits. {why}"
)
_ORDER = (
    "Merge it into that branch to have both in #{number}. Where #{number} is merged first, this one"
    " goes on to {base}."
)
_UNTOLD = (
    "Look at it before you merge: nothing could tell whether anything is worse with it, see below."
)
_FAILED = "### What failed on {head}"
_DONE = "### What was changed"
_ADAPTED = """### The code is adapted in #{adapted}

Checks fail on {head} because of this update. What mends them is a {kind} of its own, \
#{adapted}, on top of this one: the branch {branch} does not take Fettle's commits. {why}

Merge #{adapted} into this branch to have both in one. Where this one is merged first, #{adapted} \
goes on to {base}. Once this branch is made anew, or this one is closed, #{adapted} is closed, \
unless somebody else has pushed to it."""
_OVER = "#{number} was {state} while Fettle was at work."
_NOT_OPENED = """### The code is adapted on {adapted}

Checks fail on {head} because of this update. What mends them lies on [{adapted}]({url}): the \
branch {branch} does not take Fettle's commits, and no pull request could be opened from there. \
{why}"""


@stage
async def stack(
    run: StageContext, failures: Failures, verified: VerifiedChange, landing: PushResult
) -> Outcome:
    """Open a pull request on top of the bot's."""
    run.lets_out()
    verified, port = verified.with_landing(landing), reviewing_port(run)
    pull = await port.pull()
    # Noted first: whoever closes what stands on a bot's pull request looks for those known here.
    await remember(run, run.start, run.head)  # the bot may have pushed since the checks failed
    branch = await run.new_branch(str(pull.number), BRANCH, run.mark)
    page = await run.push(branch)
    named = _name_all(pull, failures, landing.why_not)
    title = _TITLE.format(number=pull.number, title=one_line(pull.title, TITLE))
    try:
        _require_open(pull)
        opened = await run.ports.publisher.open_pull_request(
            branch=branch,
            commit=run.head,
            title=await run.format_subject(title),
            body=await put_into_template(run, _body(run, failures, verified, named)),
            draft=not verified.ready,
            terms=(await run.policy()).pull_requests,
            onto=pull.branch,
        )
    except RunError as error:  # such as a branch that its bot has deleted meanwhile
        there = {"adapted": code_span(branch), "url": page, "why": str(error)}
        return await _tell_branch(run, named | there)
    run.update_state(pushed=True)
    await port.replace_stacked(opened.number or 0)
    kind = "draft pull request" if opened.draft else "pull request"
    said = _ADAPTED.format(adapted=opened.number, kind=kind, **named)
    await run.ports.publisher.comment(KEY, said)
    run.summarize(f"#{opened.number} on top of #{pull.number}")
    text = f"Opened the {kind} #{opened.number} on top of this one. {headline(verified.quality)}"
    done = Outcome(kind="pull_request", text=text, url=opened.url, ready=verified.ready)
    return done.model_copy(update={"pull_request": opened})


def _body(
    run: StageContext, failures: Failures, verified: VerifiedChange, named: Mapping[str, str]
) -> str:
    """Return the description; what it cost is added once the run is over."""
    parts = (
        _STANDS_ON.format(**named),
        _ORDER.format(**named),
        "" if verified.ready else _UNTOLD,
        _FAILED.format(**named),
        describe_failures(run, failures, run.head),
        _DONE,
        describe_summary(run, failures),
        format_measurements(verified),
    )
    return "\n\n".join(part for part in parts if part)


def _require_open(pull: PullSnapshot) -> None:
    """Raise RunError where nothing is to stand on it any more, as when this was taken up again."""
    if pull.state != "open":
        raise RunError(_OVER.format(number=pull.number, state=pull.state))


async def _tell_branch(run: StageContext, named: Mapping[str, str]) -> Outcome:
    """Say on which branch the change lies, where no pull request could be opened from it."""
    run.update_state(pushed=True)
    await run.ports.publisher.comment(KEY, _NOT_OPENED.format(**named))
    await remember(run, run.start, kept_back=True)
    run.summarize("no pull request could be opened")
    text = "The change lies on {adapted}, and no pull request could be opened from it. {why}"
    return Outcome(kind="failed", text=text.format(**named), url=named["url"])


def _name_all(pull: PullSnapshot, failures: Failures, why: str) -> dict[str, str]:
    """Return what the texts name, safe to publish: a branch's name is anybody's words."""
    return {
        "number": str(pull.number),
        "bot": code_span(failures.updater),
        "branch": code_span(one_line(pull.branch, NAME)),
        "base": code_span(one_line(pull.base, NAME)),
        "head": failures.head[:10],
        "why": why,
    }
