"""The host where a package index keeps its files, asked of the index itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urljoin

import aiohttp

from agents.text.markdown import HtmlReader
from app.dependencies.indexes.result import Index
from app.dependencies.origins import OriginKey, place_of

LARGEST = 8 * 1024 * 1024
MOST_PLACES = 4
"""An index has one host for its files, or two; more are somebody's homepages."""

_KNOWN = {"simple": "pip", "npm": "npm", "composer": "psr/log"}
"""What every public index has. Asked for first: a repository's own names may be anybody's."""
_PYTHON_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,100}[A-Za-z0-9])?")
_NPM_NAME = re.compile(r"(@[a-z0-9._~-]{1,100}/)?[a-z0-9][a-z0-9._~-]{0,213}", re.IGNORECASE)
_COMPOSER_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,100}/[a-z0-9][a-z0-9_.-]{0,100}")
_NUGET_FILES = ("PackageBaseAddress/", "RegistrationsBaseUrl")
_SENT_ON = {"https://api.github.com": "https://codeload.github.com"}
"""Where archives lie that Composer's packages name: the first host sends everybody on."""
_JSON_PAGE = "application/vnd.pypi.simple.v1+json"


class IndexUnanswered(Exception):
    """The index named no file; the text says why."""


async def file_places(
    session: aiohttp.ClientSession, index: Index, name: str | None
) -> tuple[OriginKey, ...]:
    """Return the origins of the files that the index names. Raises Silent.

    `name` is one of the repository's packages, for indexes that hold only their owner's packages.
    """
    if index.kind in {"go", "plain"}:  # their files lie beside their pages
        return ()
    reasons = []
    for url in _questions(index, name):
        try:
            page = await _download(session, index, url)
            found = _places(index, url, page)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            reasons.append(str(error) or type(error).__name__)
            continue
        if found:
            return tuple(found)[:MOST_PLACES]
        reasons.append("it named no file")
    raise IndexUnanswered(reasons[0] if reasons else "it was asked nothing")


def _questions(index: Index, name: str | None) -> Iterator[str]:
    base = index.url.rstrip("/")
    if index.kind in {"links", "nuget"}:
        yield index.url
    elif index.kind == "cargo":
        yield f"{base}/config.json"
    elif index.kind == "composer":
        names = filter(_COMPOSER_NAME.fullmatch, dict.fromkeys((_KNOWN[index.kind], name or "")))
        yield from (f"{base}/{page}.json" for page in ("packages", *(f"p2/{n}" for n in names)))
    else:
        pattern = _PYTHON_NAME if index.kind == "simple" else _NPM_NAME
        end = "/" if index.kind == "simple" else "/latest"
        for each in dict.fromkeys((_KNOWN[index.kind], name or "")):
            if pattern.fullmatch(each):
                yield f"{base}/{each.replace('/', '%2f')}{end}"


async def _download(session: aiohttp.ClientSession, index: Index, url: str) -> bytes:
    headers = {"Accept": f"{_JSON_PAGE}, text/html;q=0.5, application/json;q=0.4"}
    if index.keys:
        headers["Authorization"] = index.keys[0].header.get_secret_value()
    async with session.get(url, headers=headers, allow_redirects=False) as answer:
        if answer.status != 200:
            raise ValueError(f"it answered with status {answer.status}")
        page = b""
        async for data in answer.content.iter_chunked(64 * 1024):
            page += data
            if len(page) > LARGEST:
                raise ValueError("its answer is too long")
        return page


def _places(index: Index, url: str, page: bytes) -> Iterable[OriginKey]:
    found: dict[OriginKey, None] = {}
    for link in _links(index, page):
        try:
            found[place_of(urljoin(url, link))] = None
        except ValueError:
            continue
    return found


def _links(index: Index, page: bytes) -> Iterator[str]:
    if index.kind in {"simple", "links"} and not page.lstrip().startswith(b"{"):
        yield from links_of(page)
        return
    content = json.loads(page)
    if index.kind == "simple":
        yield from (str(file["url"]) for file in _entries(content, "files") if "url" in file)
    elif index.kind == "npm":
        yield from _find_text(content, "dist", "tarball")
    elif index.kind == "cargo":
        yield str(content.get("dl", ""))
    elif index.kind == "nuget":
        listed = _entries(content, "resources")
        yield from (
            str(each.get("@id"))
            for each in listed
            if str(each.get("@type")).startswith(_NUGET_FILES)
        )
    elif index.kind == "composer":
        yield from _list_archives(content)


def _list_archives(content: Any) -> Iterator[str]:
    """Yield where a Composer repository's page says that archives are.

    https://getcomposer.org/doc/05-repositories.md#composer
    """
    yield from (str(each.get("dist-url", "")) for each in _entries(content, "mirrors"))
    packages = content.get("packages") if isinstance(content, dict) else None
    for versions in packages.values() if isinstance(packages, dict) else ():
        listed = versions.values() if isinstance(versions, dict) else versions
        for version in listed if isinstance(listed, Iterable) else ():
            for url in _find_text(version, "dist", "url"):
                yield url
                host = url[: url.find("/", len("https://"))]
                yield _SENT_ON.get(host, url)


def links_of(page: bytes) -> list[str]:
    """Return the links of an index's HTML page.

    https://packaging.python.org/en/latest/specifications/simple-repository-api/
    """
    parser = _Anchors()
    parser.feed(page.decode("utf-8", "replace"))
    return parser.links


def _entries(content: Any, name: str) -> list[dict[str, Any]]:
    listed = content.get(name) if isinstance(content, dict) else None
    return [entry for entry in listed or () if isinstance(entry, dict)]


def _find_text(content: Any, *names: str) -> Iterator[str]:
    for name in names:
        content = content.get(name) if isinstance(content, dict) else None
    if isinstance(content, str):
        yield content


class _Anchors(HtmlReader):
    """Collects the links to files; those to homepages, which their authors chose, are none."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take one link."""
        given = dict(attrs)
        if tag == "a" and given.get("href") and "rel" not in given:
            self.links.append(given["href"] or "")
