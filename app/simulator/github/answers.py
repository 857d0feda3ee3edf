"""Answers of the simulated REST API: JSON bodies, and errors in GitHub's words and shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson
from aiohttp import web

Json = Any
LONGEST_TEXT = 65_536
T = TypeVar("T")
DOCS = "https://docs.github.com/rest"


@dataclass(frozen=True)
class Answer:
    """A status, JSON (None for an empty body) and headers."""

    status: int
    body: Json
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self) -> web.Response:
        """Return the answer as aiohttp sends it."""
        if self.body is None:
            return web.Response(status=self.status, headers=self.headers)
        if isinstance(self.body, bytes):
            return web.Response(status=self.status, body=self.body, headers=self.headers)
        return web.Response(
            status=self.status,
            body=orjson.dumps(self.body),
            content_type="application/json",
            charset="utf-8",
            headers=self.headers,
        )


class ApiError(Exception):
    """A request is not done; turned into GitHub's error answer."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        errors: Sequence[Json] | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Json] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.errors = errors
        self.headers = headers or {}
        self.extra = extra or {}

    def answer(self) -> Answer:
        """Return GitHub's error body."""
        body: dict[str, Json] = {"message": str(self)}
        if self.errors is not None:
            body["errors"] = list(self.errors)
        body |= {"documentation_url": DOCS, "status": str(self.status)} | dict(self.extra)
        return Answer(self.status, body, self.headers)


def not_found() -> ApiError:
    """Return the answer for what is not there, or may not be known to be there."""
    return ApiError(404, "Not Found")


def require_found(found: T | None) -> T:
    """Return what was found. Raises Refused when that is nothing."""
    if found is None:
        raise not_found()
    return found


def invalid(resource: str, field_name: str, code: str = "invalid", **more: str) -> ApiError:
    """Return a 422 about one field."""
    error = {"resource": resource, "field": field_name, "code": code} | more
    return ApiError(422, "Validation Failed", errors=[error])


def custom(resource: str, message: str) -> ApiError:
    """Return a 422 that says its reason in a sentence."""
    error = {"resource": resource, "code": "custom", "message": message}
    return ApiError(422, "Validation Failed", errors=[error])


def check_text(body: str, resource: str) -> str:
    """Return a text that GitHub takes: not blank, not too long."""
    if not body.strip():
        raise invalid(resource, "body", "missing_field")
    if len(body) > LONGEST_TEXT:
        message = f"body is too long (maximum is {LONGEST_TEXT} characters)"
        raise invalid(resource, "body", "custom", message=message)
    return body
