"""The text of a dashboard. Nothing in it is a stranger's but names, which are shown literally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.text.inline import code_span
from agents.text.literal import to_literal
from handlers.issues import BOARD

TITLE = "What waits for you here: Fettle's dashboard"
LONGEST_NAME = 100
_HEAD = (
    "Fettle keeps this issue up to date. What you write in it is overwritten; a box that somebody"
    " with write access ticks is done once."
)
_NOTHING = "Nothing waits for anybody."
STATES = {
    "open": "#{number} is open",
    "merged": "#{number} is merged, and GitHub has not closed the alerts yet",
    "closed": "#{number} was closed unmerged",
    "over": "there is no pull request",
}
AGAIN = ("closed", "over")
"""States in which an alert can be looked at again."""


@dataclass(frozen=True)
class WaitingCall:
    """A call that waits for a person."""

    ident: str
    tool: str
    number: int
    """The issue or pull request of its run."""
    url: str
    """Where the whole call stands."""


@dataclass(frozen=True)
class OpenFix:
    """What became of the alerts of one package."""

    run_id: str
    package: str
    state: str
    number: int


def write_board(waiting: Sequence[WaitingCall], fixes: Sequence[OpenFix], *, decide: bool) -> str:
    """Return the Markdown. `decide`: what waits has boxes, too."""
    parts = [BOARD, _HEAD, "## Waits for a decision", _list_waiting(waiting, decide=decide)]
    if fixes:
        parts += ["## Vulnerable dependencies", "\n".join(_describe_fix(each) for each in fixes)]
    return "\n\n".join(parts)


def _list_waiting(waiting: Sequence[WaitingCall], *, decide: bool) -> str:
    lines = []
    for each in waiting:
        box = f"- [ ] <!-- fettle:approve={each.ident} --> Approve " if decide else "- "
        tool = code_span(to_literal(each.tool)[:LONGEST_NAME])
        lines.append(f"{box}{tool} for #{each.number}: [the whole call]({each.url})")
    return "\n".join(lines) or _NOTHING


def _describe_fix(fix: OpenFix) -> str:
    again = fix.state in AGAIN
    box = f"- [ ] <!-- fettle:again={fix.run_id} --> Look again at " if again else "- "
    package = code_span(to_literal(fix.package)[:LONGEST_NAME])
    return f"{box}{package}: {STATES[fix.state].format(number=fix.number)}"
