"""What people type for an issue, and what they are told when it is none."""

from __future__ import annotations

import pytest

from agents.errors import ConfigError
from app.operator.issue_reference import IssueName, issue_named

LIB = IssueName("octo", "lib", 25)
SHORT = {"lib": "octo/lib", "wrong": "https://github.com/octo/lib"}


def parse_name(what, more=None, url="https://github.com"):
    return issue_named(what, more, github_url=url, repositories=SHORT)


@pytest.mark.parametrize(
    ("what", "more"),
    [
        ("octo/lib#25", None),
        ("octo/lib", "25"),
        ("octo/lib", "#25"),
        ("lib", "25"),
        ("lib#25", None),
        ("https://github.com/octo/lib/issues/25", None),
        ("http://www.github.com/octo/lib/issues/25/?x=1#issuecomment-7", None),
    ],
)
def test_an_issue(what, more):
    assert parse_name(what, more) == LIB


def test_the_address_of_another_server():
    page = "http://git.example.com:8080/octo/lib/issues/25"
    assert parse_name(page, url="http://git.example.com:8080") == LIB
    with pytest.raises(ConfigError, match="FETTLE_GITHUB_URL"):
        parse_name(page)
    with pytest.raises(ConfigError, match="FETTLE_GITHUB_URL"):
        parse_name(page, url="http://git.example.com")


@pytest.mark.parametrize(
    ("what", "more"),
    [
        (".", None),
        ("lib", None),
        ("src/lib", "Mend it"),
        ("/tmp/a#b", None),
        ("octo/lib", "25 things to mend"),
    ],
)
def test_a_folder(what, more):
    assert parse_name(what, more) is None


@pytest.mark.parametrize(
    ("what", "more", "told"),
    [
        ("https://github.com/octo/lib/pull/25", None, "pull request"),
        ("https://github.com/octo/lib", None, "looks like"),
        ("https://github.com/octo/lib/issues/25", "25", "leave `25` out"),
        ("libb", "25", "Did you mean `lib`"),
        ("libb#25", None, "Did you mean `lib`"),
        ("wrong", "25", "FETTLE_REPOSITORIES says"),
        ("../..#25", None, "no repository"),
        ("a/../b#25", None, "no repository"),
        ("octo/lib#0", None, "from 1"),
    ],
)
def test_what_is_nearly_an_issue(what, more, told):
    with pytest.raises(ConfigError, match=told):
        parse_name(what, more)


# --- pull requests --------------------------------------------------------------------------------


def pull(what, more=None):
    return issue_named(
        what, more, github_url="https://github.com", repositories=SHORT, command="address"
    )


@pytest.mark.parametrize(
    ("what", "more"),
    [
        ("octo/lib#25", None),
        ("lib", "25"),
        ("https://github.com/octo/lib/pull/25", None),
        ("https://github.com/octo/lib/pull/25#discussion_r7", None),
    ],
)
def test_a_pull_request(what, more):
    assert pull(what, more) == LIB


@pytest.mark.parametrize(
    ("what", "more", "told"),
    [
        ("https://github.com/octo/lib/issues/25", None, "`fettle address` works on pull requests"),
        ("https://github.com/octo/lib", None, "no pull request.*octo/lib/pull/25"),
        ("https://github.com/octo/lib/pull/25", "25", "names the pull request already"),
        ("libb", "25", "fettle address octo/lib#25"),
    ],
)
def test_what_is_nearly_a_pull_request(what, more, told):
    with pytest.raises(ConfigError, match=told):
        pull(what, more)
