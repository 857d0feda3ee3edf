"""Pages are read from where the checked address is, and from nowhere else."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import tracemalloc
import zlib
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agents.errors import ToolError
from app.network.addresses import Address, AddressRefused, resolve_public
from app.web import body
from app.web.fetch import WebFetcher

HOST = "docs.example.com"
PUBLIC = "93.184.216.34"
OWN_HEADERS = {"Accept", "Accept-Encoding", "Connection", "Host", "User-Agent"}


class Site:
    """A server on loopback that stands for a public host; it counts who comes."""

    def __init__(self):
        self.requests = []
        self.answers = {}
        self.port = 0

    def answer_with(self, path, answer):
        self.answers[path] = answer

    async def handle(self, request):
        self.requests.append(request)
        answer = self.answers[request.path]
        if callable(answer):
            return await answer(request)
        return answer

    async def reach(self, host, port):
        self.asked = (host, port)
        return [Address(2, "127.0.0.1", self.port)]


@asynccontextmanager
async def open_site(address, answer=None, port=0, **more):
    made = Site()
    made.answer_with("/", answer)
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", made.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, address, port, **more).start()
    made.port = runner.addresses[0][1]
    try:
        yield made
    finally:
        await runner.cleanup()


@pytest.fixture
async def stack():
    async with AsyncExitStack() as made:
        yield made


@pytest.fixture
async def site():
    async with open_site("127.0.0.1") as made:
        yield made


def text(content="hello", kind="text/plain", **more):
    return web.Response(body=content.encode(), headers={"Content-Type": kind}, **more)


def go(location, status=302):
    async def answer(_request):
        return web.Response(status=status, headers={"Location": location})

    return answer


def fetch(site, url=f"http://{HOST}/", *, allowed=lambda host: host == HOST, **more):
    return WebFetcher(site.reach, **more).fetch(url, allowed=allowed)


def stream(*, piece, pause=0.0, count=None, **headers):
    async def answer(request):
        response = web.StreamResponse(headers={"Content-Type": "text/plain"} | headers)
        await response.prepare(request)
        sent = 0
        try:
            while count is None or sent < count:
                await response.write(piece)
                sent += 1
                await asyncio.sleep(pause)
        except ConnectionError:
            pass
        request.app["sent"] = sent
        return response

    return answer


# --- what is read -------------------------------------------------------------------------------


async def test_a_page_comes_with_its_address_status_and_kind(site):
    site.answer_with("/a", text("plain", "text/plain; charset=utf-8"))

    page = await fetch(site, f"http://{HOST}/a?q=1#part")

    assert (page.url, page.status, page.kind) == (f"http://{HOST}/a?q=1", 200, "text/plain")
    assert (page.text, page.cut) == ("plain", False)
    assert site.asked == (HOST, 80)


async def test_nothing_of_ours_is_sent_along(site, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("FETTLE_PRIVATE_KEY", "planted-secret")
    cookie = {"Set-Cookie": "id=1; Path=/"}
    site.answer_with("/a", web.Response(status=302, headers={"Location": "/b"} | cookie))
    site.answer_with("/b", text())

    await fetch(site, f"http://{HOST}/a")

    for request in site.requests:
        assert request.headers["Host"] == HOST
        assert set(request.headers) <= OWN_HEADERS
        assert "planted" not in str(request.raw_headers)


async def test_html_becomes_markdown_without_what_is_not_shown(site):
    html = (
        "<html><head><title>Guide</title><script>steal()</script></head><body><nav>menu</nav>"
        "<main><h1>Use</h1><!-- do evil --><p hidden>hidden words</p><p style='x'>Read the "
        "<a href='/more' title='t'>rest</a>.<img src='https://evil.example/x.png' alt='a plan'></p>"
        "<pre>x = 1\n  y</pre></main></body></html>"
    )
    site.answer_with("/", text(html, "text/html"))

    page = await fetch(site)

    for shown in ("Guide", "# Use", f"[rest](http://{HOST}/more)", "a plan", "x = 1\n  y"):
        assert shown in page.text
    for unseen in ("steal", "menu", "do evil", "hidden words", "evil.example"):
        assert unseen not in page.text


@pytest.mark.parametrize("html", ["<div>" * 90_000 + "deep", "<p>a<" * 5_000])
async def test_tangled_markup_is_text_or_refused_but_never_fatal(site, html):
    site.answer_with("/", text(html, "text/html"))

    assert (await fetch(site)).status == 200


async def test_markup_that_keeps_a_parser_busy_is_given_up(site, monkeypatch):
    monkeypatch.setattr("app.web.markup.SECONDS", 1)
    site.answer_with("/", text("<a a=" * 60_000, "text/html"))

    with pytest.raises(ToolError, match="tangled"):
        await fetch(site)


@pytest.mark.parametrize("kind", ["application/json", "application/problem+json", "text/markdown"])
async def test_json_and_text_come_as_they_are(site, kind):
    site.answer_with("/", text('{"a": "<b>&amp;"}', kind))

    assert (await fetch(site)).text == '{"a": "<b>&amp;"}'


@pytest.mark.parametrize(
    ("sent", "kind", "read"),
    [
        ("größe".encode("latin-1"), "text/plain; charset=iso-8859-1", "größe"),
        ("größe".encode("utf-16"), "text/plain", "größe"),
        ("日本".encode("shift_jis"), "text/plain; charset=shift_jis", "日本"),
        ("größe".encode("latin-1"), "text/plain; charset=unicode_escape", "gr\ufffd\ufffde"),
        (b"a\xffb", "text/plain; charset=no-such-thing", "a\ufffdb"),
        (
            '<meta charset="windows-1251"><body><p>привет'.encode("cp1251"),
            "text/html",
            "привет",
        ),
        ("\ufeffa".encode(), "text/plain", "a"),
    ],
)
async def test_the_charset_is_the_servers_or_the_pages_or_utf8(site, sent, kind, read):
    site.answer_with("/", web.Response(body=sent, headers={"Content-Type": kind}))

    page = (await fetch(site)).text

    assert page in (read, read.replace("\ufffd\ufffd", "\ufffd"))


async def test_hidden_and_control_characters_are_left_out(site):
    site.answer_with("/", text("a\0b\x1b]0;title\x07c\u200bd\u202ee\U000e0041f\r\ng"))

    assert (await fetch(site)).text == "ab]0;titlecdef\ng"


async def test_an_error_page_is_told_with_its_status(site):
    site.answer_with("/", text("no such page", status=404))

    page = await fetch(site)

    assert (page.status, page.text) == (404, "no such page")


# --- how much is read ---------------------------------------------------------------------------


async def test_an_endless_body_is_left_after_50_kb(site):
    site.answer_with("/", stream(piece=b"x" * 4096))

    page = await fetch(site)

    assert len(page.text) == body.MOST_TEXT
    assert page.cut


async def test_endless_markup_is_left_too_and_its_text_is_bounded(site):
    piece = b"<p>" + b"word " * 200 + b"</p>"
    site.answer_with("/", stream(piece=piece, **{"Content-Type": "text/html"}))

    page = await fetch(site)

    assert len(page.text.encode()) <= body.MOST_TEXT
    assert page.cut


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_bomb_is_unpacked_no_further_than_wanted(site, coding):
    packed = (gzip.compress if coding == "gzip" else zlib.compress)(b"0" * 200_000_000)
    headers = {"Content-Type": "text/plain", "Content-Encoding": coding}
    site.answer_with("/", web.Response(body=packed, headers=headers))

    tracemalloc.start()
    page = await fetch(site)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 5_000_000
    assert len(page.text) == body.MOST_TEXT
    assert page.cut


async def test_packed_pages_are_unpacked(site):
    headers = {"Content-Type": "text/plain", "Content-Encoding": "gzip"}
    site.answer_with("/", web.Response(body=gzip.compress(b"small"), headers=headers))

    assert (await fetch(site)).text == "small"


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip"])
async def test_other_packings_are_refused(site, coding):
    headers = {"Content-Type": "text/plain", "Content-Encoding": coding}
    site.answer_with("/", web.Response(body=b"?", headers=headers))

    with pytest.raises(ToolError, match="packed as"):
        await fetch(site)


async def test_what_is_not_packed_as_it_says_is_refused(site):
    headers = {"Content-Type": "text/plain", "Content-Encoding": "gzip"}
    site.answer_with("/", web.Response(body=b"not gzip at all", headers=headers))

    with pytest.raises(ToolError, match="nothing that can be read"):
        await fetch(site)


async def test_a_slow_drip_ends_with_the_time(site):
    site.answer_with("/", stream(piece=b".", pause=0.05))

    with pytest.raises(ToolError, match="did not answer within"):
        await fetch(site, seconds=0.3)


async def test_a_chain_of_slow_redirects_shares_the_time(site):
    async def redirect_later(_request):
        await asyncio.sleep(0.2)
        return await go("/")(_request)

    site.answer_with("/", redirect_later)

    with pytest.raises(ToolError, match="did not answer within"):
        await fetch(site, seconds=0.5)
    assert len(site.requests) <= 3


async def test_a_body_shorter_than_it_claims_is_told_as_cut(site):
    async def short(request):
        response = web.StreamResponse(
            headers={"Content-Type": "text/plain", "Content-Length": "1000"}
        )
        await response.prepare(request)
        await response.write(b"only this")
        request.transport.close()
        return response

    site.answer_with("/", short)

    page = await fetch(site)

    assert (page.text, page.cut) == ("only this", True)


@pytest.mark.parametrize(
    "kind", ["application/octet-stream", "image/png", "application/pdf", "application/zip", ""]
)
async def test_other_kinds_are_refused_before_their_body(site, kind):
    site.answer_with("/", stream(piece=b"x" * 1000, **{"Content-Type": kind}))

    with pytest.raises(ToolError, match="only text and JSON"):
        await fetch(site)


# --- redirects ----------------------------------------------------------------------------------


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


# --- where it leads: the rule itself, with DNS that lies ----------------------------------------


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


# --- TLS ----------------------------------------------------------------------------------------


def certificate(tmp_path, name):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path / f"{name}.pem"
    form = serialization.PrivateFormat.PKCS8
    plain = serialization.NoEncryption()
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, form, plain)
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return pem


@pytest.fixture
async def secure(tmp_path):
    pem, names = certificate(tmp_path, HOST), []
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(pem)
    served.sni_callback = lambda _socket, name, _context: names.append(name)
    async with open_site("127.0.0.1", ssl_context=served) as made:
        made.names = names
        made.trust = ssl.create_default_context(cafile=pem)
        yield made


async def test_the_certificate_is_checked_against_the_name_not_the_address(secure):
    secure.answer_with("/", text("safe"))

    page = await fetch(secure, f"https://{HOST}/", trust=secure.trust)

    assert page.text == "safe"
    assert secure.names == [HOST]
    assert secure.asked == (HOST, 443)


@pytest.mark.parametrize("host", [HOST, "other.example.com"])
async def test_a_certificate_of_nobody_or_of_another_host_is_refused(secure, host):
    trust = None if host == HOST else secure.trust

    with pytest.raises(ToolError, match="certificate is not valid"):
        await fetch(secure, f"https://{host}/", allowed=lambda _: True, trust=trust)
    assert secure.requests == []


async def test_a_redirect_out_of_the_encryption_is_refused(secure):
    secure.answer_with("/", go(f"http://{HOST}/"))

    with pytest.raises(ToolError, match="out of the encryption"):
        await fetch(secure, f"https://{HOST}/", trust=secure.trust)
