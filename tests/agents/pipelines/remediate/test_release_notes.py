"""What a package says of its release is found where each package manager lays it."""

from __future__ import annotations

import asyncio
import os
import subprocess
from types import SimpleNamespace

import pytest

from agents.pipelines.remediate.ladder import Move
from agents.pipelines.remediate.release_notes import read_release_notes
from agents.ports import CommandResult

NOTES = "# Changes\n\n## v1.2.0\n\n- Hold it.\n\n## v1.1.0\n\n- Older.\n"


class HomeTree:
    """A work tree whose commands run as they are, with a HOME of their own."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home")} | environment

    async def run(self, argv, *, timeout, writable):
        assert not writable
        done = await asyncio.to_thread(
            subprocess.run, argv, cwd=self.folder / "tree", env=self.environment,
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
        return CommandResult(done.returncode, "exit", done.stdout, 0.1)


async def read(tmp_path, name, *, file="", old="1.1.0", new="1.2.0", directory="", **environment):
    (tmp_path / "tree").mkdir()
    if file:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(NOTES)

    async def tree():
        return HomeTree(tmp_path, environment)

    moves = (Move(name=name, old=(old,), new=(new,)),)
    group = SimpleNamespace(directory=directory, ecosystem="npm")
    work = SimpleNamespace(
        companions=(),
        bump=SimpleNamespace(moves=moves),
        found=SimpleNamespace(name=name, group=group),
    )
    return await read_release_notes(SimpleNamespace(tree=tree), work)


@pytest.mark.parametrize(
    ("name", "file", "more"),
    [
        ("qs", "tree/node_modules/qs/CHANGELOG.md", {}),
        ("@acme/qs", "tree/web/node_modules/@acme/qs/History.md", {"directory": "web"}),
        ("qs", "tree/node_modules/.pnpm/qs@1.2.0/node_modules/qs/CHANGELOG.md", {}),
        ("acme/lexer", "tree/vendor/acme/lexer/CHANGES.md", {}),
        (
            "github.com/Acme/Lexer",
            "home/go/pkg/mod/github.com/!acme/!lexer@v1.2.0/CHANGELOG.md",
            {"old": "v1.1.0", "new": "v1.2.0"},
        ),
        ("example.org/x", "p/pkg/mod/example.org/x@v1.2.0/HISTORY.md", {"GOPATH": "../p"}),
        ("fnv", "home/.cargo/registry/src/index.crates.io-1/fnv-1.2.0/CHANGELOG.md", {}),
        ("fnv", "c/registry/src/x/fnv-1.2.0/CHANGELOG", {"CARGO_HOME": "../c"}),
        ("rack", "b/ruby/3.1.0/gems/rack-1.2.0/CHANGELOG.md", {"BUNDLE_PATH": "../b"}),
        ("rack", "tree/vendor/bundle/ruby/3.1.0/gems/rack-1.2.0/CHANGELOG.md", {}),
    ],
)
async def test_it_is_read_where_the_release_is_installed(tmp_path, name, file, more):
    assert await read(tmp_path, name, file=file, **more) == "## v1.2.0\n\n- Hold it."


@pytest.mark.parametrize(
    "file",
    [
        "",
        "home/.cargo/registry/src/x/fnv-1.1.0/CHANGELOG.md",
        "tree/node_modules/fnv/changelog.d/1.md",
        "tree/vendor/fnv-1.2.0/CHANGELOG.md",
    ],
)
async def test_what_is_of_another_release_or_not_there_is_not_told(tmp_path, file):
    assert await read(tmp_path, "fnv", file=file) == ""


async def test_a_package_named_like_an_option_or_a_command_does_nothing(tmp_path):
    for name in ("--version", "$(touch pwned)", "'; touch pwned; '", "../../etc"):
        assert await read(tmp_path, name) == ""
        assert not (tmp_path / "tree/pwned").exists()
        (tmp_path / "tree").rmdir()
