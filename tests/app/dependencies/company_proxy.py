"""A company's proxy, the only way out: it wants a password, ends TLS, and knows where to."""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress
from urllib.parse import urlsplit

from app.dependencies.certificate_authority import Authority

USER, PASSWORD = "fettle", "pr0xy:p@ss"


class CompanyProxy:
    """Forwards `CONNECT` of those who know the password to servers that speak plain HTTP."""

    def __init__(self):
        self.authority = Authority()
        self.leads = {}
        """Host and port of the server behind each name; names that are not here lead nowhere."""
        self.asked = []
        """What was asked for, and the status that it got."""
        self._server = None
        self._busy = set()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in list(self._busy):
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)

    @property
    def url(self):
        """Return what HTTPS_PROXY is set to."""
        port = self._server.sockets[0].getsockname()[1]
        return f"http://{USER}:pr0xy%3Ap%40ss@127.0.0.1:{port}"

    def lead(self, name, url):
        """Have https://`name` lead to the server of this URL; return the new URL."""
        parts = urlsplit(url)
        self.leads[name] = (parts.hostname, parts.port)
        return f"https://{name}"

    async def _accept(self, reader, writer):
        task = asyncio.current_task()
        self._busy.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._serve(reader, writer)
        finally:
            self._busy.discard(task)
            writer.close()

    async def _serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.split(" ", 2)
        status = self._judge(method, target, head)
        self.asked.append((target, status))
        if status != 200:
            wanted = 'Proxy-Authenticate: Basic realm="company"\r\n' if status == 407 else ""
            writer.write(f"HTTP/1.1 {status} No\r\n{wanted}Content-Length: 0\r\n\r\n".encode())
            await writer.drain()
            return
        host = target.rpartition(":")[0]
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await writer.drain()
        await writer.start_tls(self.authority.server(host))
        inner = await asyncio.open_connection(*self.leads[host])
        ways = (self._pump(reader, inner[1]), self._pump(inner[0], writer))
        pumps = [asyncio.ensure_future(each) for each in ways]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in pumps:
                each.cancel()
            inner[1].close()

    def _judge(self, method, target, head):
        pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if f"proxy-authorization: basic {pair.lower()}" not in head.lower():
            return 407
        host, _, port = target.rpartition(":")
        return 200 if method == "CONNECT" and host in self.leads and port == "443" else 403

    async def _pump(self, reader, writer):
        with suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
