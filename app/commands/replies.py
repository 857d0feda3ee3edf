"""The answer to a `/bot` command: a reaction on its comment, and one comment of Fettle's."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from agents.errors import RunError, ToolError
from agents.requests import Command
from app.github.transport import GitHub, InstallationClient, MarkedComments, OutgoingText, Profile
from app.secrets.redaction import Redactor
from handlers.access.issues import Refusal

REACTIONS = "/repos/{owner}/{repo}/issues/comments/{id}/reactions"
PUZZLED = "confused"
LOOKED_BACK = 7 * 86_400.0
"""Seconds after a restore in which commands may come for the second time."""
ONCE_EACH = frozenset({"by-person", "by-hand", "may-answer"})
"""Rules about who may answer: each person is told once on an issue, however often they try."""
ASKER_AMONG = "asker-among"
"""A rule that is told once to each person and role, since a role may change."""
TEXT = "@{login}, about [{what}]({url}): {text}\n\nRule: `{rule}`."

log = structlog.get_logger()


@dataclass(frozen=True)
class CommandReplies:
    """Answers people. Every answer is given once, however often it is asked for."""

    github: GitHub
    redactor: Redactor
    settle: float
    restored_at: Callable[[], Awaitable[float]] | None = None
    """Returns when the database was put back from a backup, in unix seconds; 0: never."""

    async def react(self, client: InstallationClient, command: Command, face: str) -> None:
        """Add a reaction to the comment.

        https://docs.github.com/rest/reactions/reactions#create-reaction-for-an-issue-comment
        """
        if command.comment_id is None or (face == PUZZLED and await self.obeyed_before(command)):
            return
        repository = command.repository
        where = {
            "owner": repository.owner,
            "repo": repository.name,
            "id": str(command.comment_id),
        }
        # Reacting twice leaves one reaction.
        await if_possible(client.post(REACTIONS, where, data={"content": face}))

    async def refuse(self, command: Command, refusal: Refusal, *, about: str = "") -> None:
        """Say why nothing was done, once for the comment, or else once for `about`.

        Commands that a server obeyed before its data was lost are refused in silence, since people
        saw them done.
        """
        if await self.obeyed_before(command):
            log.info("refused in silence: it was obeyed before the restore", rule=refusal.rule)
            return
        what = {"button": "the button", "board": "the box"}.get(command.via, "your comment")
        text = TEXT.format(
            what=what,
            login=command.asked_by.login,
            url=command.url,
            text=refusal.text,
            rule=refusal.rule,
        )
        await self.say(command, _key(command, refusal, about), text)

    async def obeyed_before(self, command: Command) -> bool:
        """Tell whether a reaction of Fettle's on the comment says that it was obeyed."""
        restored = await self.restored_at() if self.restored_at is not None else 0.0
        if command.comment_id is None or restored < time.time() - LOOKED_BACK:
            return False
        client = await self.github.installation(
            command.installation_id, command.repository.id, Profile.REPORT
        )
        own, where = await self.github.identity(client), command.repository
        asked = {"owner": where.owner, "repo": where.name, "id": str(command.comment_id)}
        async for each in client.getiter(REACTIONS, asked):
            if (each["user"] or {}).get("id") == own.bot.id and each["content"] != PUZZLED:
                return True
        return False

    async def say(self, command: Command, key: str, markdown: str) -> None:
        """Post a comment where the command was given."""
        comments = MarkedComments(self.github, command, "commands", settle=self.settle)
        await if_possible(comments.say(key, await self.for_command(command).publish(markdown)))

    def for_command(self, command: Command) -> OutgoingText:
        """Return the cleaner of texts for that place."""
        return OutgoingText(self.github.urls, command, self.redactor)


async def if_possible(telling: Awaitable[object]) -> None:
    """Tell people; a decision stands even where GitHub cannot show it."""
    try:
        await telling
    except (RunError, ToolError) as error:
        log.warning("not told", reason=str(error))


def _key(command: Command, refusal: Refusal, about: str) -> str:
    """Return the key of the refusal's comment: what is refused for one reason is refused once."""
    if refusal.rule in ONCE_EACH:
        return f"refused-{command.asked_by.id}"
    if refusal.rule == ASKER_AMONG and command.verb in ("go", "remark"):
        return f"refused-steering-{command.asked_by.id}"
    said = (command.comment_id, command.check_run_id, command.approval or command.verb)
    return f"refused-{_short(about or repr(said), refusal.rule)}"


def _short(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
