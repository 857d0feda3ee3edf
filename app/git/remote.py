"""The remotes that git may connect to, and how a token reaches git unseen by others."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import quote, urlsplit

from agents.errors import ConfigError
from app.network.outbound import HttpProxy, Outbound
from app.sandbox.process_group import make_memory_file

# Answers git's credential question from a pipe, which neither `ps` nor /proc/*/environ shows.
_HELPER = (
    '!f() {{ test "$1" = get && IFS= read -r t </dev/fd/{fd} && '
    'printf "{user}password=%s\\n" "$t"; }}; f'
)
_TOKENS_USER = "username=x-access-token\\n"

GitConfig = tuple[dict[str, str], tuple[int, ...]]
"""Values by their key, and the descriptors that git has to inherit for them."""


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
def way_to(url: str, place: str, token: str | None, outbound: Outbound) -> Iterator[GitConfig]:
    """Yield what git needs to know to reach this URL: token, proxy, authorities.

    The token is for `place` alone, a proxy's password for the proxy.
    https://git-scm.com/docs/git-config#Documentation/git-config.txt-httpproxy
    """
    values, fds = {}, []
    with ExitStack() as stack:
        if token is not None:
            helper, fd = stack.enter_context(_answer(token, _TOKENS_USER))
            values[f"credential.{place}.helper"] = helper
            fds.append(fd)
        if (proxy := outbound.find_proxy(url)) is not None:
            values["http.proxy"] = _add_user(proxy)
            if proxy.password:
                helper, fd = stack.enter_context(_answer(proxy.password, ""))
                values[f"credential.{proxy.address}.helper"] = helper
                values["http.proxyAuthMethod"] = "basic"
                fds.append(fd)
        if outbound.authorities:
            fd = make_memory_file("authorities", outbound.bundle.encode())
            stack.callback(os.close, fd)
            values["http.sslCAInfo"] = f"/proc/self/fd/{fd}"
            fds.append(fd)
        yield values, tuple(fds)


def _add_user(proxy: HttpProxy) -> str:
    """Return the proxy's URL with the user's name: for the password git asks."""
    if not proxy.user:
        return proxy.address
    scheme, _, host = proxy.address.partition("://")
    return f"{scheme}://{quote(proxy.user, safe='')}@{host}"


@contextmanager
def _answer(secret: str, user: str) -> Iterator[tuple[str, int]]:
    """Yield a credential helper that answers with this secret, and the descriptor it reads.

    https://git-scm.com/docs/gitcredentials
    """
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    try:
        os.write(write_end, secret.encode() + b"\n")
        os.close(write_end)
        yield _HELPER.format(fd=read_end, user=user), read_end
    finally:
        os.close(read_end)
