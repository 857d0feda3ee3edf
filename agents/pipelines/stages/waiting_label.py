"""The label on an issue or pull request whose run waits for an answer."""

from __future__ import annotations

from agents.requests import WAITING_DESCRIPTION, WAITING_LABEL
from agents.run import StageContext


async def show_waiting(run: StageContext, *, on: bool) -> None:
    """Put the label on the issue or take it off, where there is an issue."""
    if run.ports.tracker is not None:
        await run.ports.tracker.label(WAITING_LABEL, on=on, description=WAITING_DESCRIPTION)
