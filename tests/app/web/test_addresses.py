"""Pages are read from where the checked address is, and from nowhere else."""

from __future__ import annotations

from functools import partial

import pytest

from agents.errors import ToolError
from app.network.addresses import Address, AddressRefused, resolve_public
from app.web.fetch import WebFetcher
from tests.app.web.conftest import HOST, fetch, go, open_site, text

PUBLIC = "93.184.216.34"


async def test_redirects_within_what_is_allowed_are_followed(site):
    site.answer_with("/", go("//www.example.com:80/b"))
    site.answer_with("/b", text("there"))

    page = await fetch(site, allowed=lambda host: host.endswith("example.com"))

    assert (page.url, page.text) == ("http://www.example.com:80/b", "there")
    assert site.asked == ("www.example.com", 80)


async def test_a_redirect_to_another_host_is_named_not_followed(site):
    site.answer_with("/", go("https://other.example.org/x?y=1"))

    with pytest.raises(ToolError, match=r"fetch https://other.example.org/x\?y=1 as a call"):
        await fetch(site)
    assert len(site.requests) == 1


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "http://127.0.0.1:8080/",
        "http://2130706433/",
        "http://localhost/",
        "http://metadata/",
        "file:///etc/passwd",
        "ftp://docs.example.com/",
        "data:text/plain,x",
        "gopher://docs.example.com/",
        "http://user:pass@docs.example.com/",
        "http://docs.example.com:22/",
        "http://docs.example.com:99999999/",
        "http://①②⑦.⓪.⓪.①/",
        "//[",
    ],
)
async def test_a_redirect_may_lead_nowhere_that_a_call_may_not(site, location):
    site.answer_with("/", go(location))

    with pytest.raises(ToolError, match="redirects to where it may not"):
        await fetch(site, allowed=lambda host: True)
    assert len(site.requests) == 1


async def test_a_redirect_loop_ends(site):
    site.answer_with("/", go("/"))

    with pytest.raises(ToolError, match="more than 5 redirects"):
        await fetch(site)
    assert len(site.requests) == 6


def dns(*answers):
    """A resolver that gives these answers one after another, and says how often it was asked."""
    left = list(answers)

    async def resolver(host, port):
        resolver.asked += 1
        return left.pop(0) if len(left) > 1 else left[0]

    resolver.asked = 0
    return resolver


def make_fetcher(resolver):
    return WebFetcher(partial(resolve_public, resolver=resolver), seconds=3)


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["10.1.2.3"],
        ["192.168.0.1"],
        ["172.16.0.1"],
        ["169.254.169.254"],
        ["100.64.0.1"],
        ["100.100.100.200"],
        ["168.63.129.16"],
        ["0.0.0.0"],
        ["224.0.0.1"],
        ["255.255.255.255"],
        ["::1"],
        ["::"],
        ["fe80::1"],
        ["fd00:ec2::254"],
        ["ff02::1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::a9fe:a9fe"],
        ["64:ff9b:1::a9fe:a9fe"],
        ["2002:7f00:1::"],
        ["2001:0:7f00:1::"],
        [PUBLIC, "127.0.0.1"],
        ["2606:2800:220:1::1", "10.0.0.1"],
        [],
    ],
)
async def test_a_name_that_leads_inside_is_refused(answers):
    resolver = dns(answers)

    with pytest.raises(ToolError, match="not on the public web"):
        await make_fetcher(resolver).fetch(f"http://{HOST}/", allowed=lambda _: True)
    assert resolver.asked == 1


async def test_a_name_that_changes_its_mind_is_asked_once_and_read_where_it_was_checked(stack):
    """Rebinding: 127.0.0.2 stands for the public host, 127.0.0.1 for what it should not reach."""
    public = await stack.enter_async_context(open_site("127.0.0.2", text("public")))
    inside = await stack.enter_async_context(open_site("127.0.0.1", text("SECRET"), public.port))
    resolver = dns(["127.0.0.2"], ["127.0.0.1"])

    async def reach(host, port):
        checked = await resolve_public(host, port, resolver=resolver, private_ok=True)
        return [address._replace(port=public.port) for address in checked]

    page = await WebFetcher(reach).fetch(f"http://{HOST}/", allowed=lambda _: True)

    assert page.text == "public"
    assert resolver.asked == 1
    assert inside.requests == []


async def test_each_hop_is_resolved_and_checked_anew(site):
    site.answer_with("/", go(f"http://{HOST}/next"))
    hops = []

    async def reach(host, port):
        hops.append(host)
        if len(hops) > 1:
            raise AddressRefused(f"{host} resolves to 10.0.0.1, which is not a public address")
        return [Address(2, "127.0.0.1", site.port)]

    with pytest.raises(ToolError, match="not a public address"):
        await WebFetcher(reach).fetch(f"http://{HOST}/", allowed=lambda _: True)
    assert len(site.requests) == 1


@pytest.mark.parametrize("text_", ["127.1", "0x7f000001", "2130706433", "0177.0.0.1", "①②⑦.0.0.1"])
async def test_numbers_in_disguise_do_not_pass_the_resolver_either(text_):
    with pytest.raises(AddressRefused):
        await resolve_public(text_, 80)
