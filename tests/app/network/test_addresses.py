"""Which addresses pass, by whatever name or number they come."""

import ipaddress
import socket
import subprocess
import sys

import pytest

from app.network.addresses import (
    AddressRefused,
    is_own,
    is_public,
    may_be_private,
    parse_address,
    resolve_public,
    system_resolver,
)

PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.215.14", "2606:4700:4700::1111", "::ffff:8.8.8.8"]

NOT_PUBLIC = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.9.9.9",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.9",
    "192.0.0.170",
    "192.168.1.1",
    "198.18.0.1",
    "203.0.113.80",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:168.63.129.16",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "2002:7f00:1::",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%lo",
    "fec0::1",
    "ff02::1",
]


def resolve_to(*addresses):
    async def resolver(host, port):
        return addresses

    return resolver


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address):
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["10.0.0.1", "127.0.0.1", "::1", "fd12::1", "203.0.113.80"])
def test_where_the_operator_says_so_private_addresses_pass(address):
    assert may_be_private(address)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "168.63.129.16",
        "100.100.100.200",
        "fd00:ec2::254",
        "fe80::1",
        "0.0.0.0",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
        "224.0.0.1",
    ],
)
def test_metadata_never_passes(address):
    assert not may_be_private(address)


GIVEN_AN_ADDRESS = """
import fcntl, socket, struct
from app.network.addresses import is_public
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton("8.8.8.8"))
    fcntl.ioctl(s, 0x8916, struct.pack("16s16s8x", b"lo", address))  # SIOCSIFADDR
    fcntl.ioctl(s, 0x8914, struct.pack("16sH22x", b"lo", 0x41))  # SIOCSIFFLAGS: up
print(is_public("8.8.8.8"), is_public("1.1.1.1"))
"""


def test_our_own_public_address_does_not_pass():
    """A name that leads to this machine's outer address leads past its firewall."""
    assert is_own(ipaddress.ip_address("127.0.0.1"))
    assert not is_own(ipaddress.ip_address("8.8.8.8"))
    own = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-c", GIVEN_AN_ADDRESS]
    tried = subprocess.run(own, capture_output=True, text=True, check=False)
    if "unshare failed" in tried.stderr:
        pytest.skip(f"no network namespace to give an address to: {tried.stderr}")
    assert tried.stdout == "False True\n", tried.stderr


@pytest.mark.parametrize("name", ["2130706433", "0177.0.0.1", "127.1", "0x7f.1", "①②⑦.⓪.⓪.①"])
async def test_numbers_in_disguise_are_what_the_system_makes_of_them(name):
    with pytest.raises(AddressRefused):
        await resolve_public(name, 80)


async def test_the_system_is_asked():
    assert await system_resolver("127.0.0.1", 80) == ["127.0.0.1"]


async def test_what_passed_is_what_one_connects_to():
    found = await resolve_public(
        "a.example", 443, resolver=resolve_to("::ffff:8.8.8.8", "2606:4700:4700::1111")
    )
    assert found == (
        (socket.AF_INET, "8.8.8.8", 443),
        (socket.AF_INET6, "2606:4700:4700::1111", 443),
    )


async def test_one_bad_address_among_good_ones_refuses_the_name():
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.1"):
        await resolve_public("a.example", 443, resolver=resolve_to("8.8.8.8", "10.0.0.1"))


async def test_private_addresses_pass_on_request_and_metadata_still_does_not():
    private = resolve_to("10.0.0.1")
    assert await resolve_public("a.example", 443, private_ok=True, resolver=private)
    with pytest.raises(AddressRefused):
        await resolve_public(
            "a.example", 443, private_ok=True, resolver=resolve_to("10.0.0.1", "169.254.169.254")
        )


async def test_a_name_without_addresses_is_refused():
    async def unknown(host, port):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    for resolver in (unknown, resolve_to()):
        with pytest.raises(AddressRefused):
            await resolve_public("a.example", 443, resolver=resolver)
    with pytest.raises(AddressRefused):
        await resolve_public("a" * 70 + ".example", 443)


def test_ipv4_in_ipv6_is_ipv4():
    assert str(parse_address("::ffff:1.2.3.4")) == "1.2.3.4"
