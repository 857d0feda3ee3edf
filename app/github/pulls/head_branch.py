"""The head branch of a pull request, and whether Fettle may push to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.errors import RunError
from agents.requests import ACTIONS, RemediateAlert, Repository, Request
from agents.text import code_span
from app.git import any_branch
from app.github.transport import Profile

PULL = "/repos/{owner}/{repo}/pulls/{number}"

_CLOSED = (
    "#{number} was {state} while Fettle was at work, so nothing was pushed. Open it again, then ask"
    " again."
)
_OTHER = (
    "Fettle pushes to branches named `bot/...`, and to the branch of the pull request that it was"
    " asked about, which is {now} by now, not {branch}. Nothing was pushed."
)
_WHY_NOT = "Fettle cannot push to the branch of #{number}: {why} Nothing was pushed."


def choose_push_profile(request: Request) -> Profile:
    """Return what a token for the run's pushes may do: only fixes of actions change workflows.

    Where the owners have not granted that, the token is made without it, and GitHub refuses.
    """
    moves_action = isinstance(request, RemediateAlert) and request.ecosystem == ACTIONS
    return Profile.PUSH_WORKFLOWS if moves_action else Profile.PUSH


def is_foreign(pull: Mapping[str, Any], repository: Repository) -> bool:
    """Tell whether the commits lie in another repository, or in a deleted one."""
    home = pull["head"]["repo"] or {}
    return home.get("id") != repository.id or pull["base"]["repo"]["id"] != repository.id


def state_of(pull: Mapping[str, Any]) -> str:
    """Return `open`, `closed` or `merged`."""
    return "merged" if pull.get("merged_at") else str(pull["state"])


def why_not(pull: Mapping[str, Any], repository: Repository) -> str:
    """Return why Fettle may not push to the branch, as a sentence; empty where it may."""
    head, base = pull["head"], pull["base"]
    if is_foreign(pull, repository):
        home = head["repo"]
        if home is None:
            return "its branch lies in a fork that has been deleted."
        return (
            f"its branch lies in the fork {code_span(home['full_name'])}, where it has no rights."
        )
    # Two names that differ in case alone are one on some disks.
    branch = head["ref"].casefold()
    if branch in {name.casefold() for name in _mains(pull, repository)}:
        return f"its branch is the repository's default branch, {code_span(head['ref'])}."
    if branch == base["ref"].casefold():
        return f"its branch, {code_span(head['ref'])}, is the one that it wants to go to."
    try:
        any_branch(head["ref"])
    except RunError:
        return "the name of its branch holds characters that git would take for more than a name."
    return ""


def require_pushable(pull: Mapping[str, Any], repository: Repository, branch: str) -> None:
    """Raise RunError, for people, unless `branch` is the open pull request's and pushable."""
    number, head = pull["number"], pull["head"]["ref"]
    if (state := state_of(pull)) != "open":
        raise RunError(_CLOSED.format(number=number, state=state))
    if head != branch:
        raise RunError(_OTHER.format(now=code_span(head), branch=code_span(branch)))
    if why := why_not(pull, repository):
        raise RunError(_WHY_NOT.format(number=number, why=why))


def _mains(pull: Mapping[str, Any], repository: Repository) -> set[str]:
    """Return the default branch as it was when the run was asked for, and as it is."""
    return {repository.default_branch, pull["base"]["repo"]["default_branch"]}
