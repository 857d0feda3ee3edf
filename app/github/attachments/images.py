"""The images in a text: those stored on this GitHub are downloaded, others only named."""

from __future__ import annotations

import asyncio
import base64
import html
import json
import re
from collections.abc import Iterable

from yarl import URL

from agents.errors import RunError, TransientError
from agents.ports import Picture, Pictures
from app.github.access.run_reader import RunReader
from app.github.attachments.allowed_hosts import AllowedHosts, ImageLocation
from app.github.attachments.download import AssetLoader
from app.github.attachments.image_header import UnusableImage, read_header
from app.github.attachments.markdown_links import Image, read_links
from app.github.transport import clean_line

MOST_SHOWN = 5
MOST_TRIED = 10
"""Pictures that are loaded for one text: with their redirects at most 4 requests each, and one
more for the text as HTML."""

MOST_BYTES = 5 * 1024 * 1024 * 3 // 4
"""The Messages API takes 5 MB of base64 for one picture."""

MOST_TOGETHER = 10_000_000
"""Bytes of all pictures of one text: they are sent again with every turn."""

MOST_NAMED = 10
SECONDS = 20.0
HTML = "application/vnd.github.full+json"
LONGEST_HTML = 3_000_000

_SOURCE = re.compile(r"""\bsrc=["']([^"'\s<>]{1,4000})["']""")


async def read_pictures(reading: RunReader, text: str, number: int) -> Pictures:
    """Return the images in a text of the issue `number`, in order."""
    images = _each_once((await read_links(text)).images)
    if not images:
        return Pictures()
    client = await reading.client()
    places = AllowedHosts(reading.github.urls, reading.request.repository)
    async with AssetLoader.open(client, places, reading.github.urls.outbound) as loader:
        album = _Album(_Signed(loader, places, number), loader, places)
        for image in images:
            await album.add(image)
    return album.pictures()


class _Album:
    """Collects pictures until there are enough."""

    def __init__(self, signed: _Signed, loader: AssetLoader, places: AllowedHosts) -> None:
        self._signed = signed
        self._loader = loader
        self._places = places
        self._shown: list[Picture] = []
        self._left_out: list[str] = []
        self._tried = 0
        self._bytes = 0

    async def add(self, image: Image) -> None:
        """Take the picture in, or note why not."""
        try:
            place = self._places.find(image.address)
            self._shown.append(await self._load(image, place))
        except UnusableImage as why:
            self._leave_out(image, str(why))
        except TimeoutError:
            self._leave_out(image, f"did not come within {SECONDS:.0f} s")
        except TransientError:
            self._leave_out(image, "cannot be loaded now: GitHub does not answer as it should")
        except RunError:
            self._leave_out(image, "is not there any more, or GitHub does not show it to the App")

    def pictures(self) -> Pictures:
        """Return what has been collected; of many that are missing, only some are named."""
        named = self._left_out[:MOST_NAMED]
        more = len(self._left_out) - len(named)
        notes = [f"{more} more pictures are left out"] if more else []
        return Pictures(shown=tuple(self._shown), left_out=(*named, *notes))

    async def _load(self, image: Image, place: ImageLocation) -> Picture:
        if len(self._shown) >= MOST_SHOWN or self._tried >= MOST_TRIED:
            raise UnusableImage(f"comes after the {MOST_SHOWN} pictures that are looked at")
        self._tried += 1
        async with asyncio.timeout(SECONDS):
            data = await self._loader.load(await self._signed.instead_of(place), MOST_BYTES)
        found = read_header(data)
        if self._bytes + len(found.data) > MOST_TOGETHER:
            raise UnusableImage("is too large together with those before it")
        self._bytes += len(found.data)
        return Picture(
            alt=clean_line(image.alt),
            url=_name(image),
            media_type=found.media_type,
            data=base64.b64encode(found.data).decode(),
            width=found.width,
            height=found.height,
        )

    def _leave_out(self, image: Image, why: str) -> None:
        self._left_out.append(f"{_name(image)} {why}")


class _Signed:
    """Addresses that GitHub signs for a few minutes when it renders a text for somebody."""

    def __init__(self, loader: AssetLoader, places: AllowedHosts, number: int) -> None:
        self._loader = loader
        self._places = places
        self._number = number
        self._found: list[str] | None = None

    async def instead_of(self, place: ImageLocation) -> ImageLocation:
        """Return the signed address of an attached file, or its plain one when there is none.

        Attached files of private repositories have no call of their own in the API.
        """
        if not place.attachment:
            return place
        if self._found is None:
            self._found = await self._ask()
        for address in self._found:
            if place.attachment in address.lower():
                url = URL(address)
                if self._places.allows(url) and not self._places.takes_token(url):
                    return ImageLocation(url)
        return place

    async def _ask(self) -> list[str]:
        """Return the sources of the pictures that the issue's text shows to us."""
        url = self._places.api("issues", str(self._number))
        try:
            data = await self._loader.load(ImageLocation(url, accept=HTML), LONGEST_HTML)
            rendered = str(json.loads(data).get("body_html") or "")
        except (RunError, TransientError, UnusableImage, ValueError):
            return []  # the plain addresses are tried then, and say what is wrong
        return [html.unescape(found) for found in _SOURCE.findall(rendered)]


def _each_once(images: Iterable[Image]) -> list[Image]:
    found: dict[str, Image] = {}
    for image in images:
        found.setdefault(image.address, image)
    return list(found.values())


def _name(image: Image) -> str:
    """Return the address without what may open it; a picture in the text has none."""
    address = image.address.partition("?")[0].partition("#")[0]
    return "a picture" if address[:5].lower() == "data:" else clean_line(address) or "a picture"
