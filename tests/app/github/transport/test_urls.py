"""One setting names a GitHub; all its addresses follow."""

from __future__ import annotations

import pytest

from agents.errors import ConfigError
from app.github.transport.urls import Urls


@pytest.mark.parametrize(
    ("setting", "rest", "graphql"),
    [
        ("https://github.com", "https://api.github.com", "https://api.github.com/graphql"),
        ("https://github.com/", "https://api.github.com", "https://api.github.com/graphql"),
        ("https://acme.ghe.com", "https://api.acme.ghe.com", "https://api.acme.ghe.com/graphql"),
        ("https://git.acme.org", "https://git.acme.org/api/v3", "https://git.acme.org/api/graphql"),
        ("http://127.0.0.1:81", "http://127.0.0.1:81/api/v3", "http://127.0.0.1:81/api/graphql"),
        # Not github.com, though it begins and ends like it:
        ("https://notgithub.com", "https://notgithub.com/api/v3", None),
        ("https://github.com.evil.org", "https://github.com.evil.org/api/v3", None),
    ],
)
def test_the_api_addresses(setting, rest, graphql):
    urls = Urls.from_web_url(setting)

    assert urls.rest == rest
    assert graphql is None or urls.graphql == graphql


def test_where_git_finds_a_repository():
    assert (
        Urls.from_web_url("https://github.com").clone("ada/parse")
        == "https://github.com/ada/parse.git"
    )
    assert Urls.from_web_url("http://127.0.0.1:81").noreply == "users.noreply.127.0.0.1"


@pytest.mark.parametrize(
    "setting", ["https://github.com", "https://acme.ghe.com", "https://git.acme.org/"]
)
def test_where_people_see_a_branch(setting):
    page = Urls.from_web_url(setting).branch("ada/parse", "bot/7-unfinished-abc123")

    assert page == f"{setting.rstrip('/')}/ada/parse/tree/bot/7-unfinished-abc123"
    assert Urls.from_web_url(setting).branch("a/b", "x#y?z").endswith("/tree/x%23y%3Fz")


@pytest.mark.parametrize("setting", ["", "github.com", "ftp://x", "https://x/y", "https://"])
def test_what_is_no_address_is_refused(setting):
    with pytest.raises(ConfigError, match="FETTLE_GITHUB_URL"):
        Urls.from_web_url(setting)
