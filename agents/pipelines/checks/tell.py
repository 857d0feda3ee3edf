"""Stages leave, report, keep_back: tell the pull request how the failed checks ended."""

from __future__ import annotations

from agents.pipelines.checks.consider import MOST, ChecksDue, remember
from agents.pipelines.checks.failures import Failure, FailureKind, Failures
from agents.pipelines.stages.push_update import PushResult
from agents.pipelines.stages.quality import VerifiedChange, checks_table, headline, to_code
from agents.pipelines.stages.save_unfinished import keep_on_own_branch
from agents.requests import FixChecks
from agents.run import Outcome, StageContext, stage
from agents.text import publish

KEY = "checks"
SHOWN = 40  # rows of the table
WORDS_LIMIT = 700  # characters of what the model says of one check
SUMMARY_LIMIT = 4_000

_STOPPED = """### Checks still fail on {head}, and Fettle stops here

It mended checks {most} times in a row, and nobody else pushed in between. A third try would be a \
guess: somebody has to look. Once anybody has pushed to this branch, or a review asked for a \
change, it counts anew."""
_STOPPED_ABOVE = """### Checks fail on {head}, and Fettle stops here

It has adapted the code to this update in {made}, and the bot has pushed since. Doing so after \
every push of the bot would be paid for each time: take the change over from the newest of them, \
or let Fettle push to this branch, then write `/bot retry`."""
_HEAD = "### Checks that failed on {head}"
_RUNNING = "Still at work when Fettle looked, so not in the table: {names}."
_ON_A_BOTS = (
    "{bot} leaves a branch alone once others have pushed to it. To have it made anew without this"
    " commit: {how}."
)
_ANEW = {
    "renovate[bot]": "tick the box for a rebase in its description",
    "dependabot[bot]": "comment `@dependabot recreate`",
}
_REPLAYED = "Somebody pushed meanwhile: the change was put on top of theirs and checked anew."
_KINDS: dict[FailureKind, str] = {
    "branch": "because of this branch",
    "flaky": "flaky",
    "base": "fails on {base} as well",
    "external": "outside of the code",
}
_OF_UPDATE = "because of the update"
_NOTHING: dict[FailureKind, str] = {
    "branch": "not mended",
    "flaky": "nothing: run it again",
    "base": "nothing: it has to be mended there",
    "external": "nothing: no commit changes that",
}


@stage
async def leave(run: StageContext, request: FixChecks, due: ChecksDue) -> Outcome:
    """Leave the checks to others."""
    if not due.stops:
        run.summarize("nobody needs to hear of it")
        return Outcome(kind="covered", text=due.covered)
    run.lets_out()
    made = ", ".join(f"#{number}" for number in due.stacked)
    body = (_STOPPED_ABOVE if made else _STOPPED).format(
        head=request.head[:10], most={2: "two"}.get(MOST, MOST), made=made
    )
    url = await run.ports.publisher.comment(KEY, body)
    await remember(run, request.head)
    run.summarize("a person has to look")
    return Outcome(kind="comment", text="Checks still fail; a person has to look.", url=url)


@stage
async def report(
    run: StageContext,
    failures: Failures,
    verified: VerifiedChange | None = None,
    landing: PushResult | None = None,
) -> Outcome:
    """Report what came of the checks."""
    run.lets_out()
    pushed = run.head if landing and not run.unchanged else ""
    body = _body(run, failures, pushed, _REPLAYED if landing and landing.renamed else "")
    if verified and landing:
        body += f"\n\n{format_measurements(verified.with_landing(landing))}"
    url = await run.ports.publisher.comment(KEY, body)
    await remember(run, failures.head, pushed)
    run.summarize(f"pushed {pushed[:10]}" if pushed else "nothing to push")
    if not (verified and landing and pushed):
        text = "No failing check was mended: see why."
        return Outcome(kind="comment", text=text, url=url)
    verified = verified.with_landing(landing)
    done = "Pushed a change that mends" if verified.ready else "Pushed a change for"
    text = f"{done} the failing checks. {headline(verified.quality)}"
    return Outcome(kind="comment", text=text, url=url, ready=verified.ready)


@stage
async def keep_back(
    run: StageContext,
    failures: Failures,
    verified: VerifiedChange,
    landing: PushResult | None = None,
) -> Outcome:
    """Keep the change back."""
    run.lets_out()
    verified = verified.with_landing(landing) if landing else verified
    kept = await keep_on_own_branch(run, then="push what is right")
    why = f"The change was made, but not pushed. {verified.why_not(landing)} {kept}"
    body = f"{_body(run, failures, '', why)}\n\n{format_measurements(verified)}"
    url = await run.ports.publisher.comment(KEY, body)
    await remember(run, failures.head, kept_back=True)
    run.summarize("not pushed")
    return Outcome(kind="failed", text=why, url=url)


def _body(run: StageContext, failures: Failures, pushed: str, note: str) -> str:
    """Return the table of the checks, and what is to be said of the change."""
    parts = (
        _HEAD.format(head=failures.head[:10]),
        describe_failures(run, failures, pushed),
        note,
        _name_way_back(failures) if pushed else "",
        describe_summary(run, failures),
    )
    return "\n\n".join(part for part in parts if part)


def describe_failures(run: StageContext, failures: Failures, pushed: str) -> str:
    """Return the table of the checks; `pushed`: the commit that mends those that it is for."""
    rows = [_row(run, each, failures, pushed) for each in failures.every[:SHOWN]]
    if len(failures.every) > SHOWN:
        rows.append(f"| and {len(failures.every) - SHOWN} more | | |")
    running = ", ".join(map(to_code, failures.running[:SHOWN]))
    table = "\n".join(("| Check | What it is | What was done |", "| --- | --- | --- |", *rows))
    return f"{table}\n\n{_RUNNING.format(names=running)}" if running else table


def describe_summary(run: StageContext, failures: Failures) -> str:
    """Return what the model says of its change, safe to publish."""
    return publish(failures.summary, repository_url=_url(run), limit=SUMMARY_LIMIT)


def _name_way_back(failures: Failures) -> str:
    """Return how a bot's pull request becomes its own again; empty for any other."""
    how = _ANEW.get(failures.updater, "see its manual")
    bot = failures.updater.removesuffix("[bot]").capitalize()
    return _ON_A_BOTS.format(bot=bot, how=how) if bot else ""


def _row(run: StageContext, failure: Failure, failures: Failures, pushed: str) -> str:
    kind = _KINDS[failure.kind].format(base=to_code(failures.base))
    if failure.kind == "branch" and failures.updater:
        kind = _OF_UPDATE
    done = _NOTHING[failure.kind]
    if failure.kind == "branch" and pushed and failure.said:
        done = f"changed in {pushed[:10]}"
    words = " ".join(failure.why.split())
    if failure.said:
        words = publish(words, repository_url=_url(run), limit=WORDS_LIMIT).replace("\n", " ")
    why = f": {words}" if words else ""
    name = f"{to_code(failure.check.name)} ({to_code(failure.check.app)})"
    return f"| {name} | {kind}{why.replace('|', '&#124;')} | {done} |"


def format_measurements(verified: VerifiedChange) -> str:
    """Return what our own process measured of the change."""
    loosened = verified.inspection.section
    table = f"**The repository's own checks, run here**\n\n{checks_table(verified.quality)}"
    return table + (f"\n\n**{verified.inspection.title}**\n\n{loosened}" if loosened else "")


def _url(run: StageContext) -> str:
    return run.request.repository_url
