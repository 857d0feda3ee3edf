"""The `issue_comment` event: a new comment may answer, steer, or ask something of Fettle.

Edited comments never do: whoever reads the discussion must find each decision where it was made.
Only people are heard, by comments that they wrote themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from agents.requests import Command, ShownSubject, Verb
from handlers.command_parser import (
    LONGEST_REST,
    ParsedCommand,
    parse_amount,
    parse_commands,
    parse_first_stage,
    strip_commands,
)
from handlers.ignored import NOT_OURS, Ignored, why_unheard
from handlers.payloads.common import CommentCreated, Issue

UNREADABLE = "?"
"""Stands for words behind `/bot retry` that are no stage's name."""


def handle_created(payload: Mapping[str, Any]) -> tuple[Command, ...] | Ignored:
    """Pass on each command of the comment, or else all of it as a remark.

    Raises pydantic.ValidationError.
    """
    event = CommentCreated.model_validate(payload)
    body = event.comment.body or ""
    said, rest = parse_commands(body), strip_commands(body)[:LONGEST_REST]
    if not said and not rest:
        return Ignored("the comment says nothing")
    if reason := _why_unheard(event):
        return Ignored(reason)
    if not said:
        return (_make_command(event, "remark", {"words": rest}),)
    asked = [
        _make_command(event, each.verb, _read_arguments(each, event.issue, rest)) for each in said
    ]
    return tuple(dict.fromkeys(asked))  # said twice in one comment, it is said once


def _why_unheard(event: CommentCreated) -> str | None:
    """Return why the comment's author is not heard; None where they are."""
    if event.installation is None:
        return NOT_OURS
    return why_unheard("comment", event.comment.user, event.sender)


def digest(body: str) -> str:
    """Return the hash of a comment's text, by which an edit shows."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def _read_arguments(said: ParsedCommand, issue: Issue, rest: str) -> dict[str, Any]:
    """Return the command's fields besides its verb. `rest`: the comment without its commands."""
    match said.verb:
        case "approve" | "deny":
            reason = said.tail if said.verb == "approve" else said.words
            return {"approval": said.approval, "words": reason}
        case "budget":
            return {"usd": parse_amount(said.tail)}
        case "retry":
            stage = parse_first_stage(said.tail)
            return {"stage": UNREADABLE if stage is None else stage, **_show_subject(issue)}
        case "address" | "update" | "undo":
            return {"words": said.words, **_show_subject(issue)}
        case "go":  # what stands around it was written to be read as well
            return {"words": "\n\n".join(part for part in (said.words, rest) if part)}
    return {"words": said.name if said.verb == "unknown" else said.words}


def _show_subject(issue: Issue) -> dict[str, ShownSubject]:
    """Return the commented issue or pull request; nothing when its author's account is gone."""
    if issue.user is None or issue.user.ghost:
        return {}
    shown = ShownSubject(
        title=issue.title, body=issue.body or "", author=issue.user.person, url=issue.html_url
    )
    return {"issue" if issue.pull_request is None else "pull_request": shown}


def _make_command(event: CommentCreated, verb: Verb, said: Mapping[str, Any]) -> Command:
    assert event.comment.user is not None
    assert event.installation is not None
    return Command(
        installation_id=event.installation.id,
        repository=event.repository.repository,
        number=event.issue.number,
        verb=verb,
        asked_by=event.comment.user.person,
        via="comment",
        comment_id=event.comment.id,
        digest=digest(event.comment.body or ""),
        url=event.comment.html_url,
        **said,
    )
