"""Stages say_why_not, keep_back, report: tell the pull request how the merge ended."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.stages.checkout_pull_request import reviewing_port
from agents.pipelines.stages.push_update import PushResult
from agents.pipelines.stages.quality import VerifiedChange, checks_table, headline, to_code
from agents.pipelines.stages.save_unfinished import keep_on_own_branch
from agents.pipelines.update.merge import BaseMerge, FileStatement
from agents.ports import Batch
from agents.run import Outcome, StageContext, stage
from agents.text import one_line, publish

KEY = "update"
SHOWN = 40  # files that a comment lists
WORDS_LIMIT = 700  # characters of what the model says of one file
PROBLEM = 300

_MERGED = "### Merged {named} into this branch\n\n{commits}, without a force push."
_KEPT_BACK = """### {base} is not merged into this branch yet

{why}"""
_NOT_KEPT = "Nothing but git's own merge was made, so nothing is lost. `/bot update` begins anew."
_REPLAYED = "Somebody pushed meanwhile: the merge was made anew on top of theirs, and checked anew."
_FAILS_BOTH = "What failed before on either side is not held against the merge."


@stage
async def say_why_not(run: StageContext, merge: BaseMerge) -> Outcome:
    """Say why nothing is merged."""
    run.lets_out()
    url = await run.ports.publisher.comment(KEY, merge.why_not)
    run.summarize("nothing was merged")
    return Outcome(kind="comment", text=_first_line(merge.why_not), url=url)


@stage
async def keep_back(
    run: StageContext, merge: BaseMerge, verified: VerifiedChange, landing: PushResult | None = None
) -> Outcome:
    """Keep the merge back."""
    run.lets_out()
    verified = verified.with_landing(landing) if landing else verified
    why = verified.why_not(landing)
    kept = await _publish_attempt(run, merge)
    head = _KEPT_BACK.format(base=merge.named, why=why)
    body = _sections(head, kept, *_what_was_done(run, merge, verified))
    url = await run.ports.publisher.comment(KEY, body)
    batch = Batch(kind="update", head=merge.ours, kept_back=True)
    await reviewing_port(run).dealt_with(batch)
    run.summarize("not pushed")
    return Outcome(kind="failed", text=f"{why} {kept}", url=url)


@stage
async def report(
    run: StageContext, merge: BaseMerge, verified: VerifiedChange, landing: PushResult
) -> Outcome:
    """Report the merge."""
    run.lets_out()
    commits = "1 commit" if merge.behind == 1 else f"{merge.behind} commits"
    head = _MERGED.format(named=merge.named, commits=f"{commits} came in with {run.head[:10]}")
    replayed = _REPLAYED if landing.renamed else ""
    body = _sections(head, replayed, *_what_was_done(run, merge, verified.with_landing(landing)))
    url = await run.ports.publisher.comment(KEY, body)
    batch = Batch(kind="update", head=merge.ours, pushed="" if run.unchanged else run.head)
    await reviewing_port(run).dealt_with(batch)
    run.summarize(f"{merge.named} is in")
    verified = verified.with_landing(landing)
    text = f"Merged {merge.named} into this branch. {headline(verified.quality)}"
    return Outcome(kind="comment", text=text, url=url, ready=verified.ready)


async def _publish_attempt(run: StageContext, merge: BaseMerge) -> str:
    """Put what was made beside git's own merge on a branch; say where it is."""
    tree = await run.tree()
    if not await tree.list_changed_paths(merge.tree, run.head):
        return _NOT_KEPT
    return await keep_on_own_branch(run, then="write `/bot update`")


def _what_was_done(run: StageContext, merge: BaseMerge, verified: VerifiedChange) -> Sequence[str]:
    """Return the sections about conflicts, other files and checks."""
    url, baseline = run.request.repository_url, verified.quality.baseline
    section = verified.inspection.section
    problems = "\n".join(f"- {one_line(each, PROBLEM)}" for each in baseline.setup.problems)
    return (
        _format_statements("Conflicts, and how they were settled", merge.settled, url),
        _format_statements("Changed besides", merge.besides, url),
        f"**Checks**\n\n{checks_table(verified.quality, other=to_code(merge.base))}",
        _FAILS_BOTH if any(run.exit_code for run in (*baseline.runs, *baseline.other)) else "",
        f"**Set-up failed,** so checks mean less:\n\n{publish(problems)}" if problems else "",
        f"**{verified.inspection.title}**\n\n{section}" if section else "",
    )


def _format_statements(title: str, told: Sequence[FileStatement], url: str) -> str:
    if not told:
        return ""
    lines = [f"- {to_code(each.path)}: {_words(each.words, url)}" for each in told[:SHOWN]]
    if len(told) > SHOWN:
        lines.append(f"- and {len(told) - SHOWN} more")
    return f"**{title}**\n\n" + "\n".join(lines)


def _words(text: str, url: str) -> str:
    """Return the model's words as one line, safe to publish."""
    return publish(" ".join(text.split()), repository_url=url, limit=WORDS_LIMIT).replace("\n", " ")


def _sections(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
