"""The `check_run` event: a button answers an approval, or has the last run taken up again.

A check of the policy is asked for again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agents.requests import Command
from handlers.command_parser import ANSWERS
from handlers.ignored import NOT_OURS, Ignored
from handlers.notifications import PullChanged
from handlers.payloads.common import CheckRunTouched

POLICY_CHECK = "policy/{number}"
"""External id of the check run about the policy that this pull request proposes."""
_OF_POLICY = re.compile(r"policy/(?P<number>[1-9][0-9]{0,17})")
VERDICT_CHECK = "verdict/{number}"
"""External id of the check run on what a run pushed: the number is that of the run's issue."""
TRY_AGAIN = "retry:{number}"
"""Its button."""
_OF_VERDICT = re.compile(r"retry:(?P<number>[1-9][0-9]{0,11})")
_BUTTON = re.compile(r"(?P<verb>[a-z]{1,12}):(?P<approval>[a-z0-9]{1,16})")


def handle_requested_action(payload: Mapping[str, Any]) -> tuple[Command, ...] | Ignored:
    """Pass on which button was pressed. Raises pydantic.ValidationError.

    GitHub tells the App of its own buttons alone, and the check run's external id is ours: a
    button counts for the approval that its check run shows, and for no other.
    """
    event = CheckRunTouched.model_validate(payload)
    identifier = event.requested_action.identifier if event.requested_action else ""
    asked, check_run = _parse_button(identifier)
    if not asked:
        return Ignored("the button is none that answers")
    if check_run != event.check_run.external_id:
        return Ignored("the button belongs to another check run")
    if event.installation is None:
        return Ignored(NOT_OURS)
    if event.sender is None or event.sender.ghost or event.sender.type != "User":
        return Ignored("no person can be named who pressed the button")
    command = Command(
        installation_id=event.installation.id,
        repository=event.repository.repository,
        **{"number": _find_pull_request(event), **asked},
        asked_by=event.sender.person,
        via="button",
        check_run_id=event.check_run.id,
        url=event.check_run.html_url or "",
    )
    return (command,)


def _parse_button(identifier: str) -> tuple[dict[str, Any], str]:
    """Return what the button asks for, and the external id of the check run that has it."""
    if again := _OF_VERDICT.fullmatch(identifier):
        number = int(again["number"])
        return {"verb": "retry", "number": number}, VERDICT_CHECK.format(number=number)
    pressed = _BUTTON.fullmatch(identifier)
    if pressed is None or pressed["verb"] not in ANSWERS:
        return {}, ""
    approval = pressed["approval"]
    return {"verb": ANSWERS[pressed["verb"]], "approval": approval}, approval


def handle_rerequested(payload: Mapping[str, Any]) -> PullChanged | Ignored:
    """Ask for another check of the proposed policy. Raises pydantic.ValidationError.

    GitHub tells the App of its own check runs alone.
    """
    event = CheckRunTouched.model_validate(payload)
    about = _OF_POLICY.fullmatch(event.check_run.external_id or "")
    if about is None:
        return Ignored("it is not a check of a policy, and no other is made again")
    if event.installation is None:
        return Ignored(NOT_OURS)
    if event.check_run.head_sha is None:
        return Ignored("the delivery names no commit")
    return PullChanged(
        installation_id=event.installation.id,
        repository=event.repository.repository,
        number=int(about["number"]),
        head=event.check_run.head_sha,
        again=True,
    )


def _find_pull_request(event: CheckRunTouched) -> int:
    """Return the number of the pull request that shows the check run; 0 when GitHub names none.

    It also names pull requests of other repositories that stand on the same commit.
    """
    own = (
        pull.number
        for pull in event.check_run.pull_requests
        if pull.base.repo.id == event.repository.id
    )
    return next(own, 0)
