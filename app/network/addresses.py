"""Which IP addresses Fettle may connect to on behalf of somebody it does not trust."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
"""All of IPv6 that has ever been given out: `is_global` is true for site-local addresses too."""

_NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        "168.63.129.16/32",  # Azure's host, global only by its number
        "64:ff9b::/96",  # NAT64: an IPv4 address in disguise
        "64:ff9b:1::/48",
        "2002::/16",  # 6to4: the same
        "2001::/32",  # Teredo: the same
        "192.0.0.0/24",  # reserved for protocols; older Pythons call some of it global
    )
)

_NEVER = tuple(
    ipaddress.ip_network(network)
    for network in (
        "168.63.129.16/32",
        "169.254.0.0/16",  # where clouds hand out their machines' credentials
        "fe80::/10",
        "fd00:ec2::254/128",  # the same in IPv6
        "100.100.100.200/32",  # the same in another cloud
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2002::/16",
        "2001::/32",
    )
)
"""Not even where the operator allows private addresses."""


class Address(NamedTuple):
    """A checked address: connect to exactly this one, without asking DNS again."""

    family: int
    ip: str
    port: int


class AddressRefused(Exception):
    """The host has a forbidden address, or none; the text says which."""


Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the IP addresses of a host. Raises OSError when it has none."""


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Resolve by the system, which also understands 127.1, 0x7f000001 and 2130706433."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


def is_public(text: str) -> bool:
    """Tell whether this address is on the public internet and not this machine's own."""
    address = parse_address(text)
    return (
        address.is_global
        and not address.is_multicast
        and (address.version == 4 or address in _GLOBAL_UNICAST)
        and not _is_in_networks(address, _NOT_PUBLIC)
        and not is_own(address)
    )


def may_be_private(text: str) -> bool:
    """Tell whether Fettle may connect there for a host that the operator configured."""
    address = parse_address(text)
    return not (address.is_multicast or address.is_unspecified or _is_in_networks(address, _NEVER))


def parse_address(text: str) -> IPAddress:
    """Return the address, as IPv4 where IPv6 only wraps one. Raises ValueError."""
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        return address.ipv4_mapped or address
    return address


def is_own(address: IPAddress) -> bool:
    """Tell whether this is the machine's own address: the kernel binds sockets to those alone."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


async def resolve_public(
    host: str, port: int, *, private_ok: bool = False, resolver: Resolver = system_resolver
) -> tuple[Address, ...]:
    """Resolve a host once; all of its addresses have to pass.

    Connect to the result and never to the name, since the next answer may differ. With `private_ok`
    private and own addresses pass too; those of cloud metadata never do. Raises AddressRefused,
    also when the name does not resolve.
    """
    try:
        found = tuple(dict.fromkeys(await resolver(host, port)))
        bad = [text for text in found if not (is_public(text) or _is_excused(text, private_ok))]
    except (OSError, ValueError) as error:  # UnicodeError of impossible names included
        raise AddressRefused(f"{host} cannot be resolved ({error})") from error
    if not found:
        raise AddressRefused(f"{host} has no address")
    if bad:
        raise AddressRefused(f"{host} resolves to {bad[0]}, which is not a public address")
    return tuple(_address(text, port) for text in found)


def _is_excused(text: str, private_ok: bool) -> bool:
    return private_ok and may_be_private(text)


def _is_in_networks(
    address: IPAddress, networks: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]
) -> bool:
    return any(address in network for network in networks)


def _address(text: str, port: int) -> Address:
    address = parse_address(text)
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    return Address(family, str(address), port)
