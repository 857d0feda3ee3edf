"""One HTTP call to GitHub through gidgethub, whose traps are closed here."""

from __future__ import annotations

import http
import json
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import aiohttp
from gidgethub import HTTPException, sansio
from gidgethub.aiohttp import GitHubAPI

from agents.errors import RunError
from app.github.transport.errors import graphql_reply
from app.github.transport.etag_cache import Kept
from app.github.transport.rate_limits import NO_ANSWER, Reply
from app.github.transport.urls import Urls

API_VERSION: Final = "2022-11-28"
USER_AGENT: Final = "fettle"
TIMEOUT: Final = aiohttp.ClientTimeout(total=30, connect=10)
"""GitHub itself gives up on a request after 10 s."""

MAX_REDIRECTS: Final = 3
KEEPS_METHOD: Final = frozenset({301, 307, 308})


class RequestFailed(Exception):
    """GitHub refused a request; `reply` has the values to decide on."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"{reply.status} {reply.message}")
        self.reply = reply


class HttpApi(GitHubAPI):
    """Single calls, without retries or waiting.

    `kept` is the ETag cache of one scope, since gidgethub knows answers by address alone. `hear` is
    called with the headers of each answer.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        urls: Urls,
        *,
        kept: MutableMapping[str, Kept] | None = None,
        hear: Callable[[Mapping[str, str]], None] | None = None,
    ) -> None:
        super().__init__(session, USER_AGENT, base_url=urls.rest, cache=kept)
        self._hear = hear
        self._graphql_url = urls.graphql
        self._origins = {_origin(urls.rest), _origin(urls.graphql)}
        self.date: str | None = None
        """The `Date` header of the newest answer."""

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
        """Return the decoded answer and the next page's address. Raises RequestFailed."""
        with _refusals():
            answer, more, _ = await self._make_request(
                method, url, url_vars, data, sansio.accept_format(), jwt=jwt, oauth_token=token
            )
        return answer, more

    async def locate(self, url: str, url_vars: Mapping[str, Any], *, token: str) -> str:
        """Return the address to which GitHub redirects for a file. Raises RequestFailed.

        The file lies on a storage host, which must not see the token. So redirects to other hosts
        are returned instead of followed.
        """
        address = sansio.format_url(url, url_vars, base_url=self.base_url)
        headers = {
            **sansio.create_headers(USER_AGENT, oauth_token=token),
            "x-github-api-version": API_VERSION,
        }
        with _refusals():
            for _ in range(MAX_REDIRECTS):
                status, said, body = await self._send_once("GET", address, headers)
                there = urljoin(address, said.get("location", ""))
                if status == 302 and there != address:
                    return there
                if status not in KEEPS_METHOD or _origin(there) not in self._origins:
                    sansio.decipher_response(*_normalize_failure(status, said, body))
                    break
                address = there  # the repository was renamed
        raise RequestFailed(Reply(502, "It leads nowhere."))

    async def tail(self, url: str, *, keep: int, most: int) -> bytes:
        """Return the last `keep` bytes of a file on a storage host, fetched without credentials.

        Only the first `most` bytes of the file are read. Raises RequestFailed.
        """
        kept, read = bytearray(), 0
        with _refusals():
            async with self._session.get(url, allow_redirects=False, timeout=TIMEOUT) as answer:
                if answer.status != 200:
                    raise RequestFailed(Reply(answer.status, "The file is not there."))
                async for piece in answer.content.iter_chunked(65_536):
                    kept += piece
                    del kept[:-keep]
                    read += len(piece)
                    if read >= most:
                        break
        return bytes(kept)

    async def graphql_data(
        self, document: str, variables: Mapping[str, Any], *, token: str
    ) -> dict[str, Any]:
        """Return the `data` of a GraphQL answer. Raises RequestFailed for any error in the answer.

        gidgethub's own `graphql` supports one host only, and drops the headers of a rate limit.
        https://docs.github.com/graphql/guides/forming-calls-with-graphql
        """
        asked = {"query": document, "variables": dict(variables)}
        answer, _ = await self.send("POST", self._graphql_url, data=asked, token=token)
        answer = answer if isinstance(answer, dict) else {}
        if errors := answer.get("errors"):
            raise RequestFailed(replace(graphql_reply(errors), headers=self._limit_headers()))
        if not isinstance(answer.get("data"), dict):
            raise RequestFailed(Reply(502, "The answer has neither data nor errors."))
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
            answer = await self._send_once(method, url, headers, body)
            status, said, _ = answer
            follow = status in KEEPS_METHOD or (status == 302 and method == "GET")
            if not follow or "location" not in said:
                break
            url = urljoin(url, said["location"])
        return _normalize_failure(*answer)

    async def _send_once(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Mapping[str, str], bytes]:
        async with self._session.request(
            method, url, headers=headers, data=body, allow_redirects=False, timeout=TIMEOUT
        ) as response:
            self.date = response.headers.get("date")
            if self._hear is not None:
                self._hear(response.headers)
            return response.status, response.headers, await response.read()


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn every way in which a call can fail into Refused."""
    try:
        yield
    except HTTPException as error:
        reply = Reply(int(error.status_code), str(error), _lower_names(error.headers))
        raise RequestFailed(reply) from error
    except (aiohttp.ClientError, TimeoutError) as error:
        raise RequestFailed(Reply(NO_ANSWER, type(error).__name__)) from error
    except (json.JSONDecodeError, UnicodeDecodeError, LookupError) as error:
        raise RequestFailed(Reply(502, "The answer cannot be read.")) from error


def _normalize_failure(
    status: int, headers: Mapping[str, str], body: bytes
) -> tuple[int, Mapping[str, str], bytes]:
    """Give a failure the form gidgethub expects: a status Python knows, a JSON object.

    Proxies and GitHub's edge answer 520 and the like, with pages for people in them.
    """
    if status < 300 and not _lower_names(headers).get("content-type", "").startswith("text/html"):
        return status, headers, body
    if status < 300:  # a page for people, such as of a proxy
        raise RequestFailed(Reply(502, "The answer cannot be read."))
    if status not in http.HTTPStatus.__members__.values():
        status = 502 if status >= 500 else 400
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        said = {}
    said.setdefault("message", "")
    plain = {**_lower_names(headers), "content-type": "application/json"}
    return status, plain, json.dumps(said).encode()


def _lower_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
