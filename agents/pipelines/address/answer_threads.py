"""Stage answer_threads: after the push, answer each review thread."""

from __future__ import annotations

from collections.abc import Sequence

from agents.errors import RunError
from agents.pipelines.address.answers import answer
from agents.pipelines.address.ledger import Ledger
from agents.pipelines.address.work import FeedbackWork
from agents.pipelines.stages.checkout_pull_request import reviewing_port
from agents.pipelines.stages.evaluation import EvaluationFindings
from agents.pipelines.stages.push_update import PushResult
from agents.pipelines.stages.quality import (
    CheckComparison,
    CheckResult,
    format_by_exit_status,
    format_known,
    format_setup_remarks,
    format_untold,
    headline,
    tally,
    to_code,
)
from agents.ports import Batch
from agents.run import Outcome, StageContext, stage
from agents.text import one_line

KEY = "ledger"
FLAW = 400  # characters of what is wrong

_FOUND = {
    "pass": "**Fresh eyes** looked at the change and found it good.",
    "revise": "**Fresh eyes** looked at the change, and this is still wrong with it:",
    "needs_context": "**Fresh eyes** looked at the change, and only people can say whether it is"
    " right:",
}

_REPLAYED = "Somebody pushed meanwhile: this was put on top of theirs and checked anew."
_PARTLY = "What could be done without a model is done; the rest is not: {why}"
_ASKED = "Asked for another look: {logins}."


@stage
async def answer_threads(run: StageContext, work: FeedbackWork, landing: PushResult) -> Outcome:
    """Answer the reviewers."""
    run.lets_out()
    work, landing = run.rename_commits_in(work), run.rename_commits_in(landing)
    ledger = await answer(run, work, work.ledger_after(landing))
    pushed = "" if run.unchanged else run.head
    asked = await _asked_again(run, work) if pushed and not work.failure else ""
    replayed = _REPLAYED if landing.renamed else ""
    failed = _PARTLY.format(why=work.failure) if work.failure else ""
    notes = [note for note in (failed, replayed, asked, work.crafted.summary) if note]
    url = await post_summary(run, work.with_landing(landing), ledger, notes)
    await remember(run, work, pushed=pushed, kept_back=bool(failed))
    run.summarize(ledger.counts(work.feedback))
    if failed:
        return Outcome(kind="failed", text=f"{failed} {ledger.counts(work.feedback)}", url=url)
    text = f"Addressed the review: {ledger.counts(work.feedback)}"
    if verified := work.with_landing(landing).verified:
        text = f"{text} {headline(verified.quality)}"
    return Outcome(kind="comment", text=text, url=url, ready=work.with_landing(landing).ready)


async def _asked_again(run: StageContext, work: FeedbackWork) -> str:
    """Ask the reviewers for another look; return who was asked, for people."""
    try:
        asked = await reviewing_port(run).ask_again(work.feedback.reviewers)
    except RunError:  # they are told by the answers as well
        return ""
    return _ASKED.format(logins=", ".join(f"`{each}`" for each in asked)) if asked else ""


async def post_summary(
    run: StageContext, work: FeedbackWork, ledger: Ledger, notes: Sequence[str] = ()
) -> str:
    """Post the table of all that was said; return its URL."""
    missing = ledger.list_gaps(work.feedback)
    assert not missing, f"the ledger is not whole: {missing}"
    loosened, found = work.inspection.section, format_findings(work.findings)
    body = ledger.markdown(
        work.feedback,
        work.pull,
        repository_url=run.request.repository_url,
        quality=summarize_checks(work.quality),
        notes=[
            *notes,
            *([f"**{work.inspection.title}**\n\n{loosened}"] if loosened else []),
            found,
        ],
    )
    return await run.ports.publisher.comment(KEY, body)


def format_findings(findings: EvaluationFindings | None) -> str:
    """Return what fresh eyes found, for people; empty where nobody had to look."""
    if findings is None:
        return ""
    flaws = "\n".join(f"- {one_line(flaw, FLAW)}" for flaw in findings.flaws)
    said = (_FOUND[findings.verdict], findings.reasoning, flaws, findings.missing)
    return "\n\n".join(part for part in said if part.strip())


async def remember(
    run: StageContext, work: FeedbackWork, *, pushed: str, kept_back: bool = False
) -> None:
    """Note what was dealt with, so that no later run does it again."""
    batch = Batch(
        kind="reviews",
        head=work.pull.head,
        pushed=pushed,
        reviews=work.feedback.covered,
        newest_remark=work.feedback.newest_remark,
        kept_back=kept_back,
    )
    await reviewing_port(run).dealt_with(batch)


def summarize_checks(quality: CheckComparison | None) -> str:
    """Return what the checks say, in a line."""
    if quality is None:
        return ""
    said = ", ".join(
        f"{to_code(now.name)} {_word(before, now)}" for before, now in quality.compared
    )
    parts = (
        f"Checks before and after: {said}." if said else "",
        format_known(quality),
        format_by_exit_status(quality),
        format_untold(quality),
        format_setup_remarks(quality.baseline.setup),
    )
    return " ".join(part for part in parts if part)


def _word(before: CheckResult, now: CheckResult) -> str:
    words = _WORDS[bool(before.exit_code), bool(now.exit_code)]
    return f"{words} ({tally(now)})" if now.exit_code and tally(now) else words


_WORDS = {
    (False, False): "passes",
    (True, False): "passes now",
    (False, True): "**fails now**",
    (True, True): "failed before and still fails",
}
