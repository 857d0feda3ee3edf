"""The program that lists releases: it says what pip says, or leaves it to pip."""

import gzip
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from html import escape
from pathlib import Path
from typing import ClassVar

import pytest

from agents.pipelines.remediate.ladder.python import index, release_list

PROGRAM = Path(release_list.__file__).read_text("utf-8")
PAGES = json.loads(Path(__file__).with_name("release_pages.json").read_text("utf-8"))
"""What a public index had of some packages: name of the file, Pythons, whether it was yanked."""
ODD = [
    ["odd_name-1.0-py3-none-any.whl", None, False],
    ["odd_name-1.0.0-py3-none-any.whl", None, False],
    ["Odd.Name-1.1.tar.gz", ">=3.8", False],
    ["odd-name-1.2-1.zip", None, False],
    ["odd__name-1.3.tar.gz", "no specifier", False],
    ["other_name-1.4-py3-none-any.whl", None, False],
    ["odd_name-1.5-cp27-cp27m-win32.whl", None, False],
    ["odd_name-1.6.tar.gz", "<3", False],
    ["odd_name-1.7-py3-none-any.whl", None, True],
    ["odd_name-1.7.tar.gz", None, False],
    ["odd_name-1.8-py3-none-any.whl", None, True],
    ["odd_name-2.0rc1-py3-none-any.whl", None, False],
    ["odd_name-2.0.dev1.tar.gz", None, False],
    ["odd_name-2.1+local.1-py3-none-any.whl", None, False],
    ["odd_name-2.2-py2.7.egg", None, False],
    ["odd_name-2.3.win32.exe", None, False],
    ["odd_name-2.6.tar.bz2", None, False],
    ["odd_name-2.7.tar.xz", None, False],
    ["odd_name-2.4.tar.gz.asc", None, False],
    ["odd_name-no-version.tar.gz", None, False],
    ["odd%5Fname-2%2E5-py3-none-any.whl", None, False],
]
FOR_PIP = {
    "a package for one Python": "odd_name-3.0-py2.7.tar.gz",
    "a name that no wheel has": "odd_name-3.0-any.whl",
    "another name behind the address": "x.zip#egg=odd_name-3.0",
    "nothing that is for this Python": "odd_name-3.0-cp27-cp27m-win32.whl",
}


class PageServer(http.server.BaseHTTPRequestHandler):
    """A page of an index, in JSON or HTML."""

    form, pages = "json", {}

    def do_GET(self):
        files = self.pages.get(self.path.strip("/").removeprefix("simple/"))
        self.send_response(404 if files is None else 200)
        made = make_json(files or []) if self.form != "html" else make_html(files or [])
        kind = "application/vnd.pypi.simple.v1+json" if self.form != "html" else "text/html"
        if self.form == "zipped":
            self.send_header("Content-Encoding", "gzip")
            made = gzip.compress(made)
        self.send_header("Content-Type", "text/plain" if self.form == "text" else kind)
        self.send_header("Content-Length", str(len(made)))
        self.end_headers()
        self.wfile.write(made)

    def log_message(self, *_):
        pass


def make_json(files):
    keys = ("url", "requires-python", "yanked")
    listed = [dict(zip(keys, (f"../../files/{name}", *more), strict=True)) for name, *more in files]
    return json.dumps({"meta": {"api-version": "1.0"}, "name": "x", "files": listed}).encode()


def make_html(files):
    links = ""
    for name, python, yanked in files:
        more = f' data-requires-python="{escape(python)}"' if python else ""
        more += ' data-yanked=""' if yanked else ""
        links += f'<a href="../../files/{name}#sha256=aa"{more}>{name}</a><br/>\n'
    return f"<!DOCTYPE html><html><body>{links}</body></html>".encode()


@pytest.fixture
def served():
    """Serve pages on loopback; return what does, and the variables that lead pip to it."""

    class Served(PageServer):
        pages: ClassVar = {**PAGES, "odd-name": ODD}

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Served) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{server.server_port}"
        yield (
            Served,
            {
                "PATH": os.environ["PATH"],
                "PIP_CONFIG_FILE": os.devnull,
                "PIP_INDEX_URL": f"http://{place}/simple",
                "PIP_TRUSTED_HOST": place,
                "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                "PIP_RETRIES": "0",
            },
        )
        server.shutdown()


def run(environment, *words):
    return subprocess.run(
        [sys.executable, "-I", *words], env=environment, capture_output=True, text=True, check=False
    )


def list_releases(environment, package):
    """Return what the program writes; None where it leaves that to pip."""
    done = run(environment, "-c", PROGRAM, package)
    if done.returncode:
        assert not done.stdout
        return None
    return re.findall(r"^Available versions: (.*)$", done.stdout, re.MULTILINE)


ASK_PIP = """
import sys
from pip._internal.cli.main import main
for package in sys.argv[1:]:
    main(["index", "--no-cache-dir", "versions", "--", package])
"""


def ask_pip(environment, packages):
    """Return what pip says of each package: loading it takes longer than to ask."""
    done = run(environment, "-c", ASK_PIP, *packages)
    return re.findall(r"^Available versions: (.*)$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("form", ["json", "zipped", "html"])
def test_it_lists_what_pip_lists(served, form):
    server, environment = served
    server.form = form
    packages = [*PAGES, "odd-name", "Odd_Name"]
    listed = [list_releases(environment, package) for package in packages]
    assert all(listed)
    assert [text for [text] in listed] == ask_pip(environment, packages)


@pytest.mark.parametrize("case", FOR_PIP)
def test_what_it_does_not_know_for_certain_is_for_pip(served, case):
    server, environment = served
    server.pages = {"odd-name": [[FOR_PIP[case], None, False]]}
    assert list_releases(environment, "odd-name") is None


@pytest.mark.parametrize(
    "more",
    [
        {"PIP_EXTRA_INDEX_URL": "http://127.0.0.1:9/simple"},
        {"PIP_FIND_LINKS": "/nowhere"},
        {"PIP_PRE": "1"},
        {"PIP_NO_INDEX": "1"},
        {"PIP_TRUSTED_HOST": "other.example"},
        {"PIP_CONFIG_FILE": "/nowhere/pip.conf", "HOME": "{home}"},
        {"PIP_INDEX_URL": "http://ada:secret@127.0.0.1:9/simple"},
        {"PIP_INDEX_URL": "file:///nowhere"},
    ],
    ids=lambda more: next(iter(more)),
)
def test_where_more_than_one_address_decides_pip_is_asked(served, tmp_path, more):
    _, environment = served
    (tmp_path / ".config" / "pip").mkdir(parents=True)
    (tmp_path / ".config" / "pip" / "pip.conf").write_text("[global]\npre = true\n")
    more = {name: value.format(home=tmp_path) for name, value in more.items()}
    assert list_releases({**environment, **more}, "sqlparse") is None


@pytest.mark.parametrize(("package", "form"), [("unknown", "json"), ("sqlparse", "text")])
def test_what_is_no_page_of_an_index_is_for_pip(served, package, form):
    server, environment = served
    server.form = form
    assert list_releases(environment, package) is None


async def test_pip_lists_where_the_program_does_not(real):
    alone = await index.ask_offer(real, "sqlparse", 120)
    real.environment["PIP_PREFER_BINARY"] = "1"
    assert await index.ask_offer(real, "sqlparse", 120) == alone
