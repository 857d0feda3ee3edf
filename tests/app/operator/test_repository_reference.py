"""What people call a repository, and what a clone's remote says that it is of."""

from __future__ import annotations

import pytest

from agents.errors import ConfigError
from app.operator.repository_reference import (
    RepositoryName,
    no_folder,
    repository_named,
    repository_of_remote,
)

GITHUB = "https://github.com"
SHORT = {"parse": "octo-org/parse", "bad": "octo"}


def parse_name(what, github=GITHUB):
    return repository_named(what, github_url=github, repositories=SHORT)


@pytest.mark.parametrize(
    ("what", "full"),
    [
        ("octo/lib", "octo/lib"),
        ("parse", "octo-org/parse"),
        ("https://github.com/octo/lib", "octo/lib"),
        ("https://github.com/octo/lib.git", "octo/lib"),
        ("https://www.github.com/octo/lib/security/dependabot", "octo/lib"),
        (".", None),
        ("./octo/lib", None),
        ("/src/lib", None),
        ("~/src/lib", None),
        ("lib", None),
        ("octo/lib/more", None),
    ],
)
def test_what_is_meant(what, full):
    assert parse_name(what) == (RepositoryName(*full.split("/")) if full else None)


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("https://gitlab.example/octo/lib", "is not on https://github.com"),
        ("https://github.com/octo", "is no repository"),
        ("https://github.com/octo/lib/pull/3", "is no repository"),
        ("bad", "not a repository's owner and name"),
    ],
)
def test_what_is_nearly_one(what, told):
    with pytest.raises(ConfigError, match=told):
        parse_name(what)


def test_a_slip_of_the_pen_has_a_hint():
    assert "Did you mean `parse`?" in str(no_folder("prase", SHORT, "scan"))


@pytest.mark.parametrize(
    ("address", "full"),
    [
        ("https://github.com/octo/lib.git", "octo/lib"),
        ("https://ada:ghp_secret@github.com/octo/lib", "octo/lib"),
        ("git@github.com:octo/lib.git", "octo/lib"),
        ("github.com:octo/lib", "octo/lib"),
        ("ssh://git@github.com/octo/lib.git", "octo/lib"),
        ("ssh://git@ssh.github.com:443/octo/lib.git", "octo/lib"),
        ("git://github.com/octo/lib", "octo/lib"),
        ("https://github.com:8443/octo/lib", None),
        ("https://github.com.evil.example/octo/lib", None),
        ("https://evil.example/github.com/octo/lib", None),
        ("git@evil.example:octo/lib", None),
        ("ext::sh -c true github.com:octo/lib", None),
        ("/srv/github.com/octo/lib", None),
        ("file:///github.com/octo/lib", None),
        ("https://github.com/octo/../lib", None),
        ("https://github.com:port/octo/lib", None),
        ("", None),
    ],
)
def test_what_a_remote_leads_to(address, full):
    found = repository_of_remote(address, GITHUB)
    assert found == (RepositoryName(*full.split("/")) if full else None)


def test_a_github_on_a_port_of_its_own():
    here = "http://127.0.0.1:8123"
    assert parse_name(f"{here}/octo/lib", here) == RepositoryName("octo", "lib")
    assert repository_of_remote(f"{here}/octo/lib.git", here) == RepositoryName("octo", "lib")
    assert repository_of_remote("http://127.0.0.1:9/octo/lib.git", here) is None
