"""Review pull requests, comment on lines and resolve threads, as people do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from app.simulator.github.accounts import Account, Actor
from app.simulator.github.calls import Parts
from app.simulator.github.state.reviews import Inline, LineRemark, Review, Thread
from app.simulator.github.state.world import Pull


class ReviewsAdmin:
    """Acts as the people who review. Each call returns when its webhooks are answered."""

    parts: Parts

    async def submit_review(
        self,
        pull: Pull,
        author: Account,
        body: str = "",
        *,
        state: Literal["APPROVED", "CHANGES_REQUESTED", "COMMENTED"] = "COMMENTED",
        comments: Sequence[Inline] = (),
        replies: Sequence[tuple[Thread, str]] = (),
        commit: str | None = None,
    ) -> Review:
        """Review; Refused when a comment's line is not in the diff."""
        review = await self.parts.reviews.submit(
            pull, Actor(author), state, body, inlines=comments, replies=replies, commit=commit
        )
        await self.parts.webhooks.wait_until_settled()
        return review

    async def reply(self, thread: Thread, author: Account, body: str) -> LineRemark:
        """Answer in a thread, in an empty review of its own as GitHub has it."""
        remark = self.parts.reviews.reply(thread, Actor(author), body)
        await self.parts.webhooks.wait_until_settled()
        return remark

    async def edit_review(self, review: Review, editor: Account, body: str) -> None:
        """Change a review's text after it was submitted."""
        self.parts.reviews.edit(review, Actor(editor), body)
        await self.parts.webhooks.wait_until_settled()

    async def edit_remark(self, remark: LineRemark, editor: Account, body: str) -> None:
        """Change a comment on a line."""
        self.parts.reviews.edit_remark(remark, Actor(editor), body)
        await self.parts.webhooks.wait_until_settled()

    async def delete_remark(self, remark: LineRemark, by: Account) -> None:
        """Remove a comment on a line."""
        self.parts.reviews.delete_remark(remark, Actor(by))
        await self.parts.webhooks.wait_until_settled()

    async def dismiss_review(self, review: Review, by: Account, message: str) -> None:
        """Let an approval or a request for changes no longer count."""
        self.parts.reviews.dismiss(review, Actor(by), message)
        await self.parts.webhooks.wait_until_settled()

    async def resolve_thread(self, thread: Thread, by: Account) -> None:
        """Settle a thread."""
        self.parts.reviews.resolve(thread, Actor(by), resolved=True)
        await self.parts.webhooks.wait_until_settled()

    async def unresolve_thread(self, thread: Thread, by: Account) -> None:
        """Open a thread again."""
        self.parts.reviews.resolve(thread, Actor(by), resolved=False)
        await self.parts.webhooks.wait_until_settled()
