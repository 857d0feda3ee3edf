"""The proxy of a set-up, and everything somebody inside might try on it."""

import asyncio
import contextlib
import os
import ssl
import stat
import subprocess

import pytest
import structlog

from app.dependencies.origins import Key, Origin, OriginKey
from app.dependencies.tunnel import Caps
from tests.app.dependencies.scene import REFUSED, Names, open_client, origin
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("few_authorities")


@pytest.fixture
async def simple(index):
    """An index with TLS and one page, and a proxy to it."""
    made = await index()
    made.page("/simple/six/", "<a href='six-1.whl'>six</a>")
    return made


# --- what is meant to work ------------------------------------------------------------------------


async def test_an_index_can_be_read(simple, index):
    async with open_client(origin(simple), certificates=[index.authority.pem]) as client:
        answer = await client.get(simple, "/simple/six/?format=x%2Fy")
        assert "404" in answer
        answer = await client.get(simple, "/simple/six/", headers="Accept: text/html\r\n")
        assert answer.startswith("HTTP/1.1 200")
        assert answer.endswith("<a href='six-1.whl'>six</a>")
        assert client.refused == []
    assert [path for _, path, _ in simple.asked] == ["/simple/six/?format=x%2Fy", "/simple/six/"]


async def test_a_large_file_arrives_whole(simple, index):
    body = os.urandom(3_000_000)
    simple.page("/big.whl", body, Content_Type="application/zip")
    async with open_client(origin(simple), certificates=[index.authority.pem]) as client:
        answer = await client.get(simple, "/big.whl")
        assert answer.encode("latin-1").endswith(body)


async def test_head_and_parts_of_a_file(simple, index):
    simple.page("/part.whl", b"3456", status=206, Content_Range="bytes 3-6/10")
    async with open_client(origin(simple), certificates=[index.authority.pem]) as client:
        answer = await client.get(simple, "/part.whl", headers="Range: bytes=3-6\r\n")
        assert answer.startswith("HTTP/1.1 206")
        assert "Content-Range: bytes 3-6/10" in answer
        assert (await client.get(simple, "/part.whl", method="HEAD")).endswith("\r\n\r\n")
    assert simple.asked[0][2]["Range"] == "bytes=3-6"


async def test_an_index_without_tls_is_read_by_whole_address_and_by_connect(index):
    plain = await index(tls=False)
    plain.page("/simple/", "hello")
    async with open_client(origin(plain)) as client:
        head = f"Host: {plain.host}:{plain.port}\r\nConnection: close\r\n\r\n"
        answer = await client.say(f"GET {plain.url}/simple/ HTTP/1.1\r\n{head}")
        assert answer.endswith("hello")
        connect = f"CONNECT {plain.host}:{plain.port} HTTP/1.1\r\n\r\n"
        answer = await client.say(f"{connect}GET /simple/ HTTP/1.1\r\n{head}")
        assert answer.startswith("HTTP/1.1 200")
        assert answer.endswith("hello")


async def test_an_operators_host_is_a_tunnel_that_we_cannot_read(simple, index, open_folder):
    trusting = open_folder / "ca.pem"
    trusting.write_text(index.authority.pem)
    async with open_client(origin(simple, tunnel=True)) as client:
        answer = await client.get(simple, "/simple/six/", trusting=trusting)
        assert answer.endswith("</a>")


# --- where nobody may go --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("example.com:443", 403),
        ("index.example:22", 403),
        ("index.example:80", 403),
        ("sub.index.example:443", 403),
        ("index.example.evil.test:443", 403),
        ("127.0.0.1:443", 403),
        ("169.254.169.254:443", 403),
        ("[::1]:443", 403),
        ("[::ffff:127.0.0.1]:443", 403),
        ("2130706433:443", 403),
        ("0177.0.0.1:443", 403),
        ("0x7f.1:443", 403),
        ("①②⑦.⓪.⓪.①:443", 400),
        ("index.example", 400),
        ("index.example:٤٤٣", 400),
        ("user:pw@index.example:443", 400),
        ("*:443", 400),
    ],
)
async def test_other_hosts_and_ports_are_refused_before_dns_is_asked(target, status):
    names = Names()
    allowed = Origin(OriginKey("https", "index.example", 443), "index")
    async with open_client(allowed, resolver=names) as client:
        answer = await client.say(f"CONNECT {target} HTTP/1.1\r\n\r\n")
        assert answer.startswith(f"HTTP/1.1 {status} ")
        assert len(client.refused) == 1
    assert names.asked == []


async def test_our_own_listeners_cannot_be_reached(canary, simple):
    async with open_client(origin(simple)) as client:
        for target in (f"127.0.0.1:{canary.port}", f"localhost:{canary.port}"):
            assert "403" in await client.say(f"CONNECT {target} HTTP/1.1\r\n\r\n")
            answer = await client.say(f"GET http://{target}/ HTTP/1.1\r\nConnection: close\r\n\r\n")
            assert answer.startswith("HTTP/1.1 403")
        assert client.refused == [
            (host, canary.port, REFUSED) for host in ("127.0.0.1", "localhost")
        ]
    assert canary.visits == 0


@pytest.mark.parametrize(
    "line",
    [
        "GET http://example.com/ HTTP/1.1",
        "GET https://index.example/ HTTP/1.1",
        "GET ftp://index.example/ HTTP/1.1",
        "GET / HTTP/1.1",
        "GET http://169.254.169.254/latest/meta-data HTTP/1.1",
        "POST http://index.example/ HTTP/1.1",
        "TRACE / HTTP/1.1",
    ],
)
async def test_plain_requests_to_anywhere_else_are_refused(line):
    names = Names()
    allowed = Origin(OriginKey("https", "index.example", 443), "index")
    async with open_client(allowed, resolver=names) as client:
        answer = await client.say(f"{line}\r\nHost: index.example\r\nConnection: close\r\n\r\n")
        assert answer[:10] == "HTTP/1.1 4"
        assert len(client.refused) == 1
    assert names.asked == []


@pytest.mark.parametrize("text", ["hello\r\n\r\n", "\x16\x03\x01\r\n\r\n", "CONNECT a b c\r\n\r\n"])
async def test_what_is_not_http_is_refused(text):
    async with open_client() as client:
        assert (await client.say(text)).startswith("HTTP/1.1 400")


# --- names that lie -------------------------------------------------------------------------------


async def test_a_name_that_turns_private_is_not_connected(canary, index):
    """It answers with a public address while it is looked at, and with ours afterwards."""
    for tunnel in (True, False):
        names = Names(rebinding_example=[["127.0.0.1"]])
        place = OriginKey("https", "rebinding.example", canary.port)
        async with open_client(Origin(place, "index", tunnel=tunnel), resolver=names) as client:
            fake = type("", (), {"host": place.host, "port": place.port})
            if tunnel:
                with pytest.raises(ConnectionRefusedError, match="not a public address"):
                    await client.get(fake, "/")
            else:
                assert (await client.get(fake, "/")).startswith("HTTP/1.1 502")
            assert "not a public address" in client.refused[0][2]
    assert canary.visits == 0


async def test_one_private_address_among_public_ones_refuses_the_name(canary):
    names = Names(mixed_example=[["8.8.8.8", "127.0.0.1"]])
    place = OriginKey("https", "mixed.example", canary.port)
    async with open_client(Origin(place, "index", tunnel=True), resolver=names) as client:
        answer = await client.say(f"CONNECT mixed.example:{canary.port} HTTP/1.1\r\n\r\n")
        assert answer.startswith("HTTP/1.1 403")
    assert canary.visits == 0


async def test_a_name_is_resolved_once_and_that_address_is_used(simple, open_folder, index):
    names = Names(index_example=[["127.0.0.1"], ["169.254.169.254"]])
    trusting = open_folder / "ca.pem"
    trusting.write_text(index.authority.pem)
    async with open_client(origin(simple, tunnel=True), resolver=names) as client:
        assert "200" in await client.get(simple, "/simple/six/", trusting=trusting)
    assert names.asked == ["index.example"]


async def test_metadata_is_refused_even_where_private_addresses_are_allowed():
    names = Names(index_example=[["169.254.169.254"]])
    allowed = Origin(
        OriginKey("https", "index.example", 443), "index", private_ok=True, tunnel=True
    )
    async with open_client(allowed, resolver=names) as client:
        answer = await client.say("CONNECT index.example:443 HTTP/1.1\r\n\r\n")
        assert answer.startswith("HTTP/1.1 403")


async def test_an_index_with_a_false_certificate_is_not_read(simple):
    async with open_client(origin(simple)) as client:
        assert (await client.get(simple, "/simple/six/")).startswith("HTTP/1.1 502")
        assert "Certificate" in client.refused[0][2]


# --- fronting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("tunnel", [True, False])
async def test_another_name_inside_the_tunnel_is_refused(simple, tunnel):
    async with open_client(origin(simple, tunnel=tunnel)) as client:
        with pytest.raises((ConnectionError, ssl.SSLError)):
            await client.get(simple, "/", name="evil.example")
        assert "was asked for evil.example inside the tunnel" in client.refused[0][2]
    assert simple.asked == []


async def test_bytes_that_are_no_tls_do_not_pass_a_tunnel(simple):
    async with open_client(origin(simple, tunnel=True)) as client:
        answer = await client.say(
            f"CONNECT index.example:{simple.port} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n"
        )
        assert answer == "HTTP/1.1 200 Connection established\r\n\r\n"
        assert "no TLS" in client.refused[0][2]
    assert simple.asked == []


async def test_another_host_in_the_request_is_refused(simple, index):
    async with open_client(origin(simple), certificates=[index.authority.pem]) as client:
        answer = await client.get(simple, "/simple/six/", host="evil.example")
        assert answer.startswith("HTTP/1.1 421")
        answer = await client.get(simple, "http://evil.example/", host=simple.host)
        assert answer.startswith("HTTP/1.1 4")
    assert simple.asked == []


# --- reading alone --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "MKCOL"])
async def test_nothing_can_be_written_to_an_index(simple, index, method):
    async with open_client(origin(simple), certificates=[index.authority.pem]) as client:
        answer = await client.get(
            simple, "/simple/", method=method, headers="Content-Length: 4\r\n", body="loot"
        )
        assert answer.startswith("HTTP/1.1 405")
        assert "set-ups may only read" in client.refused[0][2]
    assert simple.asked == []


async def test_a_get_carries_no_data(simple, index):
    async with open_client(origin(simple), certificates=[index.authority.pem]) as client:
        headers = "Content-Length: 4\r\n"
        answer = await client.get(simple, "/simple/", headers=headers, body="loot")
        assert answer.startswith("HTTP/1.1 400")
    assert simple.asked == []


async def test_headers_of_the_inside_stay_inside(simple, index):
    stolen = "Authorization: Bearer theirs\r\nCookie: a=b\r\nX-Loot: secret\r\n"
    simple.page("/simple/six/", "page", Set_Cookie="session=1", X_Index="yes")
    async with open_client(origin(simple), certificates=[index.authority.pem]) as client:
        answer = await client.get(simple, "/simple/six/", headers=stolen)
    assert "Set-Cookie" not in answer
    assert not {"Authorization", "Cookie", "X-Loot"} & set(simple.asked[0][2])


async def test_a_redirect_is_not_followed_for_the_inside(simple, index, canary):
    target = f"http://127.0.0.1:{canary.port}/"
    simple.page("/moved", "", status=302, Location=target)
    async with open_client(origin(simple), certificates=[index.authority.pem]) as client:
        answer = await client.get(simple, "/moved")
        assert answer.startswith("HTTP/1.1 302")
        assert target in answer
    assert canary.visits == 0


# --- keys -----------------------------------------------------------------------------------------


@pytest.fixture
async def private(index):
    made = await index("private.example")
    made.page("/team/simple/six/", "<a href='https://bot:hunt%40r2@private.example/six.whl'>")
    made.page("/team/files/six.whl", b"\0hunt@r2", Content_Type="application/zip")
    made.page("/team/echo", "your password is hunt@r2")
    made.page("/team/moved", "", status=302, Location="https://bot:hunt%40r2@private.example/x")
    made.page("/admin/users", "all of them")
    made.key = Key.basic("/team/", "bot", "hunt@r2")
    return made


async def test_a_key_is_put_in_by_us_and_never_seen_inside(private, index):
    with structlog.testing.capture_logs() as lines:
        async with open_client(
            origin(private, keys=(private.key,)), certificates=[index.authority.pem]
        ) as client:
            page = await client.get(private, "/team/simple/six/")
            assert "href='https://private.example/six.whl'" in page
            assert "hunt" not in await client.get(private, "/team/moved")
            assert (await client.get(private, "/team/echo")).startswith("HTTP/1.1 502")
            assert (await client.get(private, "/team/files/six.whl")).endswith("\0hunt@r2")
            shared = [
                path.read_text(errors="replace")
                for path in client.proxy.folder.glob("*.*")
                if path.is_file()
            ]
    sent = {headers.get("Authorization") for _, _, headers in private.asked}
    assert sent == {private.key.header.get_secret_value()}
    assert "hunt" not in f"{lines} {shared}"


@pytest.mark.parametrize(
    "path", ["/admin/users", "/team/../admin/users", "/team/%2e%2e/admin/users"]
)
async def test_a_key_is_sent_to_its_own_paths_alone(private, index, path):
    allowed = origin(private, keys=(private.key,))
    async with open_client(allowed, certificates=[index.authority.pem]) as client:
        await client.get(private, path)
    assert all("Authorization" not in headers for _, _, headers in private.asked)


# --- too much -------------------------------------------------------------------------------------


async def test_a_flood_of_headers():
    async with open_client() as client:
        flood = b"CONNECT a.example:443 HTTP/1.1\r\n" + b"X-A: b\r\n" * 10_000
        answer = await client.say(flood)
        assert answer == "" or answer.startswith("HTTP/1.1 431")
        assert client.refused == [("?", 0, "was asked for with too many headers")]


async def test_a_client_that_never_finishes_its_greeting(simple):
    async with open_client(origin(simple), caps=Caps(greeting=0.2)) as client:
        assert await client.say("CONNECT index", patience=2) == ""
        half = f"CONNECT index.example:{simple.port} HTTP/1.1\r\n\r\n\x16\x03\x01"
        answer = await client.say(half, patience=2)
        assert answer == "HTTP/1.1 200 Connection established\r\n\r\n"


async def test_a_connection_on_which_nothing_moves(simple, index):
    caps = Caps(idle=0.3)
    async with open_client(origin(simple), certificates=[index.authority.pem], caps=caps) as client:
        reader, writer = await client.tunnel(simple.host, simple.port)
        async with asyncio.timeout(PATIENCE):
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                assert not await reader.read()
        writer.close()


@pytest.mark.parametrize("tunnel", [True, False])
async def test_too_many_bytes(simple, index, open_folder, tunnel):
    trusting = open_folder / "ca.pem"
    trusting.write_text(index.authority.pem)
    simple.page("/big", os.urandom(2_000_000), Content_Type="application/zip")
    caps = Caps(down=500_000)
    async with open_client(
        origin(simple, tunnel=tunnel), certificates=[index.authority.pem], caps=caps
    ) as client:
        got = b""
        try:
            options = {"trusting": trusting} if tunnel else {}
            got = (await client.get(simple, "/big", **options)).encode("latin-1")
        except (ConnectionError, ssl.SSLError):
            pass
        assert len(got) < 600_000
        assert "used up its bytes" in client.refused[0][2]


async def test_too_many_bytes_upwards(simple, open_folder, index):
    trusting = open_folder / "ca.pem"
    trusting.write_text(index.authority.pem)
    async with open_client(origin(simple, tunnel=True), caps=Caps(up=50_000)) as client:
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            headers, body = "Content-Length: 200000\r\n", "x" * 200_000
            options = {"method": "POST", "trusting": trusting}
            await client.get(simple, "/", headers=headers, body=body, **options)
        assert "used up its bytes" in client.refused[0][2]


async def test_too_many_connections():
    async with open_client(caps=Caps(connections=3)) as client:
        lines = [await client.connect() for _ in range(3)]
        await asyncio.sleep(0.05)
        assert await client.say("CONNECT a.example:443 HTTP/1.1\r\n\r\n") == ""
        for _, writer in lines:
            writer.close()


async def test_too_many_refusals_take_no_memory():
    async with open_client() as client:
        for number in range(150):
            await client.say(f"CONNECT h{number}.example:443 HTTP/1.1\r\n\r\n")
        assert len(client.refused) == 100


# --- the socket and the log -----------------------------------------------------------------------


async def test_the_folder_is_the_sandboxs_alone(open_folder):
    async with open_client() as client:
        assert stat.S_IMODE(client.proxy.folder.stat().st_mode) == 0o710
        assert stat.S_IMODE(client.proxy.socket.stat().st_mode) == 0o660
        folder = client.proxy.folder
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
async def test_another_user_cannot_connect():
    async with open_client() as client:
        code = "use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0); "
        code += f"exit(connect($s, sockaddr_un('{client.proxy.socket}')) ? 0 : 7)"
        other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        tried = await asyncio.to_thread(subprocess.run, [*other, "perl", "-e", code], check=False)
        assert tried.returncode == 7


async def test_each_connection_leaves_one_line_without_its_address(simple, index):
    with structlog.testing.capture_logs() as lines:
        async with open_client(origin(simple), certificates=[index.authority.pem]) as client:
            await client.get(simple, "/simple/six/?token=abc")
            await client.say("CONNECT example.com:443 HTTP/1.1\r\n\r\n")
            await client.say("GET http://u:pw@example.com/?x=secret HTTP/1.1\r\n\r\n")
    assert sorted((line["host"], line["verdict"]) for line in lines) == [
        ("example.com", f"refused: {REFUSED}"),
        ("example.com", f"refused: {REFUSED}"),
        ("index.example", "allowed"),
    ]
    moved = next(line for line in lines if line["verdict"] == "allowed")
    assert moved["down"] > 0
    assert moved["up"] > 0
    assert "abc" not in str(lines)
    assert "secret" not in str(lines)
