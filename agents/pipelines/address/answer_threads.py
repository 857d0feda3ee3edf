"""Step 6: answer_threads: once the push has landed, answer each thread where it was opened."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.address.ledger import Entry, Ledger, reply
from agents.pipelines.address.work import Work
from agents.pipelines.shared.check_out import reviewing
from agents.pipelines.shared.landing import Landing
from agents.pipelines.shared.quality import Quality
from agents.ports import Batch, Thread
from agents.run import Outcome, Run, stage

KEY = "ledger"

_ELSEWHERE = "its commit does not touch the file, so whoever opened it may want to look"
_REPLAYED = "Somebody pushed meanwhile: this was put on top of theirs and checked anew."
_ASKED = "Asked for another look: {logins}."
_KEPT = "{why} It is kept on [`{branch}`]({url})."


@stage
async def answer_threads(run: Run, work: Work, landing: Landing) -> Outcome:
    """Answer the reviewers."""
    run.lets_out()
    ledger = work.ledger_after(landing)
    ledger = await answer(run, work, ledger)
    notes = [_REPLAYED] if landing.renamed else []
    if landing.pushed:
        asked = await reviewing(run).ask_again(work.feedback.reviewers)
        notes += [_ASKED.format(logins=", ".join(f"`{each}`" for each in asked))] if asked else []
    notes += [work.crafted.summary] if work.crafted.summary else []
    quality = landing.quality or work.quality
    url = await summed_up(run, work, ledger, quality, notes)
    await remember(run, work, pushed=run.head if landing.pushed else "")
    run.summary = ledger.counts(work.feedback)
    return Outcome(
        kind="comment", text=f"Addressed the review: {ledger.counts(work.feedback)}", url=url
    )


async def answer(run: Run, work: Work, ledger: Ledger) -> Ledger:
    """Answer in each thread that waits, close what was fixed; return what came of it."""
    waiting = {thread.id: thread for thread in work.feedback.waiting}
    entries: list[Entry] = []
    for entry in ledger.entries:
        if entry.about in waiting and entry.verdict != "kept_back":
            entries.append(await _answered(run, waiting[entry.about], entry))
        else:
            entries.append(entry)
    return Ledger(entries=tuple(entries))


async def _answered(run: Run, thread: Thread, entry: Entry) -> Entry:
    """Answer in the thread; close it if it is fixed, by a commit that is about its file."""
    closes = entry.verdict == "fixed"
    if closes:
        tree = await run.tree()
        closes = thread.path in await tree.changed(run.start, entry.commit)
        entry = entry if closes else entry.model_copy(update={"note": _ELSEWHERE})
    said = reply(entry, repository_url=run.request.repository_url)
    await reviewing(run).reply(thread, entry.verdict, said)
    if not closes:
        return entry
    why_not = await reviewing(run).resolve(thread)
    return entry.model_copy(update={"resolved": not why_not, "note": why_not})


async def summed_up(
    run: Run, work: Work, ledger: Ledger, quality: Quality | None, notes: Sequence[str] = ()
) -> str:
    """Post the table of all that was said; return its URL."""
    missing = ledger.covers(work.feedback)
    assert not missing, f"the ledger is not whole: {missing}"
    body = ledger.markdown(
        work.feedback,
        work.pull,
        repository_url=run.request.repository_url,
        quality=told(quality),
        notes=notes,
    )
    return await run.ports.publisher.comment(KEY, body)


async def remember(run: Run, work: Work, *, pushed: str, kept_back: bool = False) -> None:
    """Note what was dealt with, so that no later run does it again."""
    batch = Batch(
        kind="reviews",
        head=work.pull.head,
        pushed=pushed,
        reviews=work.feedback.covered,
        newest_remark=work.feedback.newest_remark,
        kept_back=kept_back,
    )
    await reviewing(run).dealt_with(batch)


def told(quality: Quality | None) -> str:
    """Return what the checks say, in a line."""
    if quality is None:
        return ""
    if not quality.runs:
        return "No checks of the repository can run here."
    said = ", ".join(
        f"`{now.name}` {_WORDS[bool(before.exit_code), bool(now.exit_code)]}"
        for before, now in quality.compared
    )
    return f"Checks before and after: {said}."


_WORDS = {
    (False, False): "passes",
    (True, False): "passes now",
    (False, True): "**fails now**",
    (True, True): "failed before and still fails",
}
