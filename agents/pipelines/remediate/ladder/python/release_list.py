"""A program for the sandbox: list the releases that the index offers, as `pip index versions` does.

It runs with a Python that has pip, judges files with pip's own modules, and loads no more of pip
than that takes: all of it takes three times as long. What it does not know for certain is for pip
to say; it ends with an error then, and has written nothing.
"""

from __future__ import annotations

import gzip
import json
import os
import posixpath
import re
import ssl
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from pip._internal.utils import appdirs
from pip._internal.utils.compatibility_tags import get_supported
from pip._internal.utils.packaging import check_requires_python
from pip._vendor.packaging.specifiers import InvalidSpecifier
from pip._vendor.packaging.utils import canonicalize_name, parse_wheel_filename
from pip._vendor.packaging.version import InvalidVersion, Version

_SECONDS = 15  # pip's own
_JSON, _HTML = "application/vnd.pypi.simple.v1+json", "application/vnd.pypi.simple.v1+html"
_ACCEPTED = f"{_JSON}, {_HTML}; q=0.1, text/html; q=0.01"
_HEADERS = {"Accept": _ACCEPTED, "Accept-Encoding": "gzip"}
_HARMLESS = (
    *("PIP_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_CERT", "PIP_RETRIES", "PIP_TIMEOUT"),
    *("PIP_DEFAULT_TIMEOUT", "PIP_NO_INPUT", "PIP_PROGRESS_BAR", "PIP_DISABLE_PIP_VERSION_CHECK"),
    "PIP_CONFIG_FILE",
)
"""Options of pip that this program obeys, and those that change nothing of what pip lists."""
_SOURCES = {
    **dict.fromkeys((".tar.gz", ".tgz", ".tar", ".zip"), "gzip"),
    **dict.fromkeys((".tar.bz2", ".tbz"), "bz2"),
    **dict.fromkeys((".tar.xz", ".txz", ".tlz", ".tar.lz", ".tar.lzma"), "lzma"),
}
"""How files with sources end, and the module without which pip leaves them out."""
_FOR_ONE_PYTHON = re.compile(r"-py[123]\.?[0-9]?$")


class Unsure(Exception):
    """Another answer than pip's would be possible."""


class IndexFile(NamedTuple):
    """A file of the index's page."""

    name: str
    requires_python: str | None
    yanked: bool


class IndexPage(HTMLParser):
    """The files of a page of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.files: list[IndexFile] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """Take the file that a link leads to."""
        said = dict(attrs)
        if tag == "a" and (link := said.get("href")):
            yanked = said.get("data-yanked") is not None
            self.files.append(IndexFile(_read_name(link), said.get("data-requires-python"), yanked))


def find_index(environment: Mapping[str, str]) -> str:
    """Return the one index that pip would ask. Raises Unsure where more decides than that."""
    given = {name for name in environment if name.startswith("PIP_")}
    if not given <= set(_HARMLESS) or any(map(os.path.exists, _list_settings(environment))):
        raise Unsure
    index = environment["PIP_INDEX_URL"]
    parts = urlsplit(index)
    trusted = environment.get("PIP_TRUSTED_HOST", "").split()
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.netloc in trusted)
    if not safe or "@" in parts.netloc:
        raise Unsure
    return index


def _list_settings(environment: Mapping[str, str]) -> list[str]:
    """Return the paths of all files that pip takes settings from."""
    if environment.get("PIP_CONFIG_FILE") == os.devnull:
        return []
    folders = [*appdirs.site_config_dirs("pip"), appdirs.user_config_dir("pip"), sys.prefix]
    folders += [str(Path.home() / name) for name in (".pip", "pip")]
    return [environment.get("PIP_CONFIG_FILE", ""), *(f"{each}/pip.conf" for each in folders)]


def fetch_files(index: str, package: str) -> Sequence[IndexFile]:
    """Return the files that the index has of a package."""
    url = f"{posixpath.join(index, quote(package))}/"
    trusted = os.environ.get("PIP_CERT")
    context = ssl.create_default_context(cafile=trusted) if url.startswith("https:") else None
    asked = urllib.request.Request(url, headers=_HEADERS)  # noqa: S310 `find_index` knows which
    with urllib.request.urlopen(asked, timeout=_SECONDS, context=context) as answer:  # noqa: S310 the same
        data, kind = answer.read(), answer.headers.get_content_type()
        coding = answer.headers.get("Content-Encoding", "")
        charset = answer.headers.get_content_charset("utf-8")
    if coding not in ("", "gzip"):
        raise Unsure
    data = gzip.decompress(data) if coding else data
    if kind == _JSON:
        return [_read_file(each) for each in json.loads(data)["files"]]
    if kind in (_HTML, "text/html"):
        return IndexPage(data.decode(charset)).files
    raise Unsure


def _read_file(said: Mapping[str, Any]) -> IndexFile:
    return IndexFile(_read_name(said["url"]), said.get("requires-python"), bool(said.get("yanked")))


def _read_name(link: str) -> str:
    """Return the name of the file that a link leads to."""
    parts = urlsplit(link)
    if "egg=" in parts.fragment:
        raise Unsure
    return posixpath.basename(unquote(parts.path))


def list_versions(package: str, files: Sequence[IndexFile]) -> Iterator[Version]:
    """Yield the version of each file that this Python could install and that was not yanked."""
    tags = frozenset(get_supported())
    for file in files:
        found = None if file.yanked else _find_version(package, file.name, tags)
        if found is not None and not found.is_prerelease and _fits_python(file.requires_python):
            yield found


def _find_version(package: str, name: str, tags: frozenset[object]) -> Version | None:
    if name.endswith(".whl"):
        of, version, _, made_for = parse_wheel_filename(name)
        return version if of == package and not tags.isdisjoint(made_for) else None
    ending = next((each for each in _SOURCES if name.endswith(each)), "")
    stem = name.removesuffix(ending) if ending and import_module(_SOURCES[ending]) else ""
    ends = (at for at, sign in enumerate(stem) if sign == "-")
    written = next((stem[at + 1 :] for at in ends if canonicalize_name(stem[:at]) == package), "")
    if _FOR_ONE_PYTHON.search(written):
        raise Unsure
    try:
        return Version(written) if written else None
    except InvalidVersion:
        return None


def _fits_python(wanted: str | None) -> bool:
    try:
        return check_requires_python(wanted, sys.version_info[:3])
    except InvalidSpecifier:
        return True


def main() -> None:
    """Write what pip would, or raise."""
    package = canonicalize_name(sys.argv[1])
    files = fetch_files(find_index(os.environ), package)
    found = sorted({*list_versions(package, files)}, reverse=True)
    if not found:
        raise Unsure
    sys.stdout.write(f"FETTLE[]\nAvailable versions: {', '.join(map(str, found))}\n")


if __name__ == "__main__":
    main()
