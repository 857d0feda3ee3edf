"""The goal of a change, as its reviewers in later sessions are told it."""

from __future__ import annotations

from agents.requests import Frozen


class ChangeGoal(Frozen):
    """What was asked for, and where the change begins that answers it."""

    source: str
    """Where the wish comes from, like `The issue, octo/parse#7, written by jonas`."""
    wish: str
    """In its author's words: untrusted."""
    detail: str
    """What was found out before."""
    criteria: tuple[str, ...] = ()
    """What the wish says must be true afterwards."""
    since: str
    """The commit before the change."""
    subject: str = ""
    """Of the one commit that the change is to stay; empty where it may have several."""
