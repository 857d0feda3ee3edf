"""The way out: which addresses go through a proxy, with what password, and whom TLS trusts."""

from __future__ import annotations

import ssl

import aiohttp
import pytest
from aiohttp import web

from app.network.outbound import DIRECT, HttpProxy, Outbound
from tests.app.dependencies.company_proxy import PASSWORD, USER, CompanyProxy

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("url", "goes"),
    [
        ("https://github.example/api/v3", True),
        ("http://github.example/", False),  # HTTP_PROXY is not set
        ("https://index.corp.example/simple", False),
        ("https://corp.example", False),
        ("https://notcorp.example", True),
        ("https://exact.example:8443/x", False),
        ("https://exact.example/x", True),
        ("https://127.0.0.1:8080", False),
        ("https://[::1]/", False),
        ("https://localhost/", False),
    ],
)
def test_which_addresses_go_through_the_proxy(url, goes):
    way = Outbound({"https": PROXY}, "corp.example, exact.example:8443")
    assert (way.find_proxy(url) is not None) == goes
    assert Outbound({"https": PROXY}, "*").find_proxy(url) is None
    assert DIRECT.find_proxy(url) is None


def test_name_and_password_are_no_part_of_the_address():
    proxy = HttpProxy.parse(f"http://{USER}:pr0xy%3Ap%40ss@proxy.example:3128/")
    assert (proxy.address, proxy.host, proxy.port) == (PROXY, "proxy.example", 3128)
    assert (proxy.user, proxy.password) == (USER, PASSWORD)
    assert PASSWORD not in repr(proxy)
    assert HttpProxy.parse("http://proxy.example").headers == {}


@pytest.fixture
async def company(aiohttp_server):
    """Return a proxy, and a server behind it that says where it was asked."""

    async def answer(request):
        if request.path == "/moved":
            raise web.HTTPFound("https://files.example/there")
        return web.Response(text=f"{request.host}{request.path}")

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    served = await aiohttp_server(application)
    async with CompanyProxy() as proxy:
        for name in ("github.example", "files.example"):
            proxy.lead(name, str(served.make_url("/")))
        yield proxy


async def get(way, url):
    async with way.open_session() as session, session.get(url) as answer:
        return await answer.text()


async def test_what_is_asked_for_goes_through_the_proxy_and_so_do_redirects(company):
    way = Outbound({"https": company.url}, authorities=company.authority.pem)
    assert await get(way, "https://github.example/moved") == "files.example/there"
    assert company.asked == [("github.example:443", 200), ("files.example:443", 200)]


async def test_who_ends_tls_must_be_trusted(company):
    way = Outbound({"https": company.url})
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await get(way, "https://github.example/")


async def test_a_wrong_password_and_another_host_are_refused(company):
    wrong = Outbound({"https": company.url.replace("pr0xy", "other")})
    with pytest.raises(aiohttp.ClientHttpProxyError, match="407"):
        await get(wrong, "https://github.example/")
    right = Outbound({"https": company.url})
    with pytest.raises(aiohttp.ClientHttpProxyError, match="403"):
        await get(right, "https://elsewhere.example/")


async def test_a_tunnel_leads_to_the_host_or_is_refused(company):
    proxy, trusted = HttpProxy.parse(company.url), ssl.create_default_context()
    trusted.load_verify_locations(cadata=company.authority.pem)
    reader, writer = await proxy.open_tunnel("github.example", 443, trusted)
    await writer.start_tls(trusted, server_hostname="github.example")
    writer.write(b"GET /x HTTP/1.0\r\nHost: github.example\r\n\r\n")
    assert (await reader.read()).endswith(b"github.example/x")
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await proxy.open_tunnel("elsewhere.example", 443, trusted)
