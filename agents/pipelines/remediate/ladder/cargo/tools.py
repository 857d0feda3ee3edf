"""Run cargo in the sandbox on a copy of the manifests and the lock file.

The copy has no settings and no code of the repository, so none is obeyed.
"""

from __future__ import annotations

import posixpath
import secrets
import shlex
from collections.abc import Iterator, Mapping

import tomlkit

from agents.errors import ToolError
from agents.pipelines.remediate.ladder.python.pyproject import parse_toml
from agents.pipelines.remediate.ladder.values import Stuck, Unfit, tail_output
from agents.ports import WorkTree

_UNPROVIDED = 97
"""The exit code of a script that finds no cargo."""
_LIMIT = 200_000
_TABLES = ("dependencies", "dev-dependencies", "build-dependencies", "features", "target")
_KEPT = frozenset({*_TABLES, "package", "workspace", "patch", "replace"})
_KEPT_OF_PACKAGE = ("name", "version", "edition", "rust-version", "resolver", "workspace")
"""What decides how versions are chosen; the rest names files that the copy does not have."""

_SCRIPT = """\
set -u
command -v cargo >/dev/null 2>&1 || {{ echo 'There is no cargo.'; exit {unprovided}; }}
export CARGO_HOME="${{CARGO_HOME:-$HOME/.cargo}}" CARGO_TERM_COLOR=never CARGO_NET_RETRY=1
tree=$PWD
work=$(mktemp -d)
trap 'cd / && rm -rf -- "$work"' EXIT
mv -- "$tree"/{folder} "$work/tree" && cd -- "$work/tree"/{directory} || exit 98
{body}
"""
_NO_TOOL = (
    "The sandbox has no cargo: {said} Install it where the sandbox sees it, or put it into"
    " FETTLE_TOOLCHAINS."
)
_NO_WAY = "cargo needs the package indexes, and no way leads to them: {error}"


async def call(
    tree: WorkTree, directory: str, files: Mapping[str, str], body: str, *, seconds: float
) -> str:
    """Run a script in a copy of that folder with these files; return what it wrote.

    `$tree` is the work tree. Raises Stuck when it fails, Unfit where cargo or the way to the
    indexes cannot be had.
    """
    folder = f".fettle-{secrets.token_hex(8)}"
    for file, text in files.items():
        for path, staged in _stage(file, text):
            await tree.write(posixpath.join(folder, path), staged.encode())
    within = shlex.quote(directory or ".")
    script = _SCRIPT.format(unprovided=_UNPROVIDED, folder=folder, directory=within, body=body)
    try:
        result = await tree.ask(["bash", "-c", script], timeout=seconds, max_output=_LIMIT)
    except ToolError as error:
        raise Unfit("no_tool", _NO_WAY.format(error=error)) from error
    if result.exit_code == _UNPROVIDED:
        raise Unfit("no_tool", _NO_TOOL.format(said=tail_output(result.output)))
    if result.why != "exit" or result.exit_code:
        raise Stuck(f"cargo said: {tail_output(result.output)}")
    return result.output


def _stage(file: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield what stands in for a file: for a package its manifest, and an empty library."""
    if posixpath.basename(file) != "Cargo.toml":
        yield file, text
        return
    whole = parse_toml(text, file).unwrap()
    kept = {key: each for key, each in whole.items() if key in _KEPT}
    if isinstance(package := whole.get("package"), dict):
        kept["package"] = {key: each for key, each in package.items() if key in _KEPT_OF_PACKAGE}
        yield posixpath.join(posixpath.dirname(file), "src/lib.rs"), ""
    yield file, tomlkit.dumps(kept)
