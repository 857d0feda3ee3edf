"""Step 2: the `issue_comment` event: a new comment may answer what Fettle asked.

Comments that are edited or removed later never do: whoever reads the discussion must find what was
decided where it was decided. People alone can answer, with comments of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from agents.requests import Command
from handlers.commands import Said, commands
from handlers.ignored import Ignored
from handlers.payloads import CommentCreated


def created(payload: Mapping[str, Any]) -> tuple[Command, ...] | Ignored:
    """Pass on each command of the comment. Raises pydantic.ValidationError."""
    event = CommentCreated.model_validate(payload)
    said = commands(event.comment.body or "")
    if not said:
        return Ignored("no command stands at the start of a line")
    if event.installation is None:
        return Ignored("the delivery names no installation, so it is not one of the App's")
    author = event.comment.user
    if author is None or author.ghost:
        return Ignored("nobody can be named who wrote the comment")
    if author.type != "User":
        return Ignored("the comment is not a person's")
    if event.sender is None or event.sender.id != author.id:
        return Ignored("the comment was not sent by its author")
    asked = [_command(event, event.installation.id, each) for each in said]
    return tuple(dict.fromkeys(asked))  # said twice in one comment, it is one answer


def digest(body: str) -> str:
    """Return the hash by which a comment's text is known again."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def _command(event: CommentCreated, installation_id: int, said: Said) -> Command:
    assert event.comment.user is not None
    return Command(
        installation_id=installation_id,
        repository=event.repository.repository,
        number=event.issue.number,
        verb=said.verb,
        approval=said.approval,
        reason=said.tail if said.verb == "approve" else said.words,
        asked_by=event.comment.user.person,
        via="comment",
        comment_id=event.comment.id,
        digest=digest(event.comment.body or ""),
        url=event.comment.html_url,
    )
