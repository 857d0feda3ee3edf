"""The way out as a command in a real sandbox has it, and the ways that it has not."""

import asyncio
import hashlib
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from app.dependencies.index_proxy import BUNDLE
from app.dependencies.loopback_bridge import INSIDE, bridge
from tests.app.dependencies.scene import Names, open_client, origin
from tests.patience import PATIENCE

PYTHON = "/usr/bin/python3"
FETCH = (
    "import sys, urllib.request as r\n"
    "try: print(r.urlopen(sys.argv[1], timeout=5).read().decode())\n"
    "except Exception as error: print('failed:', error)\n"
)

needs_python = pytest.mark.skipif(not Path(PYTHON).exists(), reason=f"no {PYTHON}")


pytestmark = pytest.mark.usefixtures("few_authorities")


@pytest.fixture
async def inside(sandbox, command, index, monkeypatch):
    """Run a script in a sandbox with a way to one index: `inside(script)`, `inside.index`."""
    monkeypatch.setattr("tests.app.dependencies.scene.OWNER", sandbox.owner)
    made = await index()
    made.page("/simple/", "the page")
    certificates = [index.authority.pem]
    async with open_client(origin(made), certificates=certificates, resolver=Names()) as client:

        async def run(script, *, bare=False, **options):
            asked = command(script, **options)
            asked = asked if bare else bridge(asked, client.proxy.socket, BUNDLE)
            return await sandbox.run(asked)

        run.index, run.client = made, client
        yield run


def fetch(url):
    return f"{PYTHON} -I -c \"$FETCH\" '{url}'"


async def test_the_exit_code_is_the_commands(inside):
    assert (await inside("exit 7")).exit_code == 7
    assert (await inside("kill -9 $$")).exit_code == 137
    assert (await inside("cat; echo out; echo err >&2")).output.split() == ["out", "err"]


async def test_the_command_ends_when_it_ends(inside):
    """A bridge that lives on would keep it waiting."""
    result = await inside("true", timeout=60)
    assert (result.exit_code, result.why) == (0, "exit")


@needs_python
async def test_tools_find_the_way_and_trust_it(inside):
    result = await inside(fetch(f"{inside.index.url}/simple/"), environment={"FETCH": FETCH})
    assert result.output == "the page\n"


@needs_python
async def test_many_at_once(inside):
    one = fetch(f"{inside.index.url}/simple/")
    script = f"for i in 1 2 3 4 5 6 7 8; do {one} & done; wait"
    result = await inside(script, environment={"FETCH": FETCH})
    assert result.output == "the page\n" * 8


@needs_python
async def test_a_large_file_both_ways_arrives_whole(inside):
    body = os.urandom(1_500_000)
    inside.index.page("/big.whl", body, Content_Type="application/zip")
    script = (
        "import hashlib, sys, urllib.request as r;"
        "print(hashlib.sha256(r.urlopen(sys.argv[1]).read()).hexdigest())"
    )
    result = await inside(f"{PYTHON} -I -c '{script}' {inside.index.url}/big.whl")
    assert result.output.strip() == hashlib.sha256(body).hexdigest()


@needs_python
async def test_everywhere_else_is_refused(inside, canary):
    urls = [
        "https://example.com/",
        "http://example.com/",
        "http://169.254.169.254/latest/meta-data/",
        f"http://127.0.0.1:{canary.port}/",
        f"http://localhost:{canary.port}/",
        f"http://2130706433:{canary.port}/",
        f"http://0177.0.0.1:{canary.port}/",
        f"{inside.index.url.replace('index', 'other')}/simple/",
    ]
    script = "\n".join(map(fetch, urls))
    result = await inside(script, environment={"FETCH": FETCH}, timeout=60)
    assert [line[:7] for line in result.output.splitlines()] == ["failed:"] * len(urls)
    assert len(inside.client.refused) == len(urls)
    assert canary.visits == 0


@needs_python
async def test_past_the_proxy_there_is_no_network(inside, canary):
    """What `--noproxy` does, and every program that knows nothing of proxies."""
    script = (
        "import socket\n"
        f"for place in ('127.0.0.1', {canary.port}), ('8.8.8.8', 53), ('index.example', 443):\n"
        "    try: socket.create_connection(place, 2); print('connected', place)\n"
        "    except OSError as error: print('failed')\n"
    )
    result = await inside(f'{PYTHON} -I -c "{script}"; unset ${{!HTTP*}}; getent hosts example.com')
    assert result.output == "failed\n" * 3
    assert canary.visits == 0


async def test_other_sockets_of_this_machine_cannot_be_reached(inside, open_folder):
    """Neither by their path, nor by their name where they have no path, nor those of other runs."""
    visits = []

    def count_visit(reader, writer):
        visits.append(1)
        writer.close()

    path = open_folder / "other.sock"
    server = await asyncio.start_unix_server(count_visit, path)
    path.chmod(0o777)
    nameless = socket.socket(socket.AF_UNIX)
    nameless.bind(f"\0fettle-test-{os.getpid()}")
    nameless.listen()
    nameless.setblocking(False)
    listening = await asyncio.start_unix_server(count_visit, sock=nameless)
    code = (
        "use Socket; for my $name (@ARGV) { socket(my $s, AF_UNIX, SOCK_STREAM, 0);"
        r" $name =~ s/^@/\0/; print connect($s, sockaddr_un($name)) ? q(in ) : q(out ) }"
    )
    async with server, listening, open_client() as other:
        names = (
            f"{path} @fettle-test-{os.getpid()} {other.proxy.socket} {inside.client.proxy.socket}"
        )
        result = await inside(f"perl -e '{code}' {names} {INSIDE}/proxy.sock")
    assert result.output.split() == ["out", "out", "out", "out", "in"]
    assert visits == []


async def test_the_way_cannot_be_changed_from_inside(inside):
    script = f"for f in {INSIDE}/*; do rm -f $f; echo x >$f; mv $f /tmp; done; touch {INSIDE}/new"
    await inside(f"{script} 2>/dev/null")
    names = {path.name for path in inside.client.proxy.folder.iterdir()}
    assert names == {"ca.p12", "ca.pem", "proxy.sock"}
    assert "BEGIN CERTIFICATE" in (inside.client.proxy.folder / "ca.pem").read_text()


async def test_without_the_bridge_there_is_no_way(inside):
    result = await inside(f"ls {INSIDE}; env | grep -ci proxy", bare=True)
    assert "No such file" in result.output
    assert result.output.endswith("0\n")


async def test_a_command_that_is_not_there(sandbox, command, inside):
    asked = bridge(command("true"), inside.client.proxy.socket)
    argv = (*asked.argv[:5], "/nowhere/at-all")
    result = await sandbox.run(replace(asked, argv=argv))
    assert result.exit_code == 127
    assert "/nowhere/at-all" in result.output


async def test_our_environment_overrules_what_a_command_brings(inside):
    own = {"HTTPS_PROXY": "http://evil.example", "NO_PROXY": "*", "SSL_CERT_FILE": "/tmp/own.pem"}
    result = await inside("echo $HTTPS_PROXY,$NO_PROXY,$SSL_CERT_FILE", environment=own)
    assert result.output == f"http://127.0.0.1:3128,,{INSIDE}/{BUNDLE}\n"


MANY = """
import socket
opened = [socket.create_connection(("127.0.0.1", 3128)) for _ in range(300)]
answered = 0
for each in opened:
    each.sendall(b"GET http://none.example/ HTTP/1.1\\r\\n\\r\\n")
    answered += each.recv(1000).startswith(b"HTTP/1.1 403")
    each.close()
print(answered)
"""


@needs_python
async def test_many_connections_at_once_wait_their_turn(inside):
    """Some clients open one for each package: old npms do, where there is a proxy."""
    result = await inside(f"{PYTHON} -I -c '{MANY}'", timeout=PATIENCE)
    assert result.output == "300\n"
    assert "too many connections" not in str(inside.client.refused)
