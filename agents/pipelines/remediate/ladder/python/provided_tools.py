"""Provide the tool version that made a lock file, fetched from the index if need be."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from agents.analysis.languages.python import INSTALL_PIP_AND_UV, PIP_AND_UV
from agents.errors import ToolError
from agents.pipelines.remediate.ladder.values import Stuck, Unfit, require_finished, tail_output
from agents.ports import CommandResult, Kit, WorkTree

_UNPROVIDED = 97
"""The exit code of a script whose tool could not be had."""

_MAKE_BASE = f"""\
{INSTALL_PIP_AND_UV} &&
  touch -- "$KIT/ready"
"""
_MAKE = """\
uv="$KITS/{base}/bin/uv"
"$uv" venv --quiet --allow-existing --python python3 "$KIT" &&
  "$uv" pip install --quiet --python "$KIT/bin/python" --no-build --compile-bytecode {wanted} &&
  touch -- "$KIT/ready"
"""
_SCRIPT = """\
set -u
tool="$KITS/{kit}"
test -e "$tool/ready" || {instead}
PATH="$tool/bin:$PATH"
export PATH UV_SYSTEM_PYTHON=1 UV_PROJECT_ENVIRONMENT=/nonexistent/environment
{body}
"""
"""uv would ask a `.venv` that the repository brings along for its Python, and so run it."""
_NO_TOOL = (
    "The sandbox could not be given {program}, which the lock file needs: {said} Install a Python "
    "that makes virtual environments (`python3 -m venv`), or put {program} into FETTLE_TOOLCHAINS."
)
_NO_WAY = "{program} needs the package indexes, and no way leads to them: {error}"
_LIMIT = 200_000
_BUILD_NOTHING = ("pip", "uv")
"""Those that are told so wherever they are run: what they leave at home is theirs alone."""


@dataclass(frozen=True)
class Tool:
    """A program of Python's index, and which releases of it will do."""

    program: str
    packages: tuple[str, ...]
    """Requirements as pip takes them; made by us, never copied from a repository."""
    found: bool = True
    """Whether one that the sandbox has anyhow will do where none can be fetched."""
    beside: tuple[Tool, ...] = ()
    """Others that its sandbox has as well, so that their scripts can follow in the same one."""

    @property
    def kit(self) -> Kit:
        """Return how it is fetched, once on each machine."""
        wanted = shlex.join(self.packages)
        if self.packages == PIP_AND_UV:
            return _kit(self, _MAKE_BASE)
        script = _MAKE.format(base=BASE.kit.name, wanted=wanted)
        return _kit(self, script, BASE.kit)

    def script(self, body: str) -> str:
        """Return a script for bash that has the tool first on PATH and then runs the body."""
        there = f"command -v {shlex.quote(self.program)} >/dev/null 2>&1 ||"
        instead = f"{there if self.found else ''} exit {_UNPROVIDED}"
        return _SCRIPT.format(kit=self.kit.name, instead=instead, body=body)


BASE = Tool("pip", PIP_AND_UV, found=False)
"""pip and uv in releases that Fettle knows, for what does not depend on a lock file."""


async def call(tree: WorkTree, tool: Tool, body: str, *, seconds: float) -> str:
    """Run a script with the tool; return what it wrote. Raises Stuck when it fails.

    Raises Unfit where the tool or the way to the indexes cannot be had.
    """
    return await call_in_turn(tree, [(tool, body)], seconds=seconds)


async def call_in_turn(
    tree: WorkTree, scripts: Sequence[tuple[Tool, str]], *, seconds: float
) -> str:
    """Run scripts, each with its tool, in one sandbox; return what they wrote. Raises as `call`."""
    program = scripts[0][0].program
    result = await _attempt(tree, scripts, seconds)
    require_finished(program, result)
    if result.exit_code != 0:
        raise Stuck(f"{program} said: {tail_output(result.output)}")
    return result.output


async def attempt(tree: WorkTree, tool: Tool, body: str, *, seconds: float) -> CommandResult:
    """Run a script with the tool, however it ends."""
    return await _attempt(tree, [(tool, body)], seconds)


async def _attempt(
    tree: WorkTree, scripts: Sequence[tuple[Tool, str]], seconds: float
) -> CommandResult:
    parts = [tool.script(body) for tool, body in scripts]
    whole = "".join(f"(\n{part}\n) || exit $?\n" for part in parts[:-1]) + parts[-1]
    tools = [each for tool, _ in scripts for each in (tool, *tool.beside)]
    kits = list(dict.fromkeys(tool.kit for tool in tools))
    needed = {need for kit in kits for need in kit.needs}
    kits = [kit for kit in kits if kit not in needed]
    program = scripts[0][0].program
    home = BASE.program if all(tool.program in _BUILD_NOTHING for tool in tools) else ""
    try:
        result = await tree.ask(
            ["bash", "-c", whole], timeout=seconds, kits=kits, max_output=_LIMIT, shared_home=home
        )
    except ToolError as error:
        raise Unfit("no_tool", _NO_WAY.format(program=program, error=error)) from error
    if result.exit_code == _UNPROVIDED:
        raise Unfit("no_tool", _NO_TOOL.format(program=program, said=tail_output(result.output)))
    return result


def _kit(tool: Tool, script: str, *needs: Kit) -> Kit:
    made = hashlib.sha256("\n".join((script, *(each.name for each in needs))).encode())
    return Kit(name=f"{tool.program}-{made.hexdigest()[:16]}", script=script, needs=needs)
