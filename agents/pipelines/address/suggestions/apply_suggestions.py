"""Stage apply_suggestions: commit reviewers' suggested changes without a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from agents.errors import RunError, ToolError
from agents.pipelines.address.suggestions.choice import (
    ChosenSuggestion,
    LineReplacement,
    choose,
    find_contradictions,
    select_suggestions,
)
from agents.pipelines.address.suggestions.decision import AnsweredQuestion, find_answered_questions
from agents.pipelines.address.suggestions.replaced import replace_lines
from agents.pipelines.address.wording.wording import choose_wording
from agents.ports import Feedback, Thread
from agents.requests import Frozen, Person
from agents.run import StageContext, stage
from agents.text import code_span, one_line

MOST_BYTES = 1_000_000
"""Of a file: nobody suggests changes in a larger one."""


class Applied(Frozen):
    """What became of the suggestions."""

    settled: Mapping[str, str] = {}
    """The commit by thread id, where all that was said last is in it."""
    partly: Mapping[str, str] = {}
    """The commit by thread id, where something was said beside the suggestion."""
    left: Mapping[str, str] = {}
    """Why the suggestion was not applied, by thread id."""
    contested: Mapping[str, str] = {}
    """The question to the people who want different things of the same lines, by thread id."""
    decided: Mapping[str, str] = {}
    """Who decided between contradicting suggestions, by thread id; all these are in `settled`."""
    rivals: Mapping[str, str] = {}
    """What others suggest for the same lines, where somebody answered Fettle's question in words
    that only a reader understands: by thread id, untrusted."""
    asked_too: Mapping[str, tuple[str, ...]] = {}
    """The other threads that were asked the same, by such a thread's id."""
    lines: Mapping[str, tuple[str, ...]] = {}
    """What a suggestion that was applied has put there, by thread id; nothing where lines went."""

    @property
    def commits(self) -> tuple[str, ...]:
        """Return the commits that were made, in no order."""
        return tuple(dict.fromkeys((*self.settled.values(), *self.partly.values())))

    def with_done(self, done: Iterable[tuple[ChosenSuggestion, str]]) -> Applied:
        """Return it with the suggestions that were applied, each with its commit."""
        done = list(done)
        return self.model_copy(
            update={
                "settled": {each.thread.id: commit for each, commit in done if each.whole},
                "partly": {each.thread.id: commit for each, commit in done if not each.whole},
                "lines": {each.thread.id: each.suggestion.lines for each, _ in done},
            }
        )

    def with_decisions(self, asked: Iterable[AnsweredQuestion]) -> Applied:
        """Return it with all threads settled that were asked the same, where one was decided."""
        settled, partly, decided = dict(self.settled), dict(self.partly), dict[str, str]()
        left = dict(self.left)
        for each in asked:
            if (taken := each.decided) is None:
                continue
            commit = settled.get(taken.thread.id) or partly.pop(taken.thread.id, "")
            threads = (each.thread.id, *each.others)
            if commit:
                settled |= dict.fromkeys(threads, commit)
                asked_in = {offer.thread.id: offer.thread for offer in each.offers}
                decided |= {
                    thread: each.describe_decision(taken, asked_in.get(thread, each.thread))
                    for thread in threads
                }
            else:
                left[each.thread.id] = left.get(taken.thread.id, "it could not be")
        changes = {"settled": settled, "partly": partly, "decided": decided, "left": left}
        return self.model_copy(update=changes)

    def describe_suggestion(self, thread: Thread) -> str:
        """Return what became of the thread's suggestion, for the model; empty if it has none."""
        if rivals := self.rivals.get(thread.id):
            return rivals
        if reason := self.left.get(thread.id):
            return f"Its suggestion was not applied as it is: {reason}."
        commit = self.partly.get(thread.id) or self.settled.get(thread.id)
        return f"Its suggestion was applied as it is, in {commit[:10]}." if commit else ""


@stage
async def apply_suggestions(run: StageContext, feedback: Feedback) -> Applied:
    """Apply what reviewers suggested."""
    strangers = (await run.policy()).address.outsiders
    offers = await select_suggestions(feedback.waiting, strangers=strangers)
    asked = await find_answered_questions(feedback.threads, strangers=strangers)
    decided = {each.thread.id: each.decided for each in asked if each.decided}
    taken = {each.thread.id: each for each in decided.values()}
    candidates = (*taken.values(), *offers.single)
    unclear = [each for each in asked if each.thread.id not in decided]
    applied = Applied(
        left=offers.left,
        rivals={each.thread.id: each.describe_rivals() for each in unclear},
        asked_too={each.thread.id: each.others for each in unclear},
    )
    if not candidates:
        run.summarize("no suggestion applies as it is" if offers.left else "none was suggested")
        return applied
    texts, unfit = await _texts(run, {each.thread.path for each in candidates})
    rivals = find_contradictions([*offers.single, *offers.several], texts, unfit)
    agreed = [each for each in candidates if each.thread.id not in rivals]
    chosen, refused = choose(agreed, texts, unfit)
    made, failed = await _commit(run, chosen, texts)
    failures = {each.thread.id: failed[each.change] for each in chosen if each.change in failed}
    contested = _list_questions([*offers.single, *offers.several], rivals)
    applied = applied.model_copy(
        update={"left": {**_leave_out(offers.left, contested), **refused, **failures}}
    ).with_done([(each, made[each.change]) for each in chosen if each.change in made])
    applied = applied.model_copy(update={"contested": contested}).with_decisions(asked)
    number = len(applied.commits)
    commits = "1 commit" if number == 1 else f"{number} commits"
    open_ = f", {len(rivals)} contradict each other" if rivals else ""
    done = len(applied.lines)
    run.summarize(f"{done} applied in {commits}, {len(applied.left)} left{open_}")
    return applied


def _leave_out(left: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    return {thread: reason for thread, reason in left.items() if thread not in others}


def _list_questions(
    offers: Iterable[ChosenSuggestion], rivals: Mapping[str, Sequence[ChosenSuggestion]]
) -> dict[str, str]:
    """Return the question for each thread that others contradict."""
    firsts = {each.thread.id: each for each in offers if each.thread.id in rivals}
    return {thread: _ask_both(one, rivals[thread]) for thread, one in firsts.items()}


def _ask_both(one: ChosenSuggestion, others: Sequence[ChosenSuggestion]) -> str:
    """Return the question that stands in the thread of one of two contradicting suggestions."""
    name = one_line(one.author.login, 100)
    wording = choose_wording(one.thread)
    theirs = ", ".join(
        wording.wants.format(
            author=code_span(other.author.login),
            url=other.said.url,
            place=code_span(other.change.place),
        )
        for other in others
    )
    return wording.ask.format(author=code_span(one.author.login), others=theirs, name=name)


async def _texts(run: StageContext, paths: set[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files' texts as they are in the head, and why some are left alone."""
    policy, tree = await run.policy(), await run.tree()
    texts, unfit = {}, {}
    for path in sorted(paths):
        if pattern := policy.protects(path):
            unfit[path] = f"the file is protected by `{pattern}`"
            continue
        try:  # what the head has there, and that as a plain file: a link would lead elsewhere
            data = await tree.read(path, limit=MOST_BYTES)
        except ToolError:
            unfit[path] = f"it is about nothing that is a file of at most {MOST_BYTES:,} bytes now"
        else:
            texts[path] = data.decode("utf-8", "surrogateescape")
    return texts, unfit


async def _commit(
    run: StageContext, chosen: Sequence[ChosenSuggestion], texts: Mapping[str, str]
) -> tuple[dict[LineReplacement, str], dict[LineReplacement, str]]:
    """Make one commit for each author; return which one each change is in, or why none."""
    authors: dict[LineReplacement, Person] = {}
    for each in chosen:  # who wants the same as somebody before gets it with theirs
        authors.setdefault(each.change, each.author)
    made: dict[LineReplacement, str] = {}
    failed: dict[LineReplacement, str] = {}
    for author in dict.fromkeys(authors.values()):
        theirs = [change for change, whose in authors.items() if whose == author]
        try:
            await run.write(_render_files(theirs, [*made, *theirs], texts))
            commit = await run.commit(*_words(author, theirs), credit=author)
            reason = "" if commit else "git sees no change in it"
        except (RunError, ToolError) as error:  # it may be about theirs alone
            commit, reason = None, str(error).rstrip(".")
            await run.tree()
        if commit:
            made |= dict.fromkeys(theirs, commit)
        else:
            failed |= dict.fromkeys(theirs, reason)
    return made, failed


def _render_files(
    theirs: Iterable[LineReplacement], taken: Iterable[LineReplacement], texts: Mapping[str, str]
) -> dict[str, bytes]:
    """Return the files of their changes, with all changes that were taken so far."""
    paths = {change.path for change in theirs}
    return {
        path: replace_lines(
            texts[path], [each.lines for each in taken if each.path == path]
        ).encode("utf-8", "surrogateescape")
        for path in sorted(paths)
    }


def _words(author: Person, theirs: Sequence[LineReplacement]) -> tuple[str, str]:
    """Return subject and body of the commit with these changes."""
    if len(theirs) == 1:
        return f"Apply {author.login}'s suggestion in {theirs[0].path}", ""
    places = "\n".join(f"- {change.place}" for change in theirs)
    return f"Apply {len(theirs)} suggestions by {author.login}", places
