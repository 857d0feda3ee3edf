"""Run npm, pnpm and Yarn in the sandbox on a copy of the manifests and the lock file.

The copy has no settings, no scripts and no hooks of the repository, so none is obeyed.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agents.errors import ToolError
from agents.pipelines.remediate.ladder.files import LOCK_LIMIT, read_text
from agents.pipelines.remediate.ladder.npm.files import Table
from agents.pipelines.remediate.ladder.values import Stuck, Unfit, require_finished, tail_output
from agents.ports import CommandResult, Kit, WorkTree
from agents.requests import Frozen

UNPROVIDED = 97
"""The exit code of a script whose tool could not be had."""

_LIMIT = 200_000
_GATHERED = 4 * LOCK_LIMIT

_SCRIPT = """\
set -u
unset NODE_OPTIONS
export npm_config_ignore_scripts=true npm_config_audit=false npm_config_fund=false
export npm_config_update_notifier=false npm_config_color=false npm_config_progress=false
export npm_config_loglevel=error npm_config_omit_lockfile_registry_resolved=false
export npm_config_fetch_retries=1 npm_config_fetch_retry_mintimeout=1000
command -v npm >/dev/null 2>&1 || {{ echo 'There is no npm.' >&2; exit {unprovided}; }}
export tree=$PWD
work=$(mktemp -d) && cd -- "$work" || exit 98
trap 'cd / && rm -rf -- "$work"' EXIT
{provide}
{body}
"""
_MAKE = """\
export npm_config_ignore_scripts=true npm_config_audit=false npm_config_fund=false
echo '{{}}' >"$KIT/package.json" && cd -- "$KIT" &&
  npm install --no-package-lock --no-save {package}@{release} &&
  printf '%s' {compiled} >compiled.cjs && export FETTLE_KEEPS_COMPILED=yes &&
  NODE_OPTIONS="--require \\"$KIT/compiled.cjs\\"" node_modules/.bin/{program} --version &&
  touch -- "$KIT/ready"
"""
_PROVIDE = """\
tool="$KITS/{kit}"
if test -e "$tool/ready"; then
  PATH="$tool/node_modules/.bin:$PATH"
  export PATH NODE_OPTIONS="--require \\"$tool/compiled.cjs\\""
else
  case "$({program} --version)" in
    {release}|{release}.*) ;;
    *) echo 'There is no {program} {release} that runs here.' >&2; exit {unprovided} ;;
  esac
fi
"""
_STAGED = """\
mv -- "$tree"/{folder} "$work/tree" || exit 98
cd -- "$work/tree"/{directory} || exit 98
{body}
"""
_IN_ONE_PROCESS = "node -e {program} {plan} {unprovided} || exit $?\n"
_STAY = "stay"
"""Instead of commands: to take them by lines, and to answer each of these."""
_PROGRAM, _COMPILED = (
    shlex.quote(Path(__file__).with_name(name).read_text("utf-8"))
    for name in ("in_one_process.cjs", "compiled.cjs")
)
_NO_TOOL = (
    "The sandbox could not be given {program}, which the lock file needs: {said} Install Node.js "
    "with npm 7 or newer where the sandbox sees it, or put both into FETTLE_TOOLCHAINS."
)
_NO_WAY = "{program} needs the package indexes, and no way leads to them: {error}"

_REFUSED = "npm refuses `{lock}` as it is, before any change ({why}). {cure}, then ask again."
_CURES = {
    " in sync": "Lock it anew with `npm install --package-lock-only`",
    "Could not resolve": "Have these fit together, or write `legacy-peer-deps=true` into `.npmrc`",
}
"""What to do about each way in which npm says that a lock file and its manifests do not fit."""
_CLASHES = re.compile(r"(?:(?:Missing|Invalid): |peer )[^\n]{3,100}?(?=\s*(?:\n|npm error|$))")

_DROPPED = ("scripts", "packageManager", "devEngines", "engines")
"""Members of a package.json that run something or refuse to; they decide nothing that is locked."""


@dataclass(frozen=True)
class NpmTool:
    """npm as the sandbox has it, or a relative of it in the release that a lock file needs."""

    program: str = "npm"
    release: str = ""
    """The version that is fetched, or its beginning; digits and dots alone."""
    package: str = ""
    """What it is called in the index, where that is something else."""

    @property
    def kits(self) -> tuple[Kit, ...]:
        """Return how it is fetched, once on each machine; npm itself is not."""
        if not self.release:
            return ()
        about = {"program": self.program, "release": self.release}
        script = _MAKE.format(package=self.package or self.program, compiled=_COMPILED, **about)
        made = hashlib.sha256(script.encode()).hexdigest()[:16]
        return (Kit(name=f"{self.program}-{self.release}-{made}", script=script),)

    @property
    def shared_home(self) -> str:
        """Return the home folder that its scripts share: pnpm makes a store in it, in a while."""
        return self.program if self.program == "pnpm" else ""

    def script(self, body: str) -> str:
        """Return a script for bash that has the tool and then runs the body."""
        provide = "".join(
            _PROVIDE.format(
                program=self.program, release=self.release, kit=kit.name, unprovided=UNPROVIDED
            )
            for kit in self.kits
        )
        return _SCRIPT.format(unprovided=UNPROVIDED, provide=provide, body=body)


NPM = NpmTool()
CLASSIC_YARN = NpmTool("yarn", "1.22.22")


@dataclass(frozen=True)
class Staged:
    """Files for a tool, by their paths in the repository, and the folder to run it in."""

    directory: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class NpmCommand:
    """One of several commands of npm that run in one process, which starts npm once."""

    arguments: Sequence[str]
    folder: str = ""
    """The folder to run in, from where the script is."""
    tell: str = ""
    """JavaScript of ours that makes of the output `t` what is printed behind the mark."""
    file: str = ""
    """Where that text stands, if it is not the output."""
    gather: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By a path in the work tree, the files whose texts are put there, as a list."""

    def to_step(self) -> Table:
        """Return it as the program that runs it takes it."""
        return {
            "args": list(self.arguments),
            "folder": self.folder,
            "tell": self.tell,
            "file": self.file,
            "gather": {to: list(files) for to, files in self.gather.items()},
        }


def in_one_process(*commands: NpmCommand) -> str:
    """Return a script of bash that runs these commands, and ends with the first one that fails."""
    return _make_script(json.dumps([each.to_step() for each in commands]))


def _make_script(plan: str) -> str:
    return _IN_ONE_PROCESS.format(program=_PROGRAM, plan=shlex.quote(plan), unprovided=UNPROVIDED)


class NpmAnswer(Frozen):
    """What commands of npm in one process have said, and the texts of the files they gathered."""

    output: str
    gathered: Mapping[str, tuple[str, ...]] = {}
    code: int = 0
    """That of the first command that failed."""


async def run_npm(
    tree: WorkTree, *commands: NpmCommand, seconds: float, staged: Staged | None = None
) -> NpmAnswer:
    """Run these commands in an npm that stays loaded, or else as `call` runs a script with them.

    Raises as `call` does.
    """
    answer = await _run_loaded(tree, commands, staged or Staged(), seconds)
    if answer is None:
        output = await call(tree, in_one_process(*commands), seconds=seconds, staged=staged)
        paths = [path for each in commands for path in each.gather]
        texts = {path: json.loads(await read_text(tree, path, _GATHERED)) for path in paths}
        return NpmAnswer(output=output, gathered=texts)
    if answer.code:
        raise _make_stuck(NPM, answer.output)
    return answer


async def _run_loaded(
    tree: WorkTree, commands: Sequence[NpmCommand], staged: Staged, seconds: float
) -> NpmAnswer | None:
    """Return what was said however it ended; None where no npm stays, or it gave no answer."""
    asked = {
        "steps": [each.to_step() for each in commands],
        "files": {path: data.decode() for path, data in staged.files.items()},
        "directory": staged.directory,
    }
    argv = ["bash", "-c", NPM.script(_make_script(_STAY))]
    line = await tree.converse(argv, to_json(asked), timeout=seconds)
    try:
        return None if line is None else NpmAnswer.model_validate_json(line)
    except ValueError:
        return None


async def call(
    tree: WorkTree, body: str, *, seconds: float, tool: NpmTool = NPM, staged: Staged | None = None
) -> str:
    """Run a script with the tool, in a copy if files are given; return what it wrote.

    `$tree` is the work tree; the folder is another, so that no settings lie above it. Raises Stuck
    when it fails, Unfit where the tool or the way to the indexes cannot be had.
    """
    result = await attempt(tree, body, seconds=seconds, tool=tool, staged=staged)
    require_finished(tool.program, result)
    if result.exit_code != 0:
        raise _make_stuck(tool, result.output)
    return result.output


async def attempt(
    tree: WorkTree, body: str, *, seconds: float, tool: NpmTool = NPM, staged: Staged | None = None
) -> CommandResult:
    """Run a script with the tool, however it ends."""
    if staged is not None:
        folder = f".fettle-{secrets.token_hex(8)}"
        for path, data in staged.files.items():
            await tree.write(posixpath.join(folder, path), data)
        within = shlex.quote(staged.directory or ".")
        body = _STAGED.format(folder=folder, directory=within, body=body)
    argv = ["bash", "-c", tool.script(body)]
    try:
        result = await tree.ask(
            argv, timeout=seconds, kits=tool.kits, max_output=_LIMIT, shared_home=tool.shared_home
        )
    except ToolError as error:
        raise Unfit("no_tool", _NO_WAY.format(program=tool.program, error=error)) from error
    if result.exit_code == UNPROVIDED:
        raise Unfit(
            "no_tool", _NO_TOOL.format(program=tool.program, said=tail_output(result.output))
        )
    return result


def explain_refusal(lock: str, said: str) -> str:
    """Return why npm refuses a lock file that nobody has changed yet; empty for passing trouble."""
    cure = next((cure for words, cure in _CURES.items() if words in said), "")
    found = "; ".join(each.strip() for each in dict.fromkeys(_CLASHES.findall(said)))
    return _REFUSED.format(lock=lock, why=found[:300] or "npm ci", cure=cure) if cure else ""


def harmless(manifest: Table) -> bytes:
    """Return a package.json without what could run, or refuse to."""
    return to_json({key: each for key, each in manifest.items() if key not in _DROPPED})


def to_json(data: object) -> bytes:
    """Return JSON; what is no text at all ends up escaped."""
    return json.dumps(data).encode()


def _make_stuck(tool: NpmTool, output: str) -> Stuck:
    return Stuck(f"{tool.program} said: {tail_output(_without_usage(output))}")


def _without_usage(output: str) -> str:
    """Return npm's message without the list of options that it adds to some."""
    kept = output.partition("\nnpm error Clean install a project")[0]
    return "\n".join(line for line in kept.splitlines() if "A complete log of this run" not in line)
