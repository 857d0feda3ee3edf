"""What people call an issue at the terminal: `octo/lib#25`, its address, or a short name and 25.

Pull requests are called alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from urllib.parse import urlsplit

from agents.errors import ConfigError

_PART = r"\.*[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}"  # not made of dots alone
FULL = re.compile(rf"(?P<owner>{_PART})/(?P<name>{_PART})")
_SHORT = re.compile(r"(?P<place>[^#\s]+)#(?P<number>[0-9]{1,9})")
_NUMBER = re.compile(r"#?(?P<number>[0-9]{1,9})")
_PAGE = re.compile(rf"/{FULL.pattern}/(?P<kind>issues|pull|pulls)/(?P<number>[0-9]{{1,9}})/?")


EITHER = "issue or pull request"
_KINDS = {"resolve": "issue", "undo": EITHER}
"""What the commands work on; all others are for pull requests."""
_PATHS = {"issue": "issues", "pull request": "pull", EITHER: "issues"}


@dataclass(frozen=True)
class IssueName:
    """An issue or pull request by its name: nobody has looked yet whether it exists."""

    owner: str
    name: str
    number: int

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}#{self.number}"


def kind_of(command: str) -> str:
    """Return what `fettle resolve`, or another command, works on, in words."""
    return _KINDS.get(command, "pull request")


def issue_named(
    what: str,
    more: str | None,
    *,
    github_url: str,
    repositories: Mapping[str, str],
    command: str = "resolve",
) -> IssueName | None:
    """Return the issue that is meant, or None when it can only be a folder.

    `repositories`: the operator's short names. Raises ConfigError for what is nearly an issue.
    """
    if "://" in what:
        if more is not None:
            raise ConfigError(f"`{what}` names the {kind_of(command)} already; leave `{more}` out.")
        return _of_page(what, github_url, command)
    if more is None:
        found = _SHORT.fullmatch(what)
        return (
            _resolve_place(found["place"], found["number"], repositories, command)
            if found
            else None
        )
    found = _NUMBER.fullmatch(more.strip())
    return _resolve_place(what, found["number"], repositories, command) if found else None


def _of_page(address: str, github_url: str, command: str) -> IssueName:
    given, own = urlsplit(address), urlsplit(github_url)
    host = (given.hostname or "").removeprefix("www.")
    if (host, given.port) != (own.hostname, own.port):
        raise ConfigError(
            f"`{address}` is not on {github_url}, which is the GitHub that FETTLE_GITHUB_URL names."
        )
    wanted = kind_of(command)
    found = _PAGE.fullmatch(given.path)
    if found is None:
        raise ConfigError(
            f"`{address}` is no {wanted}. Its address looks like"
            f" {github_url}/octo/lib/{_PATHS[wanted]}/25."
        )
    is_issue = found["kind"] == "issues"
    if wanted != EITHER and is_issue != (wanted == "issue"):
        raise ConfigError(wrong_kind(f"`{address}`", command, is_issue=is_issue))
    return _issue(found["owner"], found["name"], found["number"])


def wrong_kind(named: object, command: str, *, is_issue: bool) -> str:
    """Return what to say of an issue where a pull request is wanted, and the other way round."""
    if is_issue:
        return f"{named} is an issue, and `fettle {command}` works on pull requests."
    return (
        f"{named} is a pull request, and `fettle {command}` works on issues. Name the issue that it"
        " is about."
    )


def _resolve_place(
    place: str, number: str, repositories: Mapping[str, str], command: str
) -> IssueName:
    full = repositories.get(place, place)
    found = FULL.fullmatch(full)
    if found is not None:
        return _issue(found["owner"], found["name"], number)
    if place in repositories:
        raise ConfigError(
            f"FETTLE_REPOSITORIES says that `{place}` is `{full}`, which is not a repository's"
            " owner and name. Write it like octo-org/parse."
        )
    near = get_close_matches(place, repositories, 1)
    hint = f" Did you mean `{near[0]}`?" if near else ""
    raise ConfigError(
        f"`{place}` is no repository's owner and name, and FETTLE_REPOSITORIES has no such short"
        f" name.{hint} Write `fettle {command} octo/lib#{number}`."
    )


def _issue(owner: str, name: str, number: str) -> IssueName:
    if not int(number):
        raise ConfigError("Issues are counted from 1.")
    return IssueName(owner, name, int(number))
