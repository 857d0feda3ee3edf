"""What a handler returns for a delivery that asks for nothing, and reasons that several give."""

from __future__ import annotations

from dataclasses import dataclass

from handlers.payloads.common import Account

NOT_OURS = "the delivery names no installation, so it is not one of the App's"


@dataclass(frozen=True)
class Ignored:
    """The delivery asks for nothing; its row keeps the reason."""

    reason: str


def why_unheard(what: str, author: Account | None, sender: Account | None) -> str | None:
    """Return why this author is not heard; None where a person sent their own words."""
    if author is None or author.ghost:
        return f"nobody can be named who wrote the {what}"
    if author.type != "User":
        return f"the {what} is not a person's"
    if sender is None or sender.id != author.id:
        return f"the {what} was not sent by its author"
    return None
