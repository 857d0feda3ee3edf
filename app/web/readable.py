"""Program that turns HTML on stdin into Markdown on stdout; each page gets its own process.

A stranger's page can keep an HTML parser busy for minutes, or exhaust its stack. So the parser runs
with limited time and memory, and imports nothing of Fettle.
"""

from __future__ import annotations

import json
import re
import sys
from urllib.parse import urljoin

from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter

NOISE = re.compile(
    "aside|button|canvas|dialog|footer|form|head|header|iframe|nav|noscript|object|script|style|svg"
    "|template|video"
)
_BLANKS = re.compile(r"\n\s*\n\s*\n+")


def to_readable(html: str, base: str) -> str:
    """Return the main part of the page as Markdown, with whole links and named images."""
    soup = BeautifulSoup(html, "html.parser")
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    main = soup.find("main") or soup.find(role="main") or soup.find("article") or soup.body or soup
    assert isinstance(main, Tag)
    _strip(main, base)
    try:
        text = MarkdownConverter(heading_style="ATX").convert_soup(main)
    except RecursionError:  # nested deeper than anybody writes by hand
        text = main.get_text("\n", strip=True)
    return _BLANKS.sub("\n\n", f"{title}\n\n{text}").strip()


def _strip(main: Tag, base: str) -> None:
    for tag in main.find_all(_is_hidden):
        if not tag.decomposed:
            tag.decompose()
    for picture in main.find_all("img"):
        picture.replace_with(f" {picture.get('alt') or ''} ")
    for link in main.find_all("a"):
        href = str(link.get("href") or "")
        if href.startswith(("#", "javascript:", "data:")) or not link.get_text(strip=True):
            link.unwrap()
        else:
            link["href"] = _absolute(base, href)
            del link["title"]


def _is_hidden(tag: Tag) -> bool:
    """Tell what is around the text, or not shown to people at all."""
    hidden = tag.has_attr("hidden") or tag.get("aria-hidden") == "true"
    return hidden or NOISE.fullmatch(tag.name) is not None


def _absolute(base: str, href: str) -> str:
    try:
        return urljoin(base, href)
    except ValueError:
        return href


if __name__ == "__main__":
    given = json.loads(sys.stdin.buffer.read())
    sys.stdout.buffer.write(to_readable(given["html"], given["base"]).encode("utf-8", "replace"))
