"""A package index on loopback in PyPI's and npm's formats, with invented releases."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from app.demo.package_index.releases import Release


@dataclass
class LocalIndex:
    """An index on loopback. `asked` are the paths that somebody asked for."""

    releases: list[Release] = field(default_factory=list)
    wheels: Path | None = None
    """A folder of wheels that somebody else made, offered as well."""
    asked: list[str] = field(default_factory=list)
    port: int = 0
    _runner: web.ServerRunner | None = None

    @classmethod
    async def start(cls, releases: Iterable[Release], *, wheels: Path | None = None) -> LocalIndex:
        """Return an index that answers."""
        made = cls(list(releases), wheels)
        made._runner = web.ServerRunner(web.Server(made._answer))
        await made._runner.setup()
        site = web.TCPSite(made._runner, "127.0.0.1", 0)
        await site.start()
        made.port = made._runner.addresses[0][1]
        return made

    async def stop(self) -> None:
        """Answer no more."""
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables with which npm, pip and uv ask it, and nobody else."""
        return {
            "npm_config_registry": f"{self.url}/npm/",
            "npm_config_userconfig": os.devnull,
            "PIP_INDEX_URL": f"{self.url}/simple",
            "PIP_CONFIG_FILE": os.devnull,
            "UV_NO_CONFIG": "1",
            "UV_DEFAULT_INDEX": f"{self.url}/simple",
        }

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = unquote(request.path).strip("/")
        self.asked.append(path)
        kind, _, rest = path.partition("/")
        if kind == "npm":
            return self._npm(rest)
        if kind == "simple":
            return self._simple(rest)
        return self._file(rest) if kind == "files" else web.Response(status=404)

    def _npm(self, path: str) -> web.StreamResponse:
        name, _, file = path.partition("/-/")
        found = [each for each in self.releases if each.kind == "npm" and each.name == name]
        if not file and found:
            return web.json_response(self._packument(name, found))
        data = next((each.data for each in found if each.file == file), None)
        return web.Response(status=404) if data is None else web.Response(body=data)

    def _packument(self, name: str, found: list[Release]) -> dict[str, Any]:
        versions = {
            each.version: {
                **each.manifest,
                "dist": {
                    "tarball": f"{self.url}/npm/{name}/-/{each.file}",
                    "integrity": each.integrity,
                },
            }
            for each in found
        }
        return {"name": name, "dist-tags": {"latest": found[-1].version}, "versions": versions}

    def _simple(self, name: str) -> web.StreamResponse:
        files = [each.file for each in self.releases if each.kind == "pip" and each.name == name]
        files += sorted(path.name for path in self._wheels_of(name))
        if not files:
            return web.Response(status=404)
        links = "".join(f'<a href="{self.url}/files/{escape(f)}">{escape(f)}</a>\n' for f in files)
        return web.Response(text=f"<!doctype html>\n{links}", content_type="text/html")

    def _wheels_of(self, name: str) -> Iterable[Path]:
        wanted = name.replace("-", "_").lower()
        for path in self.wheels.glob("*.whl") if self.wheels else ():
            if path.name.partition("-")[0].replace(".", "_").lower() == wanted:
                yield path

    def _file(self, name: str) -> web.StreamResponse:
        for release in self.releases:
            if release.kind == "pip" and release.file == name:
                return web.Response(body=release.data, content_type="application/zip")
        known = {path.name: path for path in self.wheels.glob("*.whl")} if self.wheels else {}
        return web.FileResponse(known[name]) if name in known else web.Response(status=404)
