"""References of container images, and the operator's patterns of those that repositories may name.

The grammar is that of https://pkg.go.dev/github.com/distribution/reference, narrower in one place:
a digest is sha256. Names are completed as docker completes them: `python:3` is
`docker.io/library/python:3`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 400
"""Characters of a reference at most."""

_DOMAIN = (
    r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*(?::[0-9]{1,5})?"
)
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST = r"sha256:[a-f0-9]{64}"
_REFERENCE = re.compile(
    rf"(?:(?P<domain>{_DOMAIN})/)?(?P<path>{_PART}(?:/{_PART})*)(?::(?P<tag>{_TAG}))?(?:@(?P<digest>{_DIGEST}))?"
)
_STARRED = r"[a-z0-9*][a-z0-9.*_-]*"
_PATTERN = re.compile(
    rf"(?P<name>{_STARRED}(?::[0-9]{{1,5}}(?=/))?(?:/{_STARRED})*)"
    rf"(?::(?P<tag>[A-Za-z0-9_.*-]{{1,128}}))?(?:@(?P<digest>{_DIGEST}))?"
)
_HUBS = ("docker.io", "index.docker.io")

_STARS = {"*": "[^/]*", "**": ".*"}

NO_REFERENCE = "is no image as in `ghcr.io/owner/name:tag`"
NO_PATTERN = (
    "has something in place {number} that is no pattern of images. Write them like "
    "ghcr.io/acme/ci:1.*, mcr.microsoft.com/devcontainers/* or ghcr.io/acme/ci@sha256:..."
)


@dataclass(frozen=True)
class ImageReference:
    """A container image by its completed name, and its tag or digest."""

    name: str
    """With its registry, like `docker.io/library/python`."""
    tag: str = ""
    digest: str = ""

    def __str__(self) -> str:
        """Return the image as engines are asked for it: a digest decides, whatever the tag."""
        return f"{self.name}@{self.digest}" if self.digest else f"{self.name}:{self.tag}"


@dataclass(frozen=True)
class ImagePattern:
    """Images that the operator allows: a name with stars, and which tags or digest of it.

    A star stands for anything but `/`, two stars for anything at all.
    """

    name: str
    tag: str = ""
    """A pattern; empty: any tag, and any digest."""
    digest: str = ""

    @property
    def reference(self) -> ImageReference | None:
        """Return the one image that it means, where it means one."""
        if "*" in self.name + self.tag or not (self.tag or self.digest):
            return None
        return ImageReference(self.name, self.tag, self.digest)

    def allows(self, image: ImageReference) -> bool:
        """Tell whether it is one of these images.

        Beside a digest engines pay no heed to a tag. So a pattern with a tag admits no digest, or
        anybody could have any build of an image under the tag that is allowed.
        """
        if not _match(self.name, image.name):
            return False
        if self.digest:
            return image.digest == self.digest
        return not self.tag or (not image.digest and _match(self.tag, image.tag))


def parse_image(text: str) -> ImageReference:
    """Return the image that the text names. Raises ValueError, which does not repeat the text."""
    found = _REFERENCE.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        raise ValueError(NO_REFERENCE)
    domain, path, tag, digest = found.group("domain", "path", "tag", "digest")
    if domain and not _is_host(domain):
        domain, path = None, f"{domain}/{path}"
    name = _complete(domain, path)
    return ImageReference(name, tag or ("" if digest else "latest"), digest or "")


def parse_image_patterns(texts: tuple[str, ...]) -> tuple[ImagePattern, ...]:
    """Return the patterns. Raises ValueError, which says the place of the first that is none."""
    patterns = []
    for number, text in enumerate(texts, 1):
        found = _PATTERN.fullmatch(text) if len(text) <= LONGEST else None
        if found is None:
            raise ValueError(NO_PATTERN.format(number=number))
        name, tag, digest = found.group("name", "tag", "digest")
        first, slash, rest = name.partition("/")
        if slash and _is_host(first):
            name = _complete(first, rest)
        elif not first.startswith("**"):
            name = _complete(None, name)
        patterns.append(ImagePattern(name, tag or "", digest or ""))
    return tuple(patterns)


def _is_host(first: str) -> bool:
    """Tell whether the first part of a name is a registry, as docker does."""
    return "." in first or ":" in first or first == "localhost"


def _complete(domain: str | None, path: str) -> str:
    """Return the whole name: without a registry it is Docker Hub's, whose own have no owner."""
    if domain is not None and domain not in _HUBS:
        return f"{domain}/{path}"
    return f"{_HUBS[0]}/{path}" if "/" in path else f"{_HUBS[0]}/library/{path}"


def _match(pattern: str, text: str) -> bool:
    expression = "".join(
        _STARS.get(part, re.escape(part)) for part in re.split(r"(\*\*|\*)", pattern)
    )
    return re.fullmatch(expression, text) is not None
