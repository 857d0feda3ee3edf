"""Turn package indexes into origins: address, file hosts, and whether they are private."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Mapping

from agents.errors import ConfigError
from app.dependencies.index_client import Checked, web_session
from app.dependencies.indexes.file_hosts import IndexUnanswered, file_places
from app.dependencies.indexes.result import Index
from app.dependencies.origins import Origin, OriginKey, place_of, remove_credentials
from app.network.addresses import AddressRefused, Resolver, is_public, resolve_public
from app.network.outbound import Outbound

_SECONDS = 60.0


class Places:
    """Asks indexes for the hosts of their files."""

    def __init__(self, trusted: ssl.SSLContext, resolver: Resolver, outbound: Outbound) -> None:
        self._trusted = trusted
        self._outbound = outbound
        self._resolver = resolver

    async def origins(
        self, indexes: Iterable[Index], packages: Mapping[str, str], notes: list[str]
    ) -> tuple[Origin, ...]:
        """Return the origins of these indexes and of their files.

        `packages` maps each kind of index to one of the repository's packages.
        """
        found = await asyncio.gather(
            *(self._list_origins(index, packages, notes) for index in indexes)
        )
        return tuple(origin for origins in found for origin in origins)

    async def operators(self, hosts: Iterable[str]) -> tuple[Origin, ...]:
        """Return the origins that the operator names in FETTLE_SETUP_HOSTS. Raises ConfigError."""
        places = [_operators_place(text) for text in hosts]
        private = await asyncio.gather(*(self._is_private(place, []) for place in places))
        why = "named in FETTLE_SETUP_HOSTS"
        return tuple(
            Origin(place, why, private_ok=flag, tunnel=place.scheme == "https")
            for place, flag in zip(places, private, strict=True)
        )

    async def _list_origins(
        self, index: Index, packages: Mapping[str, str], notes: list[str]
    ) -> list[Origin]:
        place = place_of(index.url)
        private = await self._is_private(place, notes)
        why = f"index of {index.tool}"
        origin = Origin(place, why, private_ok=private, keys=index.keys)
        public = [Origin(each, why, served=(path,)) for each, path in index.list_served()]
        stops = self._outbound.stops
        checked = Checked(lambda *to: private or to in stops, self._resolver)
        session = web_session(self._trusted, checked, self._outbound)
        try:
            async with session, asyncio.timeout(_SECONDS):
                files = await file_places(session, index, packages.get(index.kind))
        except (IndexUnanswered, TimeoutError) as error:
            notes.append(
                f"The index {place} of {index.tool} did not say where its files are "
                f"({error or 'no answer in time'}), so its own host alone is allowed."
            )
            return [origin, *public]
        why = f"files of {index.tool}"
        # Only a private index may lead to private addresses: a public one has no business there.
        others = [Origin(each, why, private_ok=private) for each in files if each != place]
        return [origin, *public, *others]

    async def _is_private(self, place: OriginKey, notes: list[str]) -> bool:
        """Tell whether the place is private now: what is public today may not turn private.

        Where the operator's proxy leads there, it alone can tell.
        """
        if self._outbound.find_proxy(str(place)) is not None:
            return False
        try:
            found = await resolve_public(
                place.host, place.port, private_ok=True, resolver=self._resolver
            )
        except AddressRefused as error:
            notes.append(f"{place} cannot be reached: {error}.")
            return False
        return not all(is_public(address.ip) for address in found)


def _operators_place(text: str) -> OriginKey:
    url = text if "://" in text else f"https://{text}"
    try:
        place = place_of(url)
        whole = url.rstrip("/") in {str(place), f"{place}:{place.port}"}
        problem = "" if whole else "write the host alone, with a port where it needs one"
    except ValueError as error:
        problem = str(error)
    if problem:
        raise ConfigError(
            f"FETTLE_SETUP_HOSTS: `{remove_credentials(text)[:100]}` names no host ({problem}). "
            "Write whole names, like mirror.example.com; patterns are not allowed."
        )
    return place
