"""Post one answer in each review thread, by the thread's state at that moment."""

from __future__ import annotations

from collections.abc import Mapping

from agents.errors import RunError
from agents.pipelines.address.ledger import Ledger, LedgerEntry, reply, reply_in_code
from agents.pipelines.address.suggestions.suggestion import stand
from agents.pipelines.address.wording.wording import Wording
from agents.pipelines.address.work import FeedbackWork
from agents.pipelines.stages.checkout_pull_request import reviewing_port
from agents.ports import STILL_WAITING, Thread
from agents.run import StageContext
from agents.text.child_process import Exhausted, run_in_child

_LATER = "somebody has written there since it was read; the next run reads that"

FRESH = 10
"""Seconds for which a look at the threads holds. Sixty answers take minutes, and who reads the
first of them may write in a thread that is answered last."""


async def answer(run: StageContext, work: FeedbackWork, ledger: Ledger) -> Ledger:
    """Answer in each thread that waits, close what was fixed; return what came of it."""
    now, looked_at = await _look_at_threads(run), run.wall()
    read = {thread.id: thread for thread in work.feedback.threads}
    touched = await _list_touched_files(run)
    entries: list[LedgerEntry] = []
    for entry in ledger.entries:
        thread = read.get(entry.about)
        if thread is None or entry.verdict == "before":
            entries.append(entry)
        else:
            if run.wall() - looked_at > FRESH:
                now, looked_at = await _look_at_threads(run), run.wall()
            judged = await _judge_fix(run, work, thread, entry, touched)
            entries.append(await _answer_thread(run, work, now.get(thread.id), judged))
    return Ledger(entries=tuple(entries))


async def _look_at_threads(run: StageContext) -> dict[str, Thread]:
    """Return the threads that are open now, by their ids."""
    outsiders = (await run.policy()).address.outsiders
    found = await reviewing_port(run).feedback(outsiders=outsiders)
    return {thread.id: thread for thread in found.threads}


async def _word(entry: LedgerEntry, repository_url: str, wording: Wording) -> str:
    """Return the answer; the words of it that take too much to be made harmless are code."""
    try:
        return await run_in_child(
            entry.words, reply, entry, repository_url=repository_url, wording=wording
        )
    except Exhausted:
        return reply_in_code(entry, repository_url=repository_url, wording=wording)


async def _answer_thread(
    run: StageContext, work: FeedbackWork, now: Thread | None, entry: LedgerEntry
) -> LedgerEntry:
    """Answer in the thread, once; close it if it is fixed and nothing speaks against that."""
    thread = next(each for each in work.feedback.threads if each.id == entry.about)
    if now is None:  # people have closed it, or we have before this process died
        unanswered = not await reviewing_port(run).has_answered(thread)
        return entry.model_copy(update={"resolved": True, "unanswered": unanswered})
    if now.newest_word > thread.newest_word and entry.verdict not in STILL_WAITING:
        return await _answer_what_was_read(run, work, now, entry)
    asked_before = thread.ours_is_last and now.said[-1].id == thread.said[-1].id
    if asked_before or not now.ours_is_last:  # an earlier run may have come as far as that
        wording = work.wording_of(entry.about)
        said = await _word(entry, run.request.repository_url, wording)
        try:
            await reviewing_port(run).reply(now, entry.verdict, said)  # its root may be another
        except RunError as error:  # somebody removed it, or locked the conversation: others wait
            return entry.model_copy(update={"note": str(error), "unanswered": True})
    if entry.verdict != "fixed" or entry.note:
        return entry
    try:
        why_not = await reviewing_port(run).resolve(thread)
    except RunError as error:
        why_not = str(error)
    return entry.model_copy(update={"resolved": not why_not, "note": why_not})


async def _answer_what_was_read(
    run: StageContext, work: FeedbackWork, thread: Thread, entry: LedgerEntry
) -> LedgerEntry:
    """Say which commit answers the words that were read, and that newer ones are not.

    The thread waits on: a reply is passed over where Fettle has said nothing, and would be lost.
    """
    later = entry.model_copy(update={"verdict": "later", "note": _LATER, "unanswered": True})
    wording = work.wording_of(entry.about)
    told = (entry if entry.commit else later.model_copy(update={"words": ""})).model_copy(
        update={"note": wording.newer}
    )
    said = await _word(told, run.request.repository_url, wording)
    try:
        await reviewing_port(run).reply(thread, later.verdict, said)
    except RunError as error:  # somebody removed it, or locked the conversation: others wait
        return later.model_copy(update={"note": str(error)})
    return later


async def _judge_fix(
    run: StageContext,
    work: FeedbackWork,
    thread: Thread,
    entry: LedgerEntry,
    touched: Mapping[str, set[str]],
) -> LedgerEntry:
    """Return the entry, with why the thread stays open where it is called fixed and is not."""
    if entry.verdict != "fixed":
        return entry
    note, wording = "", work.wording_of(entry.about)
    if not entry.commit:
        note = wording.not_ours
    elif thread.path not in touched.get(entry.commit, ()):
        note = wording.elsewhere
    elif lines := work.applied_lines(thread):
        text = await run.ports.source.show(run.head, thread.path) or b""
        note = "" if stand(text.decode("utf-8", "surrogateescape"), lines) else wording.undone
    return entry.model_copy(update={"note": note})


async def _list_touched_files(run: StageContext) -> dict[str, set[str]]:
    """Return which files each of the run's commits changes."""
    tree, before = await run.tree(), run.start
    found: dict[str, set[str]] = {}
    for commit, _ in await run.ports.source.commits(run.start, run.head):
        found[commit] = set(await tree.list_changed_paths(before, commit))
        before = commit
    return found
