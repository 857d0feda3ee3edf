"""Set-up obeys the package indexes that pip is configured with, also where uv does the work."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "deploy/uv_like_pip.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("uv_like_pip", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def mirror():
    """An index on loopback that has nothing, and remembers what it was asked for."""
    asked = []

    class IndexHandler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, self.headers.get("Authorization")))
            self.send_error(404)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), IndexHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.asked = asked
    yield server
    server.shutdown()
    server.server_close()


def test_the_environment_wins_over_the_install_section_and_that_over_the_global_one(script):
    listing = r"""
global.index-url='https://global.example/simple'
:env:.index-url='https://env.example/simple'
install.index-url='https://install.example/simple'
global.cert='/etc/global.crt'
install.cert='/etc/install.crt'
download.cert='/etc/download.crt'
global.find-links='\n/wheels\n/more wheels='
"""
    assert script.pip_settings(listing) == {
        "index-url": "https://env.example/simple",
        "cert": "/etc/install.crt",
        "find-links": "\n/wheels\n/more wheels=",
    }


def test_pip_s_lists_become_uv_s(script):
    variables = script.uv_variables({
        "extra-index-url": "\nhttps://one.example/simple\nhttps://two.example/simple",
        "find-links": "/one /two",
        "no-index": "",
        "timeout": "9",
        "quiet": "1",
    })  # fmt: skip
    assert variables == {
        "UV_INDEX": "https://one.example/simple https://two.example/simple",
        "UV_FIND_LINKS": "/one,/two",
        "UV_HTTP_TIMEOUT": "9",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


def install(tmp_path, **variables):
    """Let uv look for a package that is nowhere; no configuration but what is given."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "UV_"))}
    return subprocess.run(
        [sys.executable, str(SCRIPT), "pip", "install", "--dry-run", "no-such-package-of-ours"],
        env={**kept, "UV_CACHE_DIR": str(tmp_path), "PIP_CONFIG_FILE": os.devnull, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_uv_asks_the_index_that_pip_would_ask(tmp_path, mirror):
    configuration = tmp_path / "pip.conf"
    address = f"http://me:word@127.0.0.1:{mirror.server_port}/simple"
    configuration.write_text(f"[global]\nindex-url = {address}\n")
    result = install(tmp_path, PIP_CONFIG_FILE=str(configuration))
    assert result.returncode != 0
    assert {path for path, _ in mirror.asked} == {"/simple/no-such-package-of-ours/"}
    assert mirror.asked[-1][1].startswith("Basic ")


def test_what_is_said_to_uv_itself_stands(tmp_path, mirror):
    result = install(
        tmp_path,
        PIP_INDEX_URL="http://127.0.0.1:9/simple",
        UV_DEFAULT_INDEX=f"http://127.0.0.1:{mirror.server_port}/simple",
    )
    assert result.returncode != 0
    assert mirror.asked
