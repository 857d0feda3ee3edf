"""Addresses of REST, GraphQL and git for github.com, GHE.com and GitHub Enterprise Server."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]")


class GitHubUrls(NamedTuple):
    """Base URLs without a slash at the end."""

    api: str
    graphql: str
    git: str


def github_urls(address: str) -> GitHubUrls:
    """Return the addresses of the GitHub whose start page has this address.

    github.com and SUB.ghe.com have their API on a host of its own; an Enterprise Server has it
    below /api. Raises ValueError with a text that says what to write.
    https://docs.github.com/rest/using-the-rest-api/getting-started-with-the-rest-api
    """
    base, host = _start_page(address)
    if host == "github.com" or host.endswith(".ghe.com"):
        api = base.replace("://", "://api.", 1)
        return GitHubUrls(api, f"{api}/graphql", base)
    return GitHubUrls(f"{base}/api/v3", f"{base}/api/graphql", base)


def _start_page(address: str) -> tuple[str, str]:
    """Return the address without its last slash, and the host in lower case."""
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError as error:
        raise ValueError(f"is not an address ({error})") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise ValueError("must begin with https:// or http:// and a host")
    if parts.username is not None or parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError("must be the scheme and the host alone, like https://github.com")
    host_text = f"[{host}]" if ":" in host else host
    if not _HOST.fullmatch(host_text):
        raise ValueError("has a host that cannot exist")
    if host.startswith("api.") and host.endswith((".github.com", ".ghe.com")):
        raise ValueError(f"is the API's host; give the one people open: https://{host[4:]}")
    if host == "www.github.com":
        raise ValueError("has one word too many; give https://github.com")
    return f"{parts.scheme}://{host_text}{f':{port}' if port else ''}", host
