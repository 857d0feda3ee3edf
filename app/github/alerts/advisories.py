"""GitHub's advisory database: which versions an advisory affects, and whether it is public.

https://docs.github.com/rest/security-advisories/global-advisories
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator
from urllib.parse import quote

import structlog

from agents.errors import RunError
from agents.ports import Advisory, Knowledge
from app.github.alerts.schema import Clean, is_package, is_version, published_in
from app.github.transport import InstallationClient, InstallationGone, NotFound, Unprocessable

ADVISORIES = "/advisories{?ecosystem,type,affects}"
ADVISORY = "/advisories/{ghsa_id}"

ECOSYSTEMS = frozenset(
    {
        *("actions", "composer", "erlang", "go", "maven", "npm", "nuget", "pip", "pub"),
        *("rubygems", "rust", "swift"),
    }
)
KINDS = ("reviewed", "malware")
"""Without asking for it, what is malicious on purpose would be left out."""

LONGEST_QUERY = 4_000
"""Characters of one list in an address: servers on the way take 8,000 for all of it."""
MOST_AT_ONCE = 1_000
"""Versions that GitHub takes in one list."""
MOST_VERSIONS = 2_000
"""Versions that are asked about for one fix; a lock file rarely moves by a dozen."""
PAGES = 10
"""Pages of a hundred advisories each, for one list."""
MOST_LOOKED_UP = 30

log = structlog.get_logger()


class Advisories:
    """Reads public advisories with a token that can do nothing else of weight."""

    def __init__(self, client: Callable[[], Awaitable[InstallationClient]], clean: Clean) -> None:
        self._client = client
        self._clean = clean

    async def find_published(
        self, ecosystem: str, versions: Collection[tuple[str, str]]
    ) -> Knowledge:
        """Return the published advisories, marked incomplete where GitHub did not answer on all."""
        pairs = sorted(set(versions))
        wanted = [each for each in pairs if is_package(each[0]) and is_version(each[1])]
        if ecosystem not in ECOSYSTEMS:
            return Knowledge(complete=not pairs)
        complete = len(wanted) == len(pairs) <= MOST_VERSIONS
        found: dict[tuple[str, str, str], Advisory] = {}
        try:
            for batch in _batches(wanted[:MOST_VERSIONS]):
                for kind in KINDS:
                    for each in await self._find_affecting(ecosystem, kind, batch):
                        found[each.ghsa_id, each.package, each.vulnerable] = each
        except InstallationGone:
            raise
        except RunError as error:  # an Enterprise Server without the database, or too much of it
            log.warning("advisories not read", reason=str(error))
            complete = False
        return Knowledge(complete=complete, advisories=tuple(found.values()))

    async def find_undisclosed(self, ghsa_ids: Collection[str]) -> frozenset[str]:
        """Return the ids of advisories that are not public; in doubt an advisory is not."""
        ids = sorted(set(ghsa_ids))
        secret = set(ids[MOST_LOOKED_UP:])
        for each in ids[:MOST_LOOKED_UP]:
            if not await self._is_public(each):
                secret.add(each)
        return frozenset(secret)

    async def _is_public(self, ghsa_id: str) -> bool:
        client = await self._client()
        try:
            found = await client.getitem(ADVISORY, {"ghsa_id": ghsa_id})
        except (NotFound, Unprocessable):
            return False
        return isinstance(found, dict) and bool(found.get("published_at"))

    async def _find_affecting(
        self, ecosystem: str, kind: str, batch: list[tuple[str, str]]
    ) -> list[Advisory]:
        client = await self._client()
        affects = ",".join(f"{name}@{version}" for name, version in batch)
        where = {"ecosystem": ecosystem, "type": kind, "affects": affects}
        names = {name for name, _ in batch}
        found: list[Advisory] = []
        async for each in client.getiter(ADVISORIES, where, pages=PAGES):
            found += published_in(each, ecosystem, names, self._clean)
        return found


def _batches(versions: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Yield them in lists that fit into an address."""
    batch: list[tuple[str, str]] = []
    room = LONGEST_QUERY
    for name, version in versions:
        size = len(quote(f"{name}@{version},", safe=""))
        if batch and (size > room or len(batch) == MOST_AT_ONCE):
            yield batch
            batch, room = [], LONGEST_QUERY
        batch.append((name, version))
        room -= size
    if batch:
        yield batch
