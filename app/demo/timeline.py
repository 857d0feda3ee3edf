"""The timeline of an issue and its pull request, as the simulated GitHub recorded it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

from app.demo.scene import LABEL, Scene
from app.simulator.github.gitdir import GitDir
from app.simulator.github.state.world import Happening, Pull


@dataclass(frozen=True)
class TimelineEvent:
    """One thing that somebody did."""

    at: datetime
    who: str
    what: str


async def story_of(scene: Scene, more: Sequence[Pull] = ()) -> list[TimelineEvent]:
    """Return the moments, in the order in which they came; `more` are of other repositories."""
    moments = [*_issue(scene), *_webhooks(scene), *_first_words(scene)]
    for pull in (*scene.pulls(), *more):
        moments += await _commits(pull)
        other = pull.issue.repository is not scene.repository
        moments += () if other else _pushes(scene, pull)
        kind = "draft pull request" if pull.draft else "pull request"
        where = f" in {pull.issue.repository.name}" if other else ""
        opened = f"opened the {kind} #{pull.issue.number}{where}"
        moments.append(TimelineEvent(pull.created_at, pull.issue.author.account.login, opened))
        moments += _reviews(scene, pull)
    moments += _last_words(scene)
    # The clock knows whole seconds; of what shares one, the order above is the order it came in.
    return sorted(moments, key=lambda moment: moment.at)


def label_set_at(scene: Scene) -> datetime:
    """Return when the label was set that started everything."""
    labelled = (line.created_at for line in scene.issue.timeline if _starts(line))
    return next(labelled, scene.issue.created_at)


def _starts(line: Happening) -> bool:
    return line.event == "labeled" and line.label is not None and line.label.name == LABEL


def _issue(scene: Scene) -> Iterator[TimelineEvent]:
    issue = scene.issue
    yield TimelineEvent(
        issue.created_at, issue.author.account.login, f"opened the issue #{issue.number}"
    )
    for line in issue.timeline:
        if _starts(line):
            yield TimelineEvent(line.created_at, line.actor.account.login, f"set the label {LABEL}")


def _webhooks(scene: Scene) -> Iterator[TimelineEvent]:
    for delivery in scene.github.webhooks.log:
        if delivery.status_code == 202:
            name = f"{delivery.event}.{orjson.loads(delivery.payload).get('action', '')}"
            took = f"{delivery.seconds * 1000:.0f} ms"
            yield TimelineEvent(
                delivery.delivered_at,
                "GitHub",
                f"sent the webhook {name}, signed; taken in after {took}",
            )


def _first_words(scene: Scene) -> Iterator[TimelineEvent]:
    for reaction in scene.issue.reactions:
        what = f"reacted to the issue with {reaction.content}"
        yield TimelineEvent(reaction.created_at, reaction.user.login, what)
    for comment in scene.issue.comments:
        who = comment.author.account.login
        yield TimelineEvent(comment.created_at, who, "began to report in a comment on the issue")


def _last_words(scene: Scene) -> Iterator[TimelineEvent]:
    for comment in scene.issue.comments:
        if comment.last_edited_at is not None:
            who = comment.author.account.login
            yield TimelineEvent(comment.last_edited_at, who, "finished that comment")


def _reviews(scene: Scene, pull: Pull) -> Iterator[TimelineEvent]:
    """Yield what people say on the pull request, what is answered, and who is asked again."""
    for review in pull.reviews:
        who = review.author.account.login
        if who != scene.app.bot_login:
            number = len(review.remarks)
            threads = "1 thread" if number == 1 else f"{number} threads"
            yield TimelineEvent(review.created_at, who, f"reviewed it: {threads}")
            continue
        for remark in review.remarks:
            place = f"{remark.thread.path}:{remark.thread.original_line}"
            yield TimelineEvent(remark.created_at, who, f"answered in the thread at {place}")
    for line in pull.issue.timeline:
        if line.event == "review_requested" and line.reviewer is not None:
            asked = f"asked {line.reviewer.login} for another look"
            yield TimelineEvent(line.created_at, line.actor.account.login, asked)
    for comment in pull.issue.comments:
        if "key=ledger" in comment.body:
            what = "summed it up in a comment on the pull request"
            yield TimelineEvent(comment.created_at, comment.author.account.login, what)


async def _commits(pull: Pull) -> list[TimelineEvent]:
    git = GitDir(pull.issue.repository.gitdir)
    commits = await git.commits(f"{pull.base_sha}..{pull.head_sha}")
    return [
        TimelineEvent(
            datetime.fromisoformat(c.committer.date), c.author.name, f"committed: {c.title}"
        )
        for c in reversed(commits)
    ]


def _pushes(scene: Scene, pull: Pull) -> Iterator[TimelineEvent]:
    place = f"/{pull.issue.repository.full_name}.git/git-receive-pack"
    for asked in scene.github.requests:
        if (
            asked.method == "POST"
            and asked.path.endswith(place)
            and pull.head.encode() in asked.body
        ):
            yield TimelineEvent(asked.at, scene.app.bot_login, f"pushed the branch {pull.head}")
