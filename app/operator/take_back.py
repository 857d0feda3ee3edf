"""Take back what the last run did, as the operator asks at a terminal."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import uuid4

from agents.requests import Command, Request
from app.commands.context import CommandContext
from app.commands.replies import CommandReplies
from app.commands.undo import RunUndo
from app.github.transport import GitHub, InstallationClient, Profile
from app.secrets.redaction import Redactor
from app.store.database import Database
from app.store.runs import Lanes
from handlers.access.issues import Refusal

SETTLE = 0.0
"""Seconds to wait for a comment that GitHub may not list yet: nobody else writes this one."""


@dataclass
class Undone:
    """What became of it."""

    told: str = ""
    """In words, for the operator."""
    done: bool = False
    request: Request | None = None
    """The request that takes back what is merged, which has still to be worked on."""

    def note(self, told: str, *, done: bool) -> None:
        """Note what the operator is to hear."""
        self.told, self.done = told, done

    async def keep(self, _run_id: str, request: Request) -> None:
        """Keep what has still to be worked on."""
        self.request = request


@dataclass(frozen=True)
class TerminalReplies(CommandReplies):
    """Tells people on GitHub what was done, and the operator what was not as well."""

    undone: Undone = field(default_factory=Undone)

    async def react(self, client: InstallationClient, command: Command, face: str) -> None:
        """Do nothing: there is no comment to react to."""

    async def refuse(self, command: Command, refusal: Refusal, *, about: str = "") -> None:  # noqa: ARG002 the base's shape
        """Tell the operator alone why nothing was done."""
        self.undone.note(refusal.text, done=False)

    async def say(self, command: Command, key: str, markdown: str) -> None:
        """Tell both."""
        self.undone.note(markdown, done=True)
        await super().say(command, key, markdown)


async def take_back(
    database: Database, github: GitHub, command: Command, redactor: Redactor
) -> Undone:
    """Take back what the last run did where the command says, and return what became of it.

    Raises RunError and TransientError like the requests to GitHub that it takes.
    """
    undone = Undone()
    client = await github.installation(
        command.installation_id, command.repository.id, Profile.REPORT
    )
    replies = TerminalReplies(github, redactor, SETTLE, undone=undone)
    undo = RunUndo(database, Lanes(database), replies, undone.keep)
    identity = await github.identity(client)
    await undo.obey(CommandContext(client, identity, command, f"terminal-{uuid4()}"))
    return undone
