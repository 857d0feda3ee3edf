"""An index of npm's with made-up packages, on this machine's loopback."""

import base64
import gzip
import hashlib
import http.server
import io
import json
import shutil
import tarfile
from urllib.parse import unquote

import pytest

from tests.agents.pipelines.remediate.ladder.conftest import PUBLIC_OF_NPM, serve

PUBLIC = f"https://{PUBLIC_OF_NPM}/"
RELEASES = {
    "evil": {"1.0.0": {}, "1.0.1": {}, "1.0.2": {}, "2.0.0": {}, "2.1.0": {}},
    "pins": {"1.0.0": {"evil": "1.0.0"}, "1.0.1": {"evil": "1.0.0"}, "1.1.0": {"evil": "~1.0.1"}},
    "above": {"1.0.0": {"pins": "1.0.0"}, "1.0.1": {"pins": "^1.1.0"}},
    "stuck": {"1.0.0": {"evil": "1.0.0"}},
    "old": {"1.0.0": {"evil": "^1.0.0"}},
    "new": {"1.0.0": {"evil": "^2.0.0"}},
}


def pack_release(name, version, needs):
    """Return a release as it is published."""
    manifest = json.dumps({"name": name, "version": version, "dependencies": needs}).encode()
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        about = tarfile.TarInfo("package/package.json")
        about.size = len(manifest)
        archive.addfile(about, io.BytesIO(manifest))
    return gzip.compress(made.getvalue(), mtime=0)


def integrity(data):
    return f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"


class NpmIndexServer:
    """A package index of npm's; `asked` are the paths that somebody asked for."""

    def __init__(self):
        self.asked = []
        self.address = ""
        self.home = None

    def answer(self, path):
        """Return what is at a path; nothing where nothing is."""
        self.asked.append(path)
        if path in RELEASES:
            return json.dumps(self.describe(path)).encode()
        name, _, file = path.partition("/-/")
        version = file.removeprefix(f"{name}-").removesuffix(".tgz")
        if version in RELEASES.get(name, {}):
            return pack_release(name, version, RELEASES[name][version])
        return b""

    def describe(self, name):
        versions = {}
        for version, needs in RELEASES[name].items():
            dist = {
                "tarball": f"{self.address}{name}/-/{name}-{version}.tgz",
                "integrity": integrity(pack_release(name, version, needs)),
            }
            about = {"name": name, "version": version, "dependencies": needs, "dist": dist}
            versions[version] = about
        return {"name": name, "dist-tags": {"latest": [*versions][-1]}, "versions": versions}


@pytest.fixture(scope="session")
def npm_index(tmp_path_factory):
    """Serve one index to all tests, at one address: so npm stays for all of them, too."""
    made = NpmIndexServer()

    class IndexAnswers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = made.answer(unquote(self.path.partition("?")[0]).strip("/"))
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with serve(IndexAnswers) as address:
        made.address, made.home = f"{address}/", tmp_path_factory.mktemp("npm")
        yield made


@pytest.fixture
def index(tree, npm_index, residents):
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed here")
    npm_index.asked.clear()
    tree.environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(npm_index.home),
        "npm_config_registry": npm_index.address,
        "npm_config_userconfig": "/dev/null",
    }
    with tree.share(residents):
        yield npm_index


def entry(name, version, at=PUBLIC, **more):
    """Return an entry as an npm of years ago wrote it: without a licence."""
    needs = RELEASES[name][version]
    found = {"version": version}
    if at:
        found["resolved"] = f"{at}{name}/-/{name}-{version}.tgz"
    found["integrity"] = integrity(pack_release(name, version, needs))
    return {**found, **({"dependencies": needs} if needs else {}), **more}
