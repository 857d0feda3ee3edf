"""A client on the inside of a set-up's proxy, and names that lead where a test wants."""

import asyncio
import os
import ssl
from contextlib import asynccontextmanager

from app.dependencies.index_proxy import open_proxy
from app.dependencies.origins import Origin, place_of
from tests.patience import PATIENCE

OWNER = (os.geteuid(), os.getegid())
REFUSED = "is not a package index of this set-up"


class Names:
    """A resolver that answers what it was told, in turn, and remembers what it was asked."""

    def __init__(self, **answers):
        self.answers = {name.replace("_", "."): list(given) for name, given in answers.items()}
        self.asked = []

    async def __call__(self, host, port):
        self.asked.append(host)
        given = self.answers.get(host, [["127.0.0.1"]])
        return given.pop(0) if len(given) > 1 else given[0]


def origin(index, **options):
    return Origin(place_of(index.url), "index", **{"private_ok": True, **options})


@asynccontextmanager
async def open_client(*origins, certificates=(), **options):
    """Open a proxy; names lead to loopback unless told otherwise."""
    options.setdefault("resolver", Names())
    async with open_proxy(origins, OWNER, certificates=certificates, **options) as proxy:
        yield Client(proxy)


class Client:
    """Says things to the proxy's socket, as something hostile inside a sandbox would."""

    def __init__(self, proxy):
        self.proxy = proxy

    async def connect(self):
        return await asyncio.open_unix_connection(self.proxy.socket)

    async def say(self, text, *, patience=5):
        """Send text and return the whole answer."""
        reader, writer = await self.connect()
        writer.write(text if isinstance(text, bytes) else text.encode())
        try:
            async with asyncio.timeout(patience):
                return (await reader.read()).decode("latin-1")
        except ConnectionResetError:
            return ""
        finally:
            writer.close()

    async def tunnel(self, host, port, *, name=None, trusting=None):
        """CONNECT and speak TLS inside, asking for `name`; return reader and writer."""
        reader, writer = await self.connect()
        writer.write(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        if not head.startswith("HTTP/1.1 200"):
            writer.close()
            raise ConnectionRefusedError(head)
        context = ssl.create_default_context(cafile=trusting or self.proxy.folder / "ca.pem")
        context.check_hostname = name is None
        await writer.start_tls(context, server_hostname=name or host)
        return reader, writer

    async def get(self, index, path, *, method="GET", headers="", body="", host=None, **options):
        """Ask for one page through a tunnel; return the whole answer."""
        reader, writer = await self.tunnel(index.host, index.port, **options)
        host = host or f"{index.host}:{index.port}"
        text = (
            f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n{body}"
        )
        writer.write(text.encode())
        try:
            async with asyncio.timeout(PATIENCE):
                return (await reader.read()).decode("latin-1")
        finally:
            writer.close()

    @property
    def refused(self):
        return [(refusal.host, refusal.port, refusal.reason) for refusal in self.proxy.refused]
