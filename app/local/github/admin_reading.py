"""What people and machines leave on the local GitHub for others to read: reviews, logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from app.local.github.accounts import Account, Actor, App
from app.local.github.calls import Parts
from app.local.github.state import ActionsLog, CheckRun, LineRemark, Repository, Review


class ReadingAdmin:
    """Sets the scene for those who read."""

    parts: Parts

    def review(
        self,
        repository: Repository,
        number: int,
        author: Account,
        body: str,
        *,
        state: Literal["APPROVED", "CHANGES_REQUESTED", "COMMENTED"] = "COMMENTED",
        remarks: Sequence[tuple[str, int, str]] = (),
    ) -> Review:
        """Review a pull request; each remark is path, line and text."""
        pull, birth = repository.issues[number].pull, self.parts.world.birth
        assert pull
        review = Review(
            **birth(), author=Actor(author), state=state, body=body, commit=pull.head_sha
        )
        review.remarks = [
            LineRemark(**birth(), review=review, path=path, line=line, body=text)
            for path, line, text in remarks
        ]
        pull.reviews.append(review)
        return review

    def finish_check(
        self,
        repository: Repository,
        app: App,
        sha: str,
        *,
        name: str,
        conclusion: str,
        log: str,
        event: str = "push",
        by: Account | None = None,
        fork: Repository | None = None,
    ) -> CheckRun:
        """Let an Actions job have run on a commit; `by` is whose doing that was."""
        world = self.parts.world
        run = CheckRun(
            **world.birth(),
            app=app,
            suite_id=next(world.ids),
            name=name,
            head_sha=sha,
            status="completed",
            conclusion=conclusion,
            external_id="",
            details_url=None,
            started_at=world.now(),
            completed_at=world.now(),
            output={},
        )
        repository.check_runs[run.id] = run
        repository.logs[run.id] = ActionsLog(log, event, by or repository.owner, fork or repository)
        return run
