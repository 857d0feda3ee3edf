"""Real alerts of npm packages with this machine's index: the exploit works before, not after."""

import asyncio
import json
import os
import re
import shutil
import subprocess
from functools import cache

import pytest

from agents.pipelines.remediate.ladder import Fix, Level, climb, ecosystem_of
from agents.pipelines.remediate.ladder.climb import attempt
from agents.pipelines.remediate.ladder.levels import override
from agents.pipelines.remediate.ladder.npm.tools import NpmTool
from agents.pipelines.remediate.ladder.npm.tools import call as npm_call
from agents.pipelines.remediate.ladder.survey import survey
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group

POLLUTE = (
    "require('minimist')(['--_.constructor.constructor.prototype.polluted=yes']);"
    "console.log('polluted:', (function(){}).polluted)"
)


@pytest.fixture(scope="session")
def has_npm():
    """Skip, and say why, where there is no npm or no index that answers it."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed here")
    ask = ["npm", "view", "minimist@1.2.6", "version"]
    asked = subprocess.run(ask, capture_output=True, text=True, check=False, timeout=60)
    if "1.2.6" not in asked.stdout:
        pytest.skip(f"no npm index answers here: {asked.stderr[-300:]}")


@cache
def find_npm_index():
    """Ask npm once where its index is: that takes a start of it."""
    from app.dependencies.indexes.npm import npm_indexes  # noqa: PLC0415 slow, and for these alone
    from app.dependencies.indexes.operator_config import Operator  # noqa: PLC0415 the same

    return asyncio.run(npm_indexes(Operator(dict(os.environ)))).environment


async def index_environment(home):
    """Return the environment of commands that reach the index that npm is configured for here."""
    led = await asyncio.to_thread(find_npm_index)
    trust = ("_CERT", "_CA_BUNDLE", "_CERT_FILE", "_CA_CERTS")
    return {
        **{name: value for name, value in os.environ.items() if name.endswith(trust)},
        **led,
        "npm_config_userconfig": "/dev/null",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
    }


@pytest.fixture
async def real(tree, has_npm, shared_home, residents):
    """A work tree whose commands reach the index that npm is configured for here."""
    tree.environment = await index_environment(shared_home)
    with tree.share(residents):
        yield tree


async def bash(tree, script):
    done = await tree.run(["bash", "-c", script], timeout=120)
    assert done.exit_code == 0, done.output
    return done.output


def alerts(package, *ranges, file="package-lock.json", **more):
    found = group(package, *ranges, manifests=[file], **more)
    return found.model_copy(update={"ecosystem": "npm"})


async def climb_from(tree, about, terms=TERMS):
    return await climb(tree, ecosystem_of(tree.paths, about), about, terms)


async def override_from(tree, about):
    """Try the last rung alone: each one costs some runs of the tool."""
    terms = TERMS.model_copy(update={"overrides": True})
    context = await survey(tree, ecosystem_of(tree.paths, about), about, terms)
    steps = []
    fix = await attempt(context, Level.OVERRIDE, override, steps)
    assert fix is not None, steps[0].why
    return fix


async def lock(tree, manifest, *, first=None):
    """Lock a project; `first` are requirements that it had when it was locked."""
    wanted = manifest["dependencies"]
    asked = {**manifest, "dependencies": {**wanted, **(first or {})}}
    tree.lay({"package.json": json.dumps(asked, indent=2) + "\n"})
    await bash(tree, "npm install --package-lock-only --ignore-scripts --no-audit >/dev/null")
    if first:
        locked = json.loads((tree.folder / "package-lock.json").read_text())
        locked["packages"][""]["dependencies"] = wanted
        tree.lay({
            "package.json": json.dumps(manifest, indent=2) + "\n",
            "package-lock.json": json.dumps(locked, indent=2) + "\n",
        })  # fmt: skip


async def run_exploit(tree):
    """Return what the exploit prints with what is locked."""
    await bash(
        tree,
        "d=$(mktemp -d); cp package*.json $d; cd $d; npm ci --ignore-scripts >&2; "
        f'node -e "{POLLUTE}" >out; cp out $OLDPWD/../out; rm -rf $d',
    )
    return (tree.folder.parent / "out").read_text()


def lines(tree, start, fix):
    return [x for x in tree.diff(start, fix.tree).splitlines() if re.match(r"[+-][^+-]", x)]


async def test_minimist_locked_below_mkdirp(real):
    evil = {"scripts": {"preinstall": "touch pwned"}, "name": "shop", "version": "1.0.0"}
    await lock(real, {**evil, "dependencies": {"mkdirp": "0.5.5"}}, first={"minimist": "1.2.5"})
    real.lay({".npmrc": "node-options=--require ./evil.js\n"})
    about = alerts("minimist", "< 0.2.4", ">= 1.0.0, < 1.2.6")
    (real.folder / ".npmrc").rename(real.folder.parent / "npmrc")
    assert "polluted: yes" in await run_exploit(real)
    (real.folder.parent / "npmrc").rename(real.folder / ".npmrc")
    start = await real.snapshot()

    fix = await climb_from(real, about)

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files) == (Level.FLOAT, ("package-lock.json",))
    assert fix.forced == ()
    changed = lines(real, start, fix)
    assert len(changed) == 6, changed
    (real.folder / ".npmrc").unlink()
    assert "polluted: undefined" in await run_exploit(real)
    assert not list(real.folder.parent.rglob("pwned"))


async def exploited_by(pnpm, tree):
    """Return what the exploit does with what pnpm installed."""
    shamefully = (
        "--shamefully-hoist --ignore-scripts --config.manage-package-manager-versions=false"
    )
    drop = 'sed -i \'s/"packageManager": "[^"]*",//\' package.json'
    copied = f'cp "$tree"/p*.* . && {drop} && pnpm install --frozen-lockfile {shamefully} >&2'
    return await npm_call(tree, f'{copied} && node -e "{POLLUTE}"', seconds=120, tool=pnpm)


PNPM = {"8": "6.0", "10": "9.0"}


@pytest.mark.parametrize("release", PNPM)
async def test_minimist_locked_by_pnpm_below_mkdirp(real, release):
    manifest = {"name": "shop", "version": "1.0.0", "packageManager": f"pnpm@{release}.0.0"}
    pnpm = NpmTool("pnpm", release)
    script = 'cd "$tree" && pnpm install --lockfile-only --ignore-scripts >&2'
    for extra in ({"minimist": "1.2.5"}, {}):
        asked = {"name": "shop", "dependencies": {"mkdirp": "0.5.5", **extra}}
        real.lay({"package.json": json.dumps(asked)})
        await npm_call(real, script, seconds=120, tool=pnpm)
    real.lay({"package.json": json.dumps({**manifest, "dependencies": {"mkdirp": "0.5.5"}})})
    assert f"lockfileVersion: '{PNPM[release]}'" in (real.folder / "pnpm-lock.yaml").read_text()
    assert "polluted: yes" in await exploited_by(pnpm, real)
    start = await real.snapshot()

    about = alerts("minimist", "< 0.2.4", ">= 1.0.0, < 1.2.6", file="pnpm-lock.yaml")
    fix = await climb_from(real, about)

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files, fix.tool) == (Level.FLOAT, ("pnpm-lock.yaml",), "pnpm")
    assert fix.forced == ()
    changed = lines(real, start, fix)
    assert "polluted: undefined" in await exploited_by(pnpm, real)
    assert len(changed) == (6 if release == "8" else 8), changed


async def test_semver_pinned_by_the_repository(real):
    await lock(real, {"name": "shop", "version": "1.0.0", "dependencies": {"semver": "7.5.1"}})
    fix = await climb_from(real, alerts("semver", ">= 7.0.0, < 7.5.2"))
    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files) == (Level.BUMP, ("package-lock.json", "package.json"))
    assert fix.moves[0].new == ("7.5.2",)
    assert '"semver": "7.5.2"' in (real.folder / "package.json").read_text()
