"""GitHub's errors as exceptions: the class says who must act, the text what to do.

https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api
"""

from __future__ import annotations

from agents.errors import ConfigError, FettleError, RunError, TransientError
from app.github.transport.rate_limits import NO_ANSWER, Call, Reply


class NotFound(RunError):
    """GitHub does not have it, or hides it from the App."""


class Unprocessable(RunError):
    """GitHub understood the request and refuses it, whoever asks."""


class TooManyPages(RunError):
    """GitHub has more pages of a list than Fettle reads."""


class NotPermitted(RunError):
    """The App lacks a permission that its owner, or the installation's owner, can grant."""


class InstallationGone(RunError):
    """The installation is suspended or removed, so nothing can be done there."""


class Suspended(InstallationGone):
    """The owner of the account has suspended the installation."""


def to_error(call: Call, reply: Reply, *, wait: float | None = None) -> FettleError:
    """Return the error for this reply; `wait` is set (in seconds) for a rate limit."""
    asked = f"`{call.method} {call.path}`"
    said = _quote_message(reply)
    if wait is not None:
        return TransientError(f"GitHub asks for a pause of {wait:.0f} s.{said}", retry_after=wait)
    if reply.status == NO_ANSWER:
        why = f" ({reply.message})" if reply.message else ""  # in our words: GitHub said none
        return TransientError(
            f"GitHub did not answer {asked}{why}. Is it in reach from this server?"
        )
    if reply.status >= 500:
        return TransientError(f"GitHub failed at {asked} with status {reply.status}.{said}")
    if reply.status == 401 or _no_such_app(call, reply):
        return _to_unauthorized(call, said)
    if reply.status in {403, 404, 410, 422}:
        return _to_refusal(reply, asked, said)
    return RunError(
        f"GitHub answered {asked} with status {reply.status}, which Fettle does not expect.{said} "
        "Please report this to those who run Fettle."
    )


def _quote_message(reply: Reply) -> str:
    """Return GitHub's own words as a sentence, to go between others."""
    words = reply.message.strip()
    return f" GitHub says: {words}{'' if words.endswith(('.', '!', '?')) else '.'}" if words else ""


def _no_such_app(call: Call, reply: Reply) -> bool:
    return call.as_app and reply.status == 404 and "integration" in reply.message.lower()


def _to_unauthorized(call: Call, said: str) -> FettleError:
    if call.as_app:
        return ConfigError(
            f"GitHub does not accept the App's signature.{said} Check that FETTLE_APP_ID is the id "
            "of the App that FETTLE_PRIVATE_KEY belongs to, that FETTLE_GITHUB_URL is where that "
            "App lives, that the key was not deleted there, and that this machine's clock is right."
        )
    return TransientError(f"GitHub does not accept a token that it has just made.{said}")


def _to_refusal(reply: Reply, asked: str, said: str) -> RunError:
    if "suspended" in reply.message.lower():
        return Suspended(
            f"The App's installation is suspended, so it may not act here.{said} An owner can lift "
            "the suspension in the settings under GitHub Apps."
        )
    needed = reply.headers.get("x-accepted-github-permissions")
    if reply.status == 403 and needed and "not accessible" in reply.message.lower():
        return NotPermitted(
            f"The App may not do {asked}: that takes {permissions_text(needed)}. Whoever runs "
            "Fettle adds the permission in the App's settings; then an owner of this repository's "
            "account accepts it in the settings under GitHub Apps."
        )
    if reply.status == 403:  # like an archived repository; GitHub's own words are the best
        return NotPermitted(f"GitHub does not allow {asked}.{said}")
    if reply.status == 422:
        return Unprocessable(f"GitHub will not do {asked}.{said}")
    return NotFound(
        f"GitHub has nothing at {asked}, or does not show it to the App.{said} If it is there, "
        "an owner can give the App access to this repository in the settings under GitHub Apps."
    )


def permissions_text(header: str) -> str:
    """Return `X-Accepted-GitHub-Permissions` in words.

    A comma joins permissions that are all needed; a semicolon separates alternatives.
    https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api
    """
    ways = [way.split(",") for way in header.split(";") if way.strip()]
    return ", or ".join(
        " and ".join("`" + ": ".join(one.strip().split("=")) + "`" for one in way) for way in ways
    )


def mint_fault(call: Call, reply: Reply, permissions: dict[str, str]) -> FettleError:
    """Return the error for a refused installation token."""
    said = _quote_message(reply)
    if reply.status in {404, 410} and not _no_such_app(call, reply):
        return InstallationGone(
            "The App is not installed here any more, so it may not act. An owner can install it "
            "again from the App's page."
        )
    if reply.status == 422:
        wanted = ", ".join(f"`{name}: {level}`" for name, level in permissions.items())
        return NotPermitted(
            f"GitHub does not give the App what it needs here ({wanted} on this repository).{said} "
            "An owner can accept the App's permissions, and give it access to this repository, in "
            "the settings under GitHub Apps."
        )
    return to_error(call, reply)


def graphql_reply(errors: list[dict[str, object]]) -> Reply:
    """Return the REST reply with the meaning of these GraphQL errors, which come with a 200."""
    types = {str(error.get("type", "")) for error in errors}
    message = "; ".join(str(error.get("message", "")) for error in errors)
    if "rate limit" in message.lower():  # GitHub has several types for it, and for some none
        return Reply(429, message)
    found = (status for kind, status in _STATUSES.items() if kind in types)
    lower = 502 if "something went wrong" in message.lower() else 422
    return Reply(next(found, lower), message)


_STATUSES = {
    "RATE_LIMITED": 429,
    "RATE_LIMIT": 429,
    "RESOURCE_LIMITS_EXCEEDED": 502,  # it took GitHub too long this time
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
}
