"""Find the Python modules that a check could not import, and the packages that bring them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agents.analysis.known_packages import KnownPackages

MOST = 20  # modules of one check: a repository that lacks more was never set up
_MISSING = re.compile(
    r"No module named (?P<quote>['\"]?)(?P<module>[A-Za-z_]\w{0,80}(?:\.\w{1,80}){0,5})(?P=quote)"
)
_PACKAGES = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "Crypto": "pycryptodome",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "git": "gitpython",
    "google.protobuf": "protobuf",
    "jose": "python-jose",
    "jwt": "pyjwt",
    "magic": "python-magic",
    "MySQLdb": "mysqlclient",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "pkg_resources": "setuptools",
    "psycopg2": "psycopg2-binary",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "usb": "pyusb",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
"""Packages by their module, where the two are called otherwise."""


def read_missing_modules(output: str) -> tuple[str, ...]:
    """Return the modules that the output says are not there; it can say what it likes."""
    found = dict.fromkeys(match["module"] for match in _MISSING.finditer(output))
    return tuple(found)[:MOST]


def find_package(module: str, known: KnownPackages) -> str:
    """Return the package of this module that the repository's manifests name; empty for none."""
    return next((each for each in _list_candidates(module) if known.holds("pip", each)), "")


def _list_candidates(module: str) -> Iterator[str]:
    """Yield what may bring `a.b.c`, the likeliest first: `a-b-c`, then `a-b`, then `a`."""
    parts = module.split(".")
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        yield from (_PACKAGES[name],) if name in _PACKAGES else ()
        yield name.replace(".", "-")
