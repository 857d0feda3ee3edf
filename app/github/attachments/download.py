"""Download attachments of this GitHub: each redirect is checked, few hosts receive the token."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from yarl import URL

from app.github.attachments.allowed_hosts import AllowedHosts, ImageLocation
from app.github.attachments.image_header import UnusableImage
from app.github.transport import InstallationClient
from app.github.transport.http import API_VERSION, MAX_REDIRECTS, TIMEOUT, USER_AGENT, RequestFailed
from app.github.transport.rate_limits import NO_ANSWER, Call, Reply
from app.network.outbound import Outbound

REDIRECTS = frozenset({301, 302, 303, 307, 308})
LONGEST_REFUSAL = 4_000
"""Bytes that are read of an answer that says no."""


class AssetLoader:
    """Loads files; `client` brings the token, waits where GitHub asks for it, and classifies."""

    def __init__(
        self, session: aiohttp.ClientSession, client: InstallationClient, places: AllowedHosts
    ) -> None:
        self._session = session
        self._client = client
        self._places = places

    @classmethod
    @asynccontextmanager
    async def open(
        cls, client: InstallationClient, places: AllowedHosts, outbound: Outbound
    ) -> AsyncIterator[AssetLoader]:
        """Open an HTTP session without cookies or decompression."""
        async with outbound.open_session(auto_decompress=False) as session:
            yield cls(session, client, places)

    async def load(self, place: ImageLocation, most: int) -> bytes:
        """Return the file, at most `most` bytes long.

        Raises UnusableImage when the file is longer or redirects to another host, and the client's
        errors when GitHub refuses. Only GitHub's own refusals count against the installation.
        """
        if not self._places.takes_token(place.url):
            return await self._follow(place, most, token=None)
        call = Call("GET", place.url.path, repeatable=True)
        return await self._client.attempt(
            call, lambda token: self._follow(place, most, token=token)
        )

    async def _follow(self, place: ImageLocation, most: int, *, token: str | None) -> bytes:
        url, accept = place.url, place.accept
        for _ in range(MAX_REDIRECTS + 1):
            if not self._places.allows(url):
                raise UnusableImage("leads to a place outside of this GitHub")
            mine = token if self._places.takes_token(url) else None
            found = await self._request_once(url, accept, most, mine)
            if isinstance(found, bytes):
                return found
            url = found
        raise UnusableImage("leads from one place to the next")

    async def _request_once(
        self, url: URL, accept: str, most: int, token: str | None
    ) -> bytes | URL:
        """Return the file, or where it is said to be."""
        headers = {"Accept": accept, "Accept-Encoding": "identity", "User-Agent": USER_AGENT}
        if token is not None:
            headers |= {"Authorization": f"Bearer {token}", "X-GitHub-Api-Version": API_VERSION}
        try:
            async with self._session.get(
                url, headers=headers, allow_redirects=False, timeout=TIMEOUT
            ) as answer:
                if answer.status in REDIRECTS and "Location" in answer.headers:
                    return _join(url, answer.headers["Location"])
                if answer.status != 200:
                    raise await _refusal(answer, ours=token is not None)
                return await _body(answer, most)
        except (aiohttp.ClientError, TimeoutError) as error:
            if token is not None:
                raise RequestFailed(Reply(NO_ANSWER, type(error).__name__)) from error
            raise UnusableImage("cannot be loaded: its place does not answer") from error


def _join(url: URL, location: str) -> URL:
    try:
        return url.join(URL(location))
    except ValueError:
        raise UnusableImage("leads nowhere") from None


async def _refusal(answer: aiohttp.ClientResponse, *, ours: bool) -> Exception:
    """Return what a refusal is: GitHub's own, with its reason, or a storage's."""
    if not ours:
        return UnusableImage(f"cannot be loaded: its place answers with status {answer.status}")
    headers = {name.lower(): value for name, value in answer.headers.items()}
    try:
        said: Any = json.loads(await answer.content.read(LONGEST_REFUSAL))
    except ValueError:
        said = None
    message = said.get("message") if isinstance(said, dict) else None
    return RequestFailed(Reply(answer.status, str(message or ""), headers))


async def _body(answer: aiohttp.ClientResponse, most: int) -> bytes:
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise UnusableImage("comes packed, which nobody asked for")
    body = bytearray()
    async for piece in answer.content.iter_chunked(65_536):
        body += piece
        if len(body) > most:
            raise UnusableImage(f"is larger than {most / 1e6:.1f} MB")
    return bytes(body)
