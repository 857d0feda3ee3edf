"""The `check_suite` event: the checks of other programs have ended on a commit.

GitHub sends every suite to an App that may write checks: those of other Apps, and one for each run
of Actions. Several that fail on one commit become one run.
https://docs.github.com/webhooks/webhook-events-and-payloads#check_suite
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.requests import FixChecks, Person
from handlers.ignored import NOT_OURS, Ignored
from handlers.notifications import Suspicion
from handlers.payloads.common import SuiteCompleted

BROKEN = frozenset({"failure", "timed_out", "startup_failure"})
"""Conclusions that a commit can mend; `action_required` and `cancelled` come from people."""
UPDATER_BRANCHES = ("dependabot/", "renovate/")
"""How the branches of the bots begin whose updates code may be adapted to, unless they were told
otherwise: those are passed over."""
NOBODY = Person(id=0, login="failed checks")
"""Stands for the asker; no account can have this login."""
UNKNOWN = Person(id=0, login="")
"""Stands for the pull request's author, whom the delivery does not name."""


def handle_completed(payload: Mapping[str, Any]) -> FixChecks | Suspicion | Ignored:
    """Ask for checks to be mended that fail on the head of a pull request.

    Where they fail on the default branch, what was merged lately is suspected.
    Raises pydantic.ValidationError.
    """
    event = SuiteCompleted.model_validate(payload)
    suite, repository = event.check_suite, event.repository
    if suite.conclusion not in BROKEN:
        return Ignored("the checks have not failed")
    if event.installation is None:
        return Ignored(NOT_OURS)
    if suite.head_branch == repository.default_branch and not suite.pull_requests:
        return Suspicion(
            installation_id=event.installation.id,
            repository=repository.repository,
            branch=repository.default_branch,
            head=suite.head_sha,
        )
    number = _find_pull_request(event)
    if number is None or suite.head_branch is None or repository.html_url is None:
        return Ignored("it is not the head of a pull request from this repository")
    return FixChecks(
        installation_id=event.installation.id,
        repository=repository.repository,
        number=number,
        title=f"Failed checks on {suite.head_sha[:7]}",
        author=UNKNOWN,
        asked_by=NOBODY,
        url=f"{repository.html_url}/pull/{number}",
        head=suite.head_sha,
        branch=suite.head_branch,
    )


def _find_pull_request(event: SuiteCompleted) -> int | None:
    """Return the oldest pull request whose head it is.

    GitHub finds them by the branch: also those of other repositories, and those that have gone on.
    """
    return min(
        (
            pull.number
            for pull in event.check_suite.pull_requests
            if pull.base.repo.id == event.repository.id
            and pull.head is not None
            and pull.head.sha == event.check_suite.head_sha
        ),
        default=None,
    )
