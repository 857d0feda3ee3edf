"""A run on a clone that waits for the person who started it: the port, and the words."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from textwrap import indent

from agents.errors import Parked
from agents.ports import Approval, ApprovalRequest
from agents.text import printable
from agents.text.literal import literal, to_literal
from app.clone.result import refer_to
from app.records.approvals import StoredApproval
from app.store.runs import ApprovalDecision, StoredApprovals

PersonAnswer = tuple[ApprovalDecision, str]
"""What the person decides, and why."""
Ask = Callable[[StoredApproval], Awaitable[PersonAnswer | None]]
"""Asks the person at the terminal; None when they want to decide later."""

_LATER = (
    "The run waits for you to decide:\n\n{questions}\n\nDecide with `fettle approve ID`, or with"
    " `fettle deny ID`; the same command goes on then."
)


@dataclass(frozen=True)
class CloneApprovals:
    """The port `Approvals` of a run on a clone; whoever runs the command shows what waits."""

    stored: StoredApprovals
    run_id: str

    async def ask(self, asking: ApprovalRequest) -> Approval:
        """Return where this asking stands; a new one is stored."""
        return (await self.stored.ask_once(self.run_id, asking)).approval

    async def all_decided(self, ids: Sequence[str]) -> bool:
        """Return whether none of these waits any more."""
        return await self.stored.all_decided(ids)

    async def claim(self, ids: Sequence[str]) -> list[str]:
        """Note that the calls of these are about to run; return which were free."""
        return await self.stored.claim(ids)

    async def list_waiting(self) -> list[StoredApproval]:
        """Return what the person has to decide, oldest first."""
        return [each for each in await self.stored.of_run(self.run_id) if each.state == "waiting"]


class CloneWaits(Parked):
    """The command ends, the run does not: it goes on once the person has decided."""

    def __init__(self, waiting: Sequence[StoredApproval], run_id: str) -> None:
        super().__init__([each.id for each in waiting])
        self.waiting, self.run_id = waiting, run_id

    @property
    def text(self) -> str:
        """Return what waits, and how to go on."""
        questions = "\n\n".join(format_question(each) for each in self.waiting)
        return f"{_LATER.format(questions=questions)}\n\n{refer_to(self.run_id)}"

    def json(self) -> str:
        """Return the question as one JSON object."""
        about = {
            "outcome": "waiting",
            "text": self.text,
            "run": self.run_id,
            "approvals": [
                {"id": each.id, **(each.asking.model_dump(mode="json") if each.asking else {})}
                for each in self.waiting
            ],
        }
        return json.dumps(about, indent=2, ensure_ascii=False)


def format_question(waiting: StoredApproval) -> str:
    """Return the whole call, and why it needs a yes."""
    asking = waiting.asking
    if asking is None:
        return f"{waiting.id}  its record is damaged; deny it"
    first = f"{waiting.id}  {asking.tool}, in the stage {asking.stage}: {to_literal(asking.reason)}"
    return f"{printable(first)}\n{indent(literal(asking.arguments).text, '    ')}"
