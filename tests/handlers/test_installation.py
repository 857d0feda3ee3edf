"""What GitHub tells of the App's own life becomes notices, whoever caused it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from handlers import ROUTES, is_handled, route
from handlers.ignored import Ignored
from handlers.notifications import InstallationChanged, RepositoryChanged, notice_of

ACCOUNT = {"id": 3, "login": "octo", "type": "Organization"}
REPOSITORY = {
    "id": 99,
    "name": "hello",
    "owner": ACCOUNT,
    "default_branch": "main",
    "private": True,
    "archived": True,
}


def route_installation(event, action, **changes):
    installation = {"id": 4242, "account": ACCOUNT} | changes
    return route(event, {"action": action, "installation": installation})


@pytest.mark.parametrize(
    ("event", "action", "change"),
    [
        ("installation", "created", "created"),
        ("installation", "deleted", "deleted"),
        ("installation", "suspend", "suspended"),
        ("installation", "unsuspend", "unsuspended"),
        ("installation", "new_permissions_accepted", "permissions"),
        ("installation_repositories", "added", "added"),
        ("installation_repositories", "removed", "removed"),
    ],
)
def test_each_says_what_changed_and_where(event, action, change):
    told = route_installation(event, action)
    assert told == InstallationChanged(
        installation_id=4242, change=change, account_id=3, account="octo"
    )
    assert told.lane == "installation 4242"
    assert notice_of(told.model_dump(mode="json")) == told


def test_an_enterprise_has_no_repositories_of_its_own():
    assert isinstance(route_installation("installation", "created", account={"id": 5}), Ignored)
    assert isinstance(route_installation("installation", "created", account=None), Ignored)


@pytest.mark.parametrize("wrong", [{"id": "4242"}, {"id": 0}, {"account": {"login": "a b"}}])
def test_what_does_not_fit_is_refused(wrong):
    with pytest.raises(ValidationError):
        route_installation("installation", "created", **wrong)


def test_an_account_is_called_otherwise():
    payload = {"action": "renamed", "account": ACCOUNT, "installation": {"id": 4242}}
    told = route("installation_target", payload)
    assert (told.change, told.account, told.account_id) == ("renamed", "octo", 3)
    assert isinstance(route("installation_target", payload | {"installation": None}), Ignored)
    nameless = payload | {"account": {"id": 3}}
    assert isinstance(route("installation_target", nameless), Ignored)


@pytest.mark.parametrize(
    "move",
    [
        *("renamed", "transferred", "archived", "unarchived", "publicized", "privatized"),
        "deleted",
    ],
)
def test_a_repository_is_followed_by_its_id(move):
    payload = {"action": move, "repository": REPOSITORY, "installation": {"id": 4242}}
    told = route("repository", payload)
    assert isinstance(told, RepositoryChanged)
    assert (told.change, told.archived, told.lane) == (move, True, "repository 99")
    assert told.repository.full_name == "octo/hello"
    assert isinstance(route("repository", payload | {"installation": None}), Ignored)


def test_other_things_that_happen_to_repositories_are_not_even_kept():
    assert not is_handled("repository", "edited")
    assert not is_handled("installation", "new")


def test_what_a_bot_does_to_an_installation_counts_as_well():
    about = {"installation", "installation_repositories", "installation_target", "repository"}
    assert not any(each.people_only for (event, _), each in ROUTES.items() if event in about)
