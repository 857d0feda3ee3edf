"""Classify git's failures by who must act, with texts that hold no secrets."""

from __future__ import annotations

import re

import structlog

from agents.errors import FettleError, RunError, TransientError
from app.secrets.redaction import Redactor

_LONGEST = 2000

log = structlog.get_logger()

_TRANSIENT = re.compile(
    r"could not resolve host|couldn't resolve|failed to connect|couldn't connect|"
    r"connection (?:was )?(?:refused|reset|closed|timed out)|"
    r"operation (?:timed out|too slow)|timed out after|"
    r"empty reply|early eof|unexpected disconnect|hung up|rpc failed|transfer closed|"
    r"returned error: (?:408|425|429|5\d\d)|ssl_error_syscall|gnutls|recv failure|send failure|"
    r"temporary failure|network is unreachable|no route to host|http/2 stream|curl (?:18|52|56|92)|"
    r"(?:secondary|api) rate limit",
    re.IGNORECASE,
)
_DISK = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)
DISK_FULL = "the disk of the machine that runs Fettle is full"
_REFUSED = re.compile(
    r"authentication failed|could not read (?:username|password)|returned error: 40[13]|"
    r"terminal prompts disabled|write access .* not granted",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"returned error: 404|repository .*not found|does not appear to be a git repository",
    re.IGNORECASE,
)
_MOVED = re.compile(r"returned error: 30[1278]|from redirection", re.IGNORECASE)
_USER_IN_URL = re.compile(r"(?<=://)[^/@\s]+@")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class GitFailed(RunError):
    """Git failed for a reason that is neither the network's nor the token's."""

    def __init__(self, text: str, code: int = 128) -> None:
        super().__init__(text)
        self.code = code


class GitRefused(RunError):
    """The host says that the token may not see the repository, or that there is none.

    In a token's first seconds it may say so of one that is good.
    """


def clean_error(stderr: bytes, secret: str | None) -> str:
    """Return the end of git's error text without secrets, URL users or control characters."""
    text = stderr.decode("utf-8", "replace").replace("\r", "\n")
    text = Redactor((secret,) if secret else ()).clean(text)
    text = _CONTROL.sub("", _USER_IN_URL.sub("", text))
    return "\n".join(line for line in text.splitlines() if line.strip())[-_LONGEST:]


def local_fault(command: str, code: int, said: str) -> FettleError:
    """Return the error for a git command without network."""
    if _DISK.search(said):
        return TransientError(DISK_FULL)
    return GitFailed(f"`git {command}` failed with exit code {code}: {said or 'no message'}", code)


def network_fault(command: str, place: str, code: int, said: str) -> FettleError:
    """Return the error for a git command that talks to `place`; its class says who must act."""
    log.info("git failed", command=command, place=place, code=code, said=said)
    if _MOVED.search(said):
        return RunError(
            f"`{place}` has moved, and git follows no redirects. Ask again: the new address comes "
            f"with the next delivery."
        )
    if (trouble := _TRANSIENT.search(said)) is not None:
        why = trouble[0].lower()
        return TransientError(f"`git {command}` could not reach `{place}`: {why}")
    if _REFUSED.search(said):
        return GitRefused(
            f"`{place}` refused our token for `git {command}`. Check that the App is installed on "
            f"this repository with write access to contents, then ask again."
        )
    if _MISSING.search(said):
        return GitRefused(
            f"`{place}` does not exist, or the App may not see it. Check the installation, then "
            f"ask again."
        )
    return local_fault(command, code, said)
