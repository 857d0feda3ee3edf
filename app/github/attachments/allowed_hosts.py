"""The hosts that may serve images of one GitHub, and which of them may receive the token."""

from __future__ import annotations

import re
from dataclasses import dataclass

from yarl import URL

from agents.requests import Repository
from app.github.attachments.image_header import UnusableImage
from app.github.transport import Urls

GITHUB_COM = frozenset(
    {
        "camo.githubusercontent.com",
        "cloud.githubusercontent.com",
        "private-user-images.githubusercontent.com",
        "user-images.githubusercontent.com",
    }
)
"""Hosts of github.com that texts show pictures from; each picture has an address of its own."""

STORAGE = GITHUB_COM | {
    "github-production-user-asset-6210df.s3.amazonaws.com",
    "objects.githubusercontent.com",
}
"""Storage hosts to which github.com redirects from its own addresses."""

_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_ATTACHMENT = re.compile(rf"/(?:user-attachments|[\w.-]+/[\w.-]+)/assets/(?:\d+/)?(?P<id>{_UUID})")
_IN_REPOSITORY = re.compile(
    r"/(?P<raw>raw/)?(?P<name>[\w.-]+/[\w.-]+)(?(raw)|/(?:raw|blob))"
    r"/(?P<ref>refs/(?:heads|tags)/[^/]+|[^/]+)/(?P<path>.+)"
)
_RAW = re.compile(
    r"/(?P<name>[\w.-]+/[\w.-]+)/(?P<ref>refs/(?:heads|tags)/[^/]+|[^/]+)/(?P<path>.+)"
)
_SIGNED = re.compile(rf"/\d+/\d+-(?P<id>{_UUID})\.\w+")
_STORED = re.compile(r"/(?:storage/)?user/\d+/files/.+")


@dataclass(frozen=True)
class ImageLocation:
    """The address of an image, checked."""

    url: URL
    attachment: str = ""
    """The id of a file that was dropped into a text; empty for others."""
    accept: str = "*/*"


class AllowedHosts:
    """The hosts of one GitHub that serve images, for one repository."""

    def __init__(self, urls: Urls, repository: Repository) -> None:
        self._web = URL(urls.web)
        self._rest = URL(urls.rest)
        self._repository = repository
        self._is_github_com = self._web.host == "github.com"

    def find(self, address: str) -> ImageLocation:
        """Return where an image of a text is downloaded from.

        Raises UnusableImage for hosts that are not GitHub's.
        """
        url = _absolute(address)
        if not self.allows(url):
            raise UnusableImage("does not lie on this GitHub")
        if url.origin() == self._web.origin():
            return self._on_web(url)
        if url.host in {"raw.githubusercontent.com", f"raw.{self._web.host}"}:
            return self._in_repository(_RAW.fullmatch(url.path))
        if self.takes_token(url) or (self._is_github_com and url.host not in GITHUB_COM):
            raise UnusableImage("does not lie where GitHub keeps pictures")
        signed = _SIGNED.fullmatch(url.path)
        return ImageLocation(url, signed["id"].lower() if signed else "")

    def allows(self, url: URL) -> bool:
        """Tell whether an image may be requested there, without credentials."""
        if url.user is not None or url.password is not None or url.host is None:
            return False
        if url.origin() in {self._web.origin(), self._rest.origin()}:
            return True
        if (url.scheme, url.port) != (self._web.scheme, self._web.port):
            return False
        if self._is_github_com:
            return url.host in STORAGE or url.host == "raw.githubusercontent.com"
        return url.host.endswith(f".{self._web.host}")

    def takes_token(self, url: URL) -> bool:
        """Tell whether the token may be sent there: to the API and the page of attached files."""
        if not self.allows(url):
            return False
        if url.origin() == self._rest.origin() and url.path.startswith(f"{self._api}/"):
            return True
        return url.origin() == self._web.origin() and _ATTACHMENT.fullmatch(url.path) is not None

    def api(self, *parts: str, **query: str) -> URL:
        """Return an address of the REST API below the repository."""
        owner, name = self._repository.owner, self._repository.name
        below = "/".join(("repos", owner, name, *parts))
        return self._rest.with_path(f"{self._api}/{below}").with_query(query)

    @property
    def _api(self) -> str:
        return self._rest.path.rstrip("/")

    def _on_web(self, url: URL) -> ImageLocation:
        if (attached := _ATTACHMENT.fullmatch(url.path)) is not None:
            return ImageLocation(url.with_query(None).with_fragment(None), attached["id"].lower())
        if _STORED.fullmatch(url.path):
            return ImageLocation(url)
        return self._in_repository(_IN_REPOSITORY.fullmatch(url.path))

    def _in_repository(self, found: re.Match[str] | None) -> ImageLocation:
        """Return a file of the repository, which the API hands out for the token."""
        if found is None:
            raise UnusableImage("does not lie where GitHub keeps pictures")
        if found["name"].lower() != self._repository.full_name.lower():
            raise UnusableImage("lies in another repository")
        if ".." in found["path"].split("/"):
            raise UnusableImage("does not lie where GitHub keeps pictures")
        url = self.api("contents", *found["path"].split("/"), ref=found["ref"])
        return ImageLocation(url, accept="application/vnd.github.raw+json")


def _absolute(address: str) -> URL:
    if address[:5].lower() == "data:":
        raise UnusableImage("stands in the text itself instead of being attached")
    try:
        url = URL(address)
        absolute = url.scheme in {"http", "https"} and bool(url.host)
        url.port  # noqa: B018 a port that is none shows only when it is asked for
    except ValueError:
        absolute = False
    if not absolute:
        raise UnusableImage("has no complete address")
    return url
