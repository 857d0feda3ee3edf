"""Show one tool call whole for people to decide on, or refuse where a part must not be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.errors import ToolError
from agents.ports import Json
from agents.text.literal import Literal, literal
from app.github.transport import OutgoingText
from app.secrets.redaction import Redactor

LONGEST = 55_000
"""Characters; a comment takes 65,536, and a check run's text one less."""

_TOO_LONG = (
    "This call needs a person's approval, and it is {length:,} characters long: more than a comment"
    " can show whole ({most:,}). Split it into smaller calls."
)
_CONFIDENTIAL = (
    "This call needs a person's approval, and it holds what looks like a secret. A secret must not"
    " be shown, and nobody may approve what they do not see whole. Do it without the secret."
)
_CHANGED = (
    "This call needs a person's approval, and it holds text that cannot be shown on GitHub as it"
    " is. Nobody may approve what they do not see whole. Do it in another way."
)


@dataclass(frozen=True)
class ToolCallText:
    """A tool call as people read it."""

    shown: Literal

    @property
    def block(self) -> str:
        """Return the whole call as a code block that no text inside can close."""
        longest = max(map(len, re.findall("`{3,}", self.shown.text)), default=2)
        fence = "`" * (longest + 1)
        return f"{fence}text\n{self.shown.text}\n{fence}"


def shown_action(arguments: Json, redactor: Redactor, wording: OutgoingText) -> ToolCallText:
    """Return the call's arguments as people read them.

    Raises ToolError, for the model, when they are too long for a comment or hold something that
    must not be shown.
    """
    shown = literal(arguments)
    if any(redactor.clean(text) != text for text in (shown.raw, shown.text)):
        raise ToolError(_CONFIDENTIAL)
    if len(shown.text) > LONGEST:
        raise ToolError(_TOO_LONG.format(length=len(shown.text), most=LONGEST))
    action = ToolCallText(shown)
    if wording.text(action.block) != action.block:
        raise ToolError(_CHANGED)
    return action
