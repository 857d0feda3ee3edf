"""Yarn 3 and 4 with this machine's index; the exploit works before the ladder, and not after it."""

import json
import re
from pathlib import Path

import pytest

from agents.pipelines.remediate.ladder import Fix, Level, Stuck, Unfit, ecosystem_of
from agents.pipelines.remediate.ladder.npm.tools import NpmTool
from agents.pipelines.remediate.ladder.npm.tools import call as npm_call
from agents.pipelines.remediate.ladder.yarn import lock as locks
from agents.pipelines.remediate.ladder.yarn.adapter import _IN_THE_PROCESS, _YARN, Yarn
from tests.agents.pipelines.remediate.ladder.conftest import TERMS
from tests.agents.pipelines.remediate.ladder.npm.test_npm_real import (
    POLLUTE,
    alerts,
    climb_from,
    has_npm,
    lines,
    override_from,
    real,
)

__all__ = ["has_npm", "real"]  # fixtures
LOCKS = Path(__file__).with_name("locks")
RELEASES = {"3.8.7": "6", "4.12.0": "8"}
OLD = ("< 0.2.4", ">= 1.0.0, < 1.2.6")


def yarn_of(release):
    return NpmTool("yarn", release, package="@yarnpkg/cli-dist")


async def run_yarn(tree, release, body):
    few = "" if release.startswith("3.") else _IN_THE_PROCESS
    script = _YARN.format(more=few, body=body)
    return await npm_call(tree, script, seconds=120, tool=yarn_of(release))


def lay(tree, release, locked, asked, **more):
    """Lay a project as people have it, with what that release of Yarn once locked."""
    manifest = {"name": "shop", "version": "1.0.0", "packageManager": f"yarn@{release}"}
    manifest |= {"dependencies": asked, **more}
    text = (LOCKS / f"{locked}.lock").read_text()
    tree.lay({"package.json": json.dumps(manifest), "yarn.lock": text})


def lay_vulnerable(tree, release):
    """Lay mkdirp with a minimist that it admits, and nobody should have."""
    lay(tree, release, f"vulnerable-{release}", {"mkdirp": "0.5.5"})


async def exploited_by(tree, release):
    """Return what the exploit does with what a frozen install puts there."""
    body = (
        'cp -R "$tree"/.yarn "$tree"/yarn.lock "$tree"/package.json . &&'
        f' YARN_NODE_LINKER=node-modules yarn install --immutable >&2 && node -e "{POLLUTE}"'
    )
    return await run_yarn(tree, release, body)


async def test_a_pin_of_the_repository_and_of_other_folders_of_it_moves(real):
    pins = {"version": "1.0.0", "dependencies": {"semver": "7.5.1"}}
    member, portal = {"name": "member", **pins}, {"name": "part", **pins}
    folders = {"parts/one/package.json": member, "other/two/package.json": portal}
    real.lay({path: json.dumps(each, indent=2) + "\n" for path, each in folders.items()})
    asked = {"semver": "7.5.1", "part": "portal:./other/two", "bare": "link:./other/three"}
    lay(real, "4.12.0", "folders", asked, workspaces=["parts/*"])

    fix = await climb_from(real, alerts("semver", ">= 7.0.0, < 7.5.2", file="yarn.lock"))

    assert isinstance(fix, Fix), "\n".join(each.why for each in fix.steps)
    assert fix.level == Level.BUMP
    assert fix.files == (
        "other/two/package.json", "package.json", "parts/one/package.json", "yarn.lock",
    )  # fmt: skip
    for path in folders:
        assert '"semver": "7.5.2"' in (real.folder / path).read_text()
    assert fix.moves[0].new == ("7.5.2",)
    await run_yarn(real, "4.12.0", 'cp -r "$tree" t && cd t && yarn install --immutable >&2')


async def test_what_a_catalog_admits_moves_and_people_change_the_catalog(real):
    settings = """\
# One version for all.
catalog:
  mkdirp: "0.5.5" # old
catalogs:
  new:
    "semver": ~7.5.0
"""
    member = {"name": "part", "version": "1.0.0", "dependencies": {"semver": "catalog:new"}}
    real.lay({".yarnrc.yml": settings, "parts/one/package.json": json.dumps(member)})
    lay(real, "4.12.0", "catalog", {"mkdirp": "catalog:"}, workspaces=["parts/*"])
    [shop] = [each for each in (await Yarn("").read(real)).entries if each.name == "shop"]
    assert shop.needs == ("mkdirp@npm:0.5.5",)
    start = await real.snapshot()

    fix = await climb_from(real, alerts("semver", ">= 7.0.0, < 7.5.2", file="yarn.lock"))

    assert isinstance(fix, Fix), "\n".join(each.why for each in fix.steps)
    assert (fix.level, fix.files) == (Level.FLOAT, ("yarn.lock",))
    assert len(lines(real, start, fix)) == 6
    await run_yarn(real, "4.12.0", 'cp -r "$tree" t && cd t && yarn install --immutable >&2')

    refusal = await climb_from(real, alerts("mkdirp", "< 0.5.6", file="yarn.lock"))

    why = (
        "a catalog in `.yarnrc.yml` asks for `mkdirp` `0.5.5`, and a run does not change that file:"
    )
    assert any(each.why.startswith(f"{why} write `0.5.6` there and run") for each in refusal.steps)
    assert (real.folder / ".yarnrc.yml").read_text() == settings


async def test_what_people_overrule_with_moves_where_it_is_vulnerable(real):
    overruled = {"minimist": "1.2.5"}
    lay(real, "4.12.0", "overruled", {"mkdirp": "0.5.5"}, resolutions=overruled)

    fix = await climb_from(real, alerts("minimist", *OLD, file="yarn.lock"))

    assert isinstance(fix, Fix), "\n".join(each.why for each in fix.steps)
    assert (fix.level, fix.files) == (Level.BUMP, ("package.json", "yarn.lock"))
    assert '"minimist": "1.2.6"' in (real.folder / "package.json").read_text()
    assert fix.moves[0].new == ("1.2.6",)


PATCH = """\
--- a/package.json
+++ b/package.json
@@ -1,1 +1,2 @@
+
 {
"""


@pytest.mark.parametrize("release", RELEASES)
async def test_a_transitive_one_moves_in_the_lock_alone_beside_a_patched_one_and_plugins(
    real, release
):
    root = "~" if release.startswith("4") else "."
    patched = f"patch:semver@npm%3A7.5.1#{root}/.yarn/patches/semver.patch"
    spec = "@yarnpkg/plugin-typescript"
    plugins = f"plugins:\n  - path: .yarn/plugins/{spec}.cjs\n    spec: '{spec}'\n"
    real.lay({".yarn/patches/semver.patch": PATCH})
    lay(real, release, f"patched-{release}", {"mkdirp": "0.5.5", "semver": patched})
    assert "polluted: yes" in await exploited_by(real, release)
    real.lay({".yarnrc.yml": plugins})
    start = await real.snapshot()

    fix = await climb_from(real, alerts("minimist", *OLD, file="yarn.lock"))

    assert isinstance(fix, Fix), "\n".join(each.why for each in fix.steps)
    assert (fix.level, fix.files, fix.tool) == (Level.FLOAT, ("yarn.lock",), "Yarn")
    assert fix.moves[0].new == ("1.2.6",), "the smallest that is safe"
    assert fix.forced == ()
    changed = lines(real, start, fix)
    assert len(changed) == 6, changed
    assert f"version: {RELEASES[release]}\n" in (real.folder / "yarn.lock").read_text()
    assert "polluted: undefined" in await exploited_by(real, release)

    refused = await climb_from(real, alerts("semver", "< 7.5.2", file="yarn.lock"))
    assert refused.cause == "no_rung", "what is patched is people's to move"


async def test_what_asks_for_another_line_is_left_to_people(real):
    lay(real, "4.12.0", "other-line", {"mkdirp": "0.5.1"})

    few = TERMS.model_copy(update={"tries": 2})  # each is a resolution, which takes a second
    refused = await climb_from(real, alerts("minimist", "< 0.2.4", file="yarn.lock"), few)

    assert not isinstance(refused, Fix)
    assert refused.cause == "no_rung"
    assert "minimist@npm:0.0.8" in (real.folder / "yarn.lock").read_text()


MIXED = {"mkdirp": "0.5.1", "minimist": "^1.2.6"}


@pytest.mark.parametrize(("release", "asked"), [("3.8.7", "0.0.8"), ("4.12.0", "npm:0.0.8")])
async def test_an_override_is_for_the_range_alone_and_goes_without_a_trace(real, release, asked):
    lay(real, release, f"mixed-{release}", MIXED)
    about = alerts("minimist", "< 0.2.4", file="yarn.lock")
    start = await real.snapshot()

    fix = await override_from(real, about)

    assert (fix.level, fix.files) == (Level.OVERRIDE, ("package.json", "yarn.lock"))
    manifest = json.loads((real.folder / "package.json").read_text())
    assert manifest["resolutions"] == {f"minimist@{asked}": "^0.2.4"}
    assert manifest["//overrides"] == {f"minimist@{asked}": fix.overruled.reason}
    assert fix.moves[0].ends == (["0.0.8"], ["0.2.4"]), "the safe copy stays"
    assert fix.forced == ()
    yarn = ecosystem_of(real.paths, about)
    copies = (await yarn.read(real)).copies("minimist")
    assert {c.version: c.parents for c in copies if c.version == "0.2.4"} == {"0.2.4": ("mkdirp",)}

    await yarn.without_override(real, fix.targets, fix.overruled.reason)
    await yarn.relock(real, {})
    assert await real.list_changed_paths(start, await real.snapshot()) == []


async def test_contents_that_the_index_does_not_have_are_not_replaced(real):
    lay_vulnerable(real, "4.12.0")
    file = real.folder / "yarn.lock"
    text = file.read_text()
    found = re.search(r'minimist@npm:1\.2\.5"\n  checksum: 10c0/([0-9a-f]{128})', text)
    file.write_text(text.replace(found[1], "0" * 128))

    refused = await climb_from(real, alerts("minimist", *OLD, file="yarn.lock"))

    assert not isinstance(refused, Fix)
    assert file.read_text() == text.replace(found[1], "0" * 128)


LOCK = """\
__metadata:
  version: 8
  cacheKey: 10c0

"left@npm:^1.0.0":
  version: 1.0.0
  resolution: "left@{place}"
  languageName: node
  linkType: hard

"shop@workspace:.":
  version: 0.0.0-use.local
  resolution: "shop@workspace:."
  dependencies:
    left: "npm:^1.0.0"
  languageName: unknown
  linkType: soft
"""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"yarn.lock": LOCK.replace("version: 8", "version: 99")}, "format"),
        ({"yarn.lock": LOCK.format(place="https://example.com/left.tgz")}, "elsewhere"),
        ({"yarn.lock": LOCK.format(place="patch:left@npm%3A1.0.0#./left.patch")}, "elsewhere"),
        ({"yarn.lock": LOCK.format(place="patch:left@npm%3A1.0.0#~/a&./b")}, "elsewhere"),
        ({"yarn.lock": LOCK.format(place="link:./left")}, "elsewhere"),
        (
            {"yarn.lock": LOCK.format(place="portal:../etc::locator=shop%40workspace%3A.")},
            "leads out of the repository",
        ),
        ({".yarnrc.yml": "plugins: [./evil.cjs]\n"}, "`plugins`"),
        ({".yarnrc.yml": "npmScopes: {acme: {npmRegistryServer: x}}\n"}, "`npmScopes`"),
        ({"yarn.lock": LOCK.replace('"shop@workspace:."', '"shop@workspace:../../etc"')}, "etc"),
    ],
)
async def test_what_it_does_not_know_it_leaves_alone_and_says_why(tree, change, why):
    files = {"package.json": "{}", "yarn.lock": LOCK.format(place="npm:1.0.0")} | change
    tree.lay(files)
    ecosystem = ecosystem_of(tree.paths, alerts("left", "< 2", file="yarn.lock"))
    assert isinstance(ecosystem, Yarn)
    with pytest.raises(Unfit, match=re.escape(why)):
        await ecosystem.read(tree)
    assert tree.ran == [], "nothing of it is run"


async def test_another_format_than_before_is_no_fix(tree):
    tree.lay({"package.json": "{}", "yarn.lock": LOCK.format(place="npm:1.0.0")})
    ecosystem = Yarn("")
    await ecosystem.read(tree)
    tree.lay({"yarn.lock": LOCK.format(place="npm:1.0.0").replace("version: 8", "version: 10")})
    with pytest.raises(Stuck, match="writes lock files of format 10"):
        await ecosystem.read(tree)


def test_only_a_plain_release_of_the_manifest_is_fetched():
    lock = {"__metadata": {"version": "8", "cacheKey": "10c0"}}
    named = {"packageManager": "yarn@4.1.0+sha224.abc"}
    assert locks.release_of(lock, named) == "4.1.0"
    for evil in ("yarn@4.1.0;id", "yarn@$(id)", "yarn@1.22.0", "npm@9.0.0", "yarn@4", 7):
        assert locks.release_of(lock, {"packageManager": evil}) == "4.12.0"
    assert locks.compression_of(lock) == "0"
    assert locks.compression_of({"__metadata": {"cacheKey": "8"}}) == ""
    assert locks.compression_of({"__metadata": {"cacheKey": "10c0; id"}}) == ""
