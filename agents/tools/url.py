"""Checks web addresses that a model names: http or https, plain, of a host with a public name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from agents.errors import ToolError

LONGEST = 2_000
PORTS = {"http": 80, "https": 443}

_PLAIN = re.compile(r"[!-~]+")
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?"
# The last label begins with a letter: whatever may be read as a number is no name.
_NAME = re.compile(rf"(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]*[a-z0-9])?")


@dataclass(frozen=True)
class Target:
    """One checked address."""

    url: str
    scheme: str
    host: str
    """Lower case, without a dot at the end."""
    port: int


def parse_target(url: str) -> Target:
    """Return what the address leads to; ToolError when it is none that may be read.

    Nothing is asked of DNS: where the name leads is checked when the connection is made.
    """
    if len(url) > LONGEST:
        raise ToolError(f"The address has more than {LONGEST:,} characters.")
    if not _PLAIN.fullmatch(url) or "\\" in url:
        raise ToolError(
            "The address holds characters that no address has; write them as %-escapes, and"
            " international host names in their xn-- form."
        )
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme.lower(), (parts.hostname or "").lower(), parts.port
    except ValueError as error:
        raise ToolError(f"{url} is not an address ({error}).") from error
    if scheme not in PORTS:
        raise ToolError("Only http:// and https:// addresses can be read.")
    if "@" in parts.netloc:
        raise ToolError("An address with a user name or password in it is not read.")
    if port not in (None, *PORTS.values()):
        raise ToolError(f"Port {port} is not one of the web's; only 80 and 443 are read.")
    host = host.removesuffix(".")
    if len(host) > 253 or not _NAME.fullmatch(host):
        raise ToolError(f"{host or 'The address'} is not the name of a public host.")
    plain = parts._replace(scheme=scheme, netloc=host if port is None else f"{host}:{port}")
    return Target(plain._replace(fragment="").geturl(), scheme, host, port or PORTS[scheme])
