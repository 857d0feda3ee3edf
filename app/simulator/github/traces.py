"""State that is no text: pushes to branches, and files attached to issues."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from app.simulator.github.accounts import Actor, Thing


@dataclass(eq=False, kw_only=True)
class Push(Thing):
    """One move of one ref, and who made it."""

    actor: Actor
    ref: str
    before: str
    after: str
    forced: bool

    prefix = "PSH"


@dataclass
class Attachment:
    """A file put into an issue's text; whoever holds the seal may read it without credentials."""

    repository_id: int
    data: bytes
    kind: str
    seal: str = field(default_factory=lambda: secrets.token_hex(8))
