"""The three kinds of GitHub, and addresses that are none of them."""

from __future__ import annotations

import pytest

from app.config.github_hosts import github_urls


@pytest.mark.parametrize(
    ("address", "api", "graphql", "git"),
    [
        (
            "https://github.com",
            "https://api.github.com",
            "https://api.github.com/graphql",
            "https://github.com",
        ),
        (
            "https://octo.ghe.com/",
            "https://api.octo.ghe.com",
            "https://api.octo.ghe.com/graphql",
            "https://octo.ghe.com",
        ),
        (
            "https://Git.Example.org",
            "https://git.example.org/api/v3",
            "https://git.example.org/api/graphql",
            "https://git.example.org",
        ),
        (
            "http://127.0.0.1:8123",
            "http://127.0.0.1:8123/api/v3",
            "http://127.0.0.1:8123/api/graphql",
            "http://127.0.0.1:8123",
        ),
        (
            "http://[::1]:80",
            "http://[::1]:80/api/v3",
            "http://[::1]:80/api/graphql",
            "http://[::1]:80",
        ),
    ],
)
def test_each_kind_has_its_doors(address, api, graphql, git):
    assert github_urls(address) == (api, graphql, git)


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("github.com", "https://"),
        ("ftp://github.com", "https://"),
        ("https://", "host"),
        ("https://github.com/octo", "alone"),
        ("https://me:pass@github.com", "alone"),
        ("https://github.com?x=1", "alone"),
        ("https://api.github.com", "https://github.com"),
        ("https://api.octo.ghe.com", "https://octo.ghe.com"),
        ("https://www.github.com", "https://github.com"),
        ("https://git hub.com", "host"),
        ("https://github.com:port", "address"),
        ("https://[::1", "address"),
    ],
)
def test_what_is_no_address_says_what_to_write(address, hint):
    with pytest.raises(ValueError, match=hint.replace(".", r"\.")):
        github_urls(address)
