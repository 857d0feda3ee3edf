"""Check the branch that an operator named for a fix: it has to be new, or this run's own.

https://docs.github.com/rest/branches/branches#get-a-branch
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.errors import Moved, RunError
from agents.requests import RemediateAlert, Request
from agents.text import code_span
from app.git import BRANCH_PREFIX, Mirror, any_branch
from app.github.transport import InstallationClient, NotFound

REPOSITORY = "/repos/{owner}/{repo}"
BRANCH = f"{REPOSITORY}/branches{{/parts*}}"  # `#` in a name would end the path

_REFERENCE = re.compile(r"head|@|refs(?:/.*)?|[0-9a-f]{40}(?:[0-9a-f]{24})?", re.IGNORECASE)

_NOT_HERE = (
    "Only who asks on the machine that Fettle runs on may name a branch outside of"
    " `bot/`, so {branch} was not pushed."
)
_MAIN = (
    "{branch} is the branch that the fix is to be merged into, or the repository's default branch."
    " Name another one with --branch. Nothing was pushed."
)
_NO_NAME = (
    "{branch} would be taken for something else than a branch. Name another one with --branch."
    " Nothing was pushed."
)
_PROTECTED = (
    "The branch {branch} is protected, and Fettle never pushes to a protected branch. Name another"
    " one with --branch. Nothing was pushed."
)
_THEIRS = (
    "The branch {branch} is there already, and this run has not made what is on it. Nothing was"
    " overwritten. Name one with --branch that does not exist."
)


def is_named(request: Request, branch: str) -> bool:
    """Tell whether the operator named this branch, and it is not one of Fettle's own names."""
    named = isinstance(request, RemediateAlert) and branch == request.branch
    return named and bool(branch) and not branch.startswith(BRANCH_PREFIX)


@dataclass(frozen=True)
class IntendedPush:
    """A push to a branch that the operator named."""

    request: RemediateAlert
    run_id: str
    commit: str
    """The commit to push."""
    standing: str | None
    """The commit that the branch has now; None: it does not exist."""


async def require_free(client: InstallationClient, mirror: Mirror, meant: IntendedPush) -> None:
    """Raise RunError, for people, unless the commit may go to the operator's branch.

    A branch counts as this run's only if its commit is in the run's own history: anybody can copy a
    commit's message.
    """
    request, standing = meant.request, meant.standing
    branch, shown = request.branch, code_span(request.branch)
    if request.via != "terminal":
        raise RunError(_NOT_HERE.format(branch=shown))
    any_branch(branch)
    if _REFERENCE.fullmatch(branch):
        raise RunError(_NO_NAME.format(branch=shown))
    where = {"owner": request.repository.owner, "repo": request.repository.name}
    if branch.casefold() in await _mains(client, request, where):
        raise RunError(_MAIN.format(branch=shown))
    if standing is None:
        return
    try:
        found = await client.getitem(BRANCH, {**where, "parts": branch.split("/")})
    except NotFound as error:  # it was deleted in this moment
        raise Moved(_THEIRS.format(branch=shown)) from error
    if found["protected"]:
        raise RunError(_PROTECTED.format(branch=shown))
    if not await _is_ours(mirror, meant, standing):
        raise Moved(_THEIRS.format(branch=shown))


async def _mains(
    client: InstallationClient, request: RemediateAlert, where: dict[str, str]
) -> set[str]:
    """Return the default branch, as it was and as it is, and where the fix is to go."""
    now = (await client.getitem(REPOSITORY, where))["default_branch"]
    names = (now, request.repository.default_branch, request.base_branch)
    return {name.casefold() for name in names}


async def _is_ours(mirror: Mirror, meant: IntendedPush, standing: str) -> bool:
    """Tell whether the run, or the one that it takes up, has made what stands there."""
    if not await mirror.continues(meant.commit, standing):
        return False
    again = meant.request.again
    makers = {meant.run_id, *([again.run_id] if again else ())}
    trailers = (await mirror.message(standing)).rstrip().split("\n\n")[-1].splitlines()
    return any(f"Fettle-Run: {maker}" in trailers for maker in makers)
