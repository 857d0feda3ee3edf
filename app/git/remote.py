"""The remotes that git may connect to, and how a token reaches git unseen by others."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from agents.errors import ConfigError

# Answers git's credential question from a pipe, which neither `ps` nor /proc/*/environ shows.
_HELPER = (
    '!f() {{ test "$1" = get && IFS= read -r t </dev/fd/{fd} && '
    'printf "username=x-access-token\\npassword=%s\\n" "$t"; }}; f'
)


def remote_of(url: str, *, allow_files: bool) -> tuple[str, str]:
    """Return protocol and `scheme://host[:port]` of a permitted URL. Raises ConfigError."""
    parts = urlsplit(url)
    place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if not url.isprintable() or parts.username is not None or parts.query or parts.fragment:
        raise ConfigError(f"The address `{place}` must not carry a user name, query or fragment.")
    if parts.scheme == "https" and parts.hostname:
        return "https", place
    if parts.scheme == "http" and parts.hostname and _is_loopback(parts.hostname):
        return "http", place
    if parts.scheme == "file" and allow_files:
        return "file", place
    raise ConfigError(
        f"Git talks to `https:` addresses only (`http:` on this machine itself), not to `{place}`. "
        f"Check FETTLE_GITHUB_URL."
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def token_answer(token: str | None) -> Iterator[tuple[str, int] | None]:
    """Yield a credential helper that answers with this token, and the descriptor it reads.

    https://git-scm.com/docs/gitcredentials
    """
    if token is None:
        yield None
        return
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    try:
        os.write(write_end, token.encode() + b"\n")
        os.close(write_end)
        yield _HELPER.format(fd=read_end), read_end
    finally:
        os.close(read_end)
