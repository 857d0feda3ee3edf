"""Divide issues into sub-issues, order them and attach files, as people do."""

from __future__ import annotations

from app.simulator.github.accounts import Account, Actor
from app.simulator.github.calls import Parts
from app.simulator.github.changes.links import attach, block
from app.simulator.github.files import attach_file
from app.simulator.github.state.world import Issue, Repository


class LinksAdmin:
    """Acts as the people who do so."""

    parts: Parts

    async def add_sub_issue(self, parent: Issue, child: Issue, by: Account) -> None:
        """Make an issue the last sub-issue of another one."""
        attach(self.parts, parent, child, Actor(by))
        await self.parts.webhooks.wait_until_settled()

    async def block_issue(self, blocked: Issue, blocking: Issue, by: Account) -> None:
        """Let an issue wait for another one."""
        block(self.parts, blocked, blocking, Actor(by))
        await self.parts.webhooks.wait_until_settled()

    def attach_file(self, repository: Repository, data: bytes, *, kind: str = "image/png") -> str:
        """Upload a file for use in a text; return its address."""
        return attach_file(self.parts.world, repository.id, data, kind)
