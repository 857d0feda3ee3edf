"""Run a package manager in the sandbox on a copy of the manifests and the lock file.

The copy has no settings and no code of the repository, so none is obeyed.
"""

from __future__ import annotations

import posixpath
import secrets
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from agents.errors import ToolError
from agents.pipelines.remediate.ladder.values import Stuck, Unfit, require_finished, tail_output
from agents.ports import WorkTree

_UNPROVIDED = 97
"""The exit code of a script that does not find the program."""
_LIMIT = 400_000
_SCRIPT = """\
set -u
command -v {name} >/dev/null 2>&1 || {{ echo 'There is no {name}.'; exit {unprovided}; }}
tree=$PWD
work=$(mktemp -d)
trap 'cd / && rm -rf -- "$work"' EXIT
mv -- "$tree"/{folder} "$work/tree" && cd -- "$work/tree"/{directory} || exit 98
{setting}
{body}
"""
_KEEP = """\
{{
{body}
}} || exit 1
cp -- {name} "$tree"/{path}
"""
_NO_TOOL = (
    "The sandbox has no {name}: {said} Install it where the sandbox sees it, or put it into"
    " FETTLE_TOOLCHAINS."
)
_NO_WAY = "{name} needs the package indexes, and no way leads to them: {error}"


@dataclass(frozen=True)
class Program:
    """A package manager as the sandbox has it."""

    name: str
    setting: str
    """Lines of shell before each of its scripts."""

    async def call(
        self,
        tree: WorkTree,
        directory: str,
        files: Mapping[str, str],
        body: str,
        *,
        seconds: float,
        keep: str = "",
    ) -> str:
        """Run a script in a copy of that folder with these files; return what it wrote.

        `keep`: the path of the file that is put back into the work tree. Raises Stuck when it
        fails, Unfit where the program or the way to the indexes cannot be had.
        """
        folder = f".fettle-{secrets.token_hex(8)}"
        for path, text in files.items():
            await tree.write(posixpath.join(folder, path), text.encode())
        if keep:
            name = shlex.quote(posixpath.basename(keep))
            body = _KEEP.format(body=body, name=name, path=shlex.quote(keep))
        script = _SCRIPT.format(
            name=self.name,
            unprovided=_UNPROVIDED,
            folder=folder,
            directory=shlex.quote(directory or "."),
            setting=self.setting,
            body=body,
        )
        try:
            result = await tree.ask(["bash", "-c", script], timeout=seconds, max_output=_LIMIT)
        except ToolError as error:
            raise Unfit("no_tool", _NO_WAY.format(name=self.name, error=error)) from error
        said = tail_output(result.output)
        if result.exit_code == _UNPROVIDED:
            raise Unfit("no_tool", _NO_TOOL.format(name=self.name, said=said))
        require_finished(self.name, result)
        if result.exit_code:
            raise Stuck(f"{self.name} said: {said}")
        return result.output
