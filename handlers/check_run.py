"""Step 2: the `check_run` event: a button under a check run answers what Fettle asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agents.requests import Command
from handlers.commands import ANSWERS
from handlers.ignored import Ignored
from handlers.payloads import ButtonPressed

_BUTTON = re.compile(r"(?P<verb>[a-z]{1,12}):(?P<approval>[a-z0-9]{1,16})")


def requested_action(payload: Mapping[str, Any]) -> tuple[Command, ...] | Ignored:
    """Pass on which button was pressed. Raises pydantic.ValidationError.

    GitHub tells the App of its own buttons alone, and the check run's external id is ours: a
    button counts for the approval that its check run shows, and for no other.
    """
    event = ButtonPressed.model_validate(payload)
    pressed = _BUTTON.fullmatch(event.requested_action.identifier if event.requested_action else "")
    if pressed is None or pressed["verb"] not in ANSWERS:
        return Ignored("the button is none that answers")
    if pressed["approval"] != event.check_run.external_id:
        return Ignored("the button belongs to another check run")
    if event.installation is None:
        return Ignored("the delivery names no installation, so it is not one of the App's")
    if event.sender is None or event.sender.ghost or event.sender.type != "User":
        return Ignored("no person can be named who pressed the button")
    command = Command(
        installation_id=event.installation.id,
        repository=event.repository.repository,
        number=_pull_request(event),
        verb=ANSWERS[pressed["verb"]],
        approval=pressed["approval"],
        asked_by=event.sender.person,
        via="button",
        check_run_id=event.check_run.id,
        url=event.check_run.html_url or "",
    )
    return (command,)


def _pull_request(event: ButtonPressed) -> int:
    """Return the number of the pull request that shows the check run; 0 when GitHub names none.

    It also names pull requests of other repositories that stand on the same commit.
    """
    own = (
        pull.number
        for pull in event.check_run.pull_requests
        if pull.base.repo.id == event.repository.id
    )
    return next(own, 0)
