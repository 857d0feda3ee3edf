"""Change reviews and their threads, and deliver webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.simulator.github.accounts import Account, Actor
from app.simulator.github.answers import ApiError
from app.simulator.github.changes.issues import Announce, IssueChanges
from app.simulator.github.schemas.common import account_json, moment
from app.simulator.github.schemas.pulls import pull_simple_json
from app.simulator.github.schemas.reviews import hook_review_json, remark_json, thread_json
from app.simulator.github.state.reviews import Inline, LineRemark, Review, ReviewState, Thread
from app.simulator.github.state.world import Pull, World
from app.simulator.github.thread_lines import Diff

Json = Any


class ReviewChanges:
    """Changes of reviews, of what they say about lines, and of who is to review."""

    def __init__(self, world: World, announce: Announce, issues: IssueChanges) -> None:
        self._world = world
        self._announce = announce
        self._issues = issues

    async def submit(
        self,
        pull: Pull,
        author: Actor,
        state: ReviewState,
        body: str,
        *,
        inlines: Sequence[Inline] = (),
        replies: Sequence[tuple[Thread, str]] = (),
        commit: str | None = None,
    ) -> Review:
        """Review a pull request; Refused 422 when a line is not in its diff."""
        diff = await Diff.compare(pull, commit or pull.head_sha) if inlines else None
        places = [diff.check(each) for each in inlines] if diff else []
        review = self._new_review(pull, author, state, body, commit)
        for inline, place in zip(inlines, places, strict=True):
            assert diff
            thread = Thread(
                **self._world.birth(),
                pull=pull,
                path=inline.path,
                side=inline.side,
                start_side=(inline.start_side or inline.side) if inline.start_line else None,
                original=place,
                original_line=inline.line,
                original_start_line=inline.start_line,
                original_commit=diff.head,
                original_base=diff.base,
                line=inline.line,
                start_line=inline.start_line,
                position=place.position,
                commit=diff.head,
            )
            pull.threads.append(thread)
            self._new_remark(review, thread, author, inline.body)
        for thread, text in replies:
            self._new_remark(review, thread, author, text)
        self._tell_submitted(review, author)
        return review

    def reply(self, thread: Thread, author: Actor, body: str) -> LineRemark:
        """Answer in a thread: GitHub puts the answer into an empty review of its own."""
        review = self._new_review(thread.pull, author, "COMMENTED", "", None)
        remark = self._new_remark(review, thread, author, body)
        self._tell_submitted(review, author)
        return remark

    def edit(self, review: Review, actor: Actor, body: str) -> None:
        """Replace a review's text."""
        before = {"body": {"from": review.body}}
        self._issues.write(review, actor, body)
        self._tell_review(review, "edited", actor, changes=before)

    def edit_remark(self, remark: LineRemark, actor: Actor, body: str) -> None:
        """Replace the text of a comment on a line."""
        before = {"body": {"from": remark.body}}
        self._issues.write(remark, actor, body)
        self._tell_remark(remark, "edited", actor, changes=before)

    def delete_remark(self, remark: LineRemark, actor: Actor) -> None:
        """Remove a comment on a line; an empty thread goes with it."""
        remark.review.remarks.remove(remark)
        remark.thread.remarks.remove(remark)
        if not remark.thread.remarks:
            remark.thread.pull.threads.remove(remark.thread)
        self._tell_remark(remark, "deleted", actor)

    def dismiss(self, review: Review, actor: Actor, message: str) -> None:
        """Let an approval or a request for changes no longer count."""
        if review.state not in ("APPROVED", "CHANGES_REQUESTED"):
            reason = f"Can not dismiss a {review.state.lower()} pull request review"
            raise ApiError(422, "Unprocessable Entity", errors=[reason])
        review.state, review.dismissal = "DISMISSED", message
        review.updated_at = self._world.get_time()
        self._issues.record_event(review.pull.issue, "review_dismissed", actor, review=review)
        self._tell_review(review, "dismissed", actor)

    def resolve(self, thread: Thread, actor: Actor, *, resolved: bool) -> None:
        """Settle a thread or open it again; nothing happens when it is so already."""
        if thread.resolved is resolved:
            return
        thread.resolved_by = actor.account if resolved else None
        action = "resolved" if resolved else "unresolved"
        payload = {
            "action": action,
            "thread": thread_json(self._world, thread),
            "pull_request": pull_simple_json(self._world, thread.pull),
            "updated_at": moment(self._world.get_time()),
        }
        self._announce(thread.pull.repository, "pull_request_review_thread", actor, payload)

    def check_reviewers(self, pull: Pull, reviewers: Sequence[Account]) -> None:
        """Refuse 422 where one of them cannot review."""
        if pull.issue.author.account in reviewers:
            raise ApiError(422, "Review cannot be requested from pull request author.")
        if not all(_is_collaborator(pull, each) for each in reviewers):
            name = pull.repository.full_name
            raise ApiError(
                422,
                "Reviews may only be requested from collaborators. One or more of the users or"
                f" teams you specified is not a collaborator of the {name} repository.",
            )

    def request(self, pull: Pull, reviewer: Account, actor: Actor) -> None:
        """Ask somebody for a review; Refused 422 for those who cannot give one."""
        self.check_reviewers(pull, [reviewer])
        if reviewer not in pull.requested:
            pull.requested.append(reviewer)
            self._tell_request(pull, reviewer, "review_requested", actor)

    def withdraw(self, pull: Pull, reviewer: Account, actor: Actor) -> None:
        """No longer ask somebody."""
        if reviewer in pull.requested:
            pull.requested.remove(reviewer)
            self._tell_request(pull, reviewer, "review_request_removed", actor)

    def _new_review(
        self, pull: Pull, author: Actor, state: ReviewState, body: str, commit: str | None
    ) -> Review:
        review = Review(
            **self._world.birth(),
            updated_at=self._world.get_time(),
            repository=pull.repository,
            author=author,
            body=body,
            pull=pull,
            state=state,
            commit=commit or pull.head_sha,
        )
        pull.reviews.append(review)
        return review

    def _new_remark(self, review: Review, thread: Thread, author: Actor, body: str) -> LineRemark:
        remark = LineRemark(
            **self._world.birth(),
            updated_at=self._world.get_time(),
            repository=review.repository,
            author=author,
            body=body,
            review=review,
            thread=thread,
            reply_to=thread.remarks[0] if thread.remarks else None,
        )
        review.remarks.append(remark)
        thread.remarks.append(remark)
        return remark

    def _tell_submitted(self, review: Review, author: Actor) -> None:
        pull = review.pull
        if author.account in pull.requested:
            pull.requested.remove(author.account)
        self._issues.touch(pull.issue)
        self._tell_review(review, "submitted", author)
        for remark in review.remarks:
            self._tell_remark(remark, "created", author)

    def _tell_review(self, review: Review, action: str, actor: Actor, **more: Json) -> None:
        payload = {
            "action": action,
            "review": hook_review_json(self._world, review),
            "pull_request": pull_simple_json(self._world, review.pull),
        }
        self._announce(review.repository, "pull_request_review", actor, payload | more)

    def _tell_remark(self, remark: LineRemark, action: str, actor: Actor, **more: Json) -> None:
        payload = {
            "action": action,
            "comment": remark_json(self._world, remark),
            "pull_request": pull_simple_json(self._world, remark.thread.pull),
        }
        event = "pull_request_review_comment"
        self._announce(remark.repository, event, actor, payload | more)

    def _tell_request(self, pull: Pull, reviewer: Account, action: str, actor: Actor) -> None:
        self._issues.record_event(pull.issue, action, actor, reviewer=reviewer)
        asked = account_json(self._world, reviewer)
        self._issues.tell(pull.issue, action, actor, requested_reviewer=asked)


def _is_collaborator(pull: Pull, account: Account) -> bool:
    known = account is pull.repository.owner or account.id in pull.repository.roles
    return known and account.kind == "User"
