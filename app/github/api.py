"""gidgethub with its traps closed: one HTTP call to GitHub, or a `Reply` that says why not."""

from __future__ import annotations

import http
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import aiohttp
from gidgethub import HTTPException, sansio
from gidgethub.aiohttp import GitHubAPI

from agents.errors import RunError
from app.github.faults import graphql_reply
from app.github.limits import NO_ANSWER, Reply
from app.github.urls import Urls

API_VERSION: Final = "2022-11-28"
USER_AGENT: Final = "fettle"
TIMEOUT: Final = aiohttp.ClientTimeout(total=30, connect=10)
"""GitHub itself gives up on a request after 10 s."""

MAX_REDIRECTS: Final = 3
KEEPS_METHOD: Final = frozenset({301, 307, 308})


class Refused(Exception):
    """GitHub did not do what was asked; `reply` has the plain values to decide on."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"{reply.status} {reply.message}")
        self.reply = reply


class Api(GitHubAPI):
    """The calls themselves: no retry, no waiting, no cache that installations could share."""

    def __init__(self, session: aiohttp.ClientSession, urls: Urls) -> None:
        super().__init__(session, USER_AGENT, base_url=urls.rest)
        self._graphql_url = urls.graphql
        self._origins = {_origin(urls.rest), _origin(urls.graphql)}

    async def send(
        self,
        method: str,
        url: str,
        *,
        url_vars: Mapping[str, Any] | None = None,
        data: Any = b"",
        token: str | None = None,
        jwt: str | None = None,
    ) -> tuple[Any, str | None]:
        """Return the decoded answer and the address of the next page. Raises Refused."""
        try:
            answer, more, _ = await self._make_request(
                method, url, url_vars, data, sansio.accept_format(), jwt=jwt, oauth_token=token
            )
        except HTTPException as error:
            raise Refused(
                Reply(int(error.status_code), str(error), _lowered(error.headers))
            ) from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Refused(Reply(NO_ANSWER, type(error).__name__)) from error
        except (json.JSONDecodeError, UnicodeDecodeError, LookupError) as error:
            raise Refused(Reply(502, "The answer cannot be read.")) from error
        return answer, more

    async def graphql_data(
        self, document: str, variables: Mapping[str, Any], *, token: str
    ) -> dict[str, Any]:
        """Return the `data` of a GraphQL answer. Raises Refused for any error in it.

        gidgethub's own `graphql` knows one host only and gives the headers of a limit away.
        """
        asked = {"query": document, "variables": dict(variables)}
        answer, _ = await self.send("POST", self._graphql_url, data=asked, token=token)
        answer = answer if isinstance(answer, dict) else {}
        if errors := answer.get("errors"):
            raise Refused(replace(graphql_reply(errors), headers=self._limit_headers()))
        if not isinstance(answer.get("data"), dict):
            raise Refused(Reply(502, "The answer has neither data nor errors."))
        data: dict[str, Any] = answer["data"]
        return data

    def _limit_headers(self) -> dict[str, str]:
        """Return what the newest answer said about its limit: no other one came in between."""
        if self.rate_limit is None:
            return {}
        reset = int(self.rate_limit.reset_datetime.timestamp())
        return {
            "x-ratelimit-remaining": str(self.rate_limit.remaining),
            "x-ratelimit-reset": str(reset),
        }

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Follow redirects ourselves: aiohttp would turn a POST into a GET that answers 200."""
        headers = {**headers, "x-github-api-version": API_VERSION}
        for _ in range(MAX_REDIRECTS + 1):
            if _origin(url) not in self._origins:
                raise RunError(
                    f"GitHub points to {urlsplit(url).hostname}, another host than its API's; the "
                    "App's token is not sent there. Check FETTLE_GITHUB_URL."
                )
            async with self._session.request(
                method, url, headers=headers, data=body, allow_redirects=False, timeout=TIMEOUT
            ) as response:
                answer = response.status, response.headers, await response.read()
            follow = response.status in KEEPS_METHOD or (response.status == 302 and method == "GET")
            if not follow or "location" not in response.headers:
                break
            url = urljoin(url, response.headers["location"])
        return _tidied(*answer)


def _tidied(
    status: int, headers: Mapping[str, str], body: bytes
) -> tuple[int, Mapping[str, str], bytes]:
    """Give a failure the form gidgethub expects: a status Python knows, a JSON object.

    Proxies and GitHub's edge answer 520 and the like, with pages for people in them.
    """
    if status < 300:
        return status, headers, body
    if status not in http.HTTPStatus.__members__.values():
        status = 502 if status >= 500 else 400
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        said = {}
    said.setdefault("message", "")
    plain = {**_lowered(headers), "content-type": "application/json"}
    return status, plain, json.dumps(said).encode()


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
