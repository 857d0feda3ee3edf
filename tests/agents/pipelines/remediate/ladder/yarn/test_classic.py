"""Yarn 1 with this machine's index; the exploit works before the ladder, and not after it."""

import json

import pytest

from agents.pipelines.remediate.ladder import Fix, Level, Refusal, Unfit, ecosystem_of
from agents.pipelines.remediate.ladder.npm.registry import Registry
from agents.pipelines.remediate.ladder.npm.tools import NpmTool
from agents.pipelines.remediate.ladder.npm.tools import call as npm_call
from agents.pipelines.remediate.ladder.yarn import classic_lock as locks
from agents.pipelines.remediate.ladder.yarn.classic import ClassicYarn
from tests.agents.pipelines.remediate.ladder.conftest import PUBLIC_OF_YARN, TERMS
from tests.agents.pipelines.remediate.ladder.npm.test_npm_real import (
    POLLUTE,
    alerts,
    climb_from,
    has_npm,
    lines,
    override_from,
    real,
)
from tests.agents.pipelines.remediate.ladder.yarn.test_yarn import LOCKS

__all__ = ["has_npm", "real"]  # fixtures
OLD = ("< 0.2.4", ">= 1.0.0, < 1.2.6")
ELSEWHERE = f"https://{PUBLIC_OF_YARN}/"
FLAGS = "--ignore-scripts --non-interactive --silent --no-bin-links"


async def run_yarn(tree, body):
    find = "server=${npm_config_registry:-$(npm config get registry)}"
    script = f"{find}; {body.replace('INDEX', '${server%/}/')}"
    return await npm_call(tree, script, seconds=120, tool=NpmTool("yarn", "1.22.22"))


def lay(tree, locked, asked, **more):
    """Lay a project as people elsewhere have it, with what Yarn 1 once locked."""
    manifest = {"name": "shop", "version": "1.0.0", "private": True, **more}
    text = (LOCKS / f"classic-{locked}.lock").read_text().replace("INDEX", ELSEWHERE)
    manifest = json.dumps({**manifest, "dependencies": asked}, indent=2) + "\n"
    tree.lay({"package.json": manifest, "yarn.lock": text})


async def exploited_by(tree):
    """Return what the exploit does with what a frozen install puts there."""
    install = f'yarn install {FLAGS} --frozen-lockfile --registry "$server"'
    copied = (
        f'cp "$tree"/yarn.lock "$tree"/package.json . && sed -i "s#{ELSEWHERE}#INDEX#" yarn.lock'
    )
    return await run_yarn(tree, f'{copied} && {install} >&2 && node -e "{POLLUTE}"')


async def test_a_transitive_one_moves_in_the_lock_alone(real):
    lay(real, "vulnerable", {"mkdirp": "0.5.5"})
    assert "polluted: yes" in await exploited_by(real)
    start = await real.snapshot()

    fix = await climb_from(real, alerts("minimist", *OLD, file="yarn.lock"))

    assert isinstance(fix, Fix), "\n".join(each.why for each in fix.steps)
    assert (fix.level, fix.files, fix.tool) == (Level.FLOAT, ("yarn.lock",), "Yarn")
    assert fix.moves[0].new == ("1.2.6",), "the smallest that is safe"
    changed = lines(real, start, fix)
    assert len(changed) == 6, changed
    assert (
        f'resolved "{ELSEWHERE}minimist/-/minimist-1.2.6.tgz#'
        in (real.folder / "yarn.lock").read_text()
    ), "as its neighbours are written"
    assert "polluted: undefined" in await exploited_by(real)


async def test_a_pin_of_the_repository_and_of_a_member_moves(real):
    member = {"name": "part", "version": "1.0.0", "dependencies": {"semver": "7.5.1"}}
    real.lay({"parts/one/package.json": json.dumps(member, indent=2) + "\n"})
    lay(real, "member", {"semver": "7.5.1"}, workspaces=["parts/*"])

    fix = await climb_from(real, alerts("semver", ">= 7.0.0, < 7.5.2", file="yarn.lock"))

    assert isinstance(fix, Fix), "\n".join(each.why for each in fix.steps)
    assert fix.level == Level.BUMP
    assert fix.files == ("package.json", "parts/one/package.json", "yarn.lock")
    assert fix.moves[0].new == ("7.5.2",)


async def test_what_people_overrule_with_moves_where_it_is_vulnerable(real):
    lay(real, "overruled", {"mkdirp": "0.5.5"}, resolutions={"minimist": "1.2.5"})

    fix = await climb_from(real, alerts("minimist", *OLD, file="yarn.lock"))

    assert isinstance(fix, Fix), "\n".join(each.why for each in fix.steps)
    assert (fix.level, fix.files) == (Level.BUMP, ("package.json", "yarn.lock"))
    assert '"minimist": "1.2.6"' in (real.folder / "package.json").read_text()
    assert fix.moves[0].new == ("1.2.6",)


async def test_what_asks_for_another_line_is_left_to_people(real):
    lay(real, "other-line", {"mkdirp": "0.5.1"})
    before = (real.folder / "yarn.lock").read_text()

    few = TERMS.model_copy(update={"tries": 2})  # each is a resolution, which takes a second
    refused = await climb_from(real, alerts("minimist", "< 0.2.4", file="yarn.lock"), few)

    assert isinstance(refused, Refusal)
    assert refused.cause == "no_rung"
    assert (real.folder / "yarn.lock").read_text() == before


MIXED = {"mkdirp": "0.5.1", "optimist": "0.6.1", "minimist": "^1.2.6"}


async def test_an_override_is_for_those_who_ask_alone_and_goes_without_a_trace(real):
    member = {"name": "part", "version": "1.0.0", "dependencies": {"minimist": "0.0.8"}}
    real.lay({"parts/one/package.json": json.dumps(member, indent=2) + "\n"})
    lay(real, "mixed", MIXED, workspaces=["parts/*"])
    about = alerts("minimist", "< 0.2.4", file="yarn.lock")
    start = await real.snapshot()

    fix = await override_from(real, about)

    entries = [f"**/{parent}/minimist" for parent in ("mkdirp", "optimist", "part")]
    assert (fix.level, fix.files) == (Level.OVERRIDE, ("package.json", "yarn.lock"))
    manifest = json.loads((real.folder / "package.json").read_text())
    assert manifest["resolutions"] == dict.fromkeys(entries, "^0.2.4")
    assert manifest["//overrides"] == dict.fromkeys(entries, fix.overruled.reason)
    assert fix.moves[0].ends == (["0.0.8", "0.0.10"], ["0.2.4"]), "the safe copy stays"
    assert fix.forced == ()
    yarn = ecosystem_of(real.paths, about)
    copies = {c.version: c.parents for c in (await yarn.read(real)).copies("minimist")}
    assert set(copies["0.2.4"]) == {"mkdirp", "optimist"}

    await yarn.without_override(real, fix.targets, fix.overruled.reason)
    await yarn.relock(real, {})
    assert await real.list_changed_paths(start, await real.snapshot()) == []


LOCK = """\
# THIS IS AN AUTOGENERATED FILE. DO NOT EDIT THIS FILE DIRECTLY.
# yarn lockfile v1


"@acme/left@^1.0.0", "@acme/left@^1.1.0":
  version "1.1.0"
  resolved "https://index.example/@acme/left/-/left-1.1.0.tgz#aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  dependencies:
    "@acme/right" "^1.0.0"
    fsevents "*"

"@acme/right@^1.0.0", "right@npm:@acme/right@^1.0.0":
  version "1.0.0"
  resolved "https://index.example/@acme/right/-/right-1.0.0.tgz#bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
  integrity sha512-abc==

fsevents@*:
  version "2.0.0"
  resolved "https://index.example/fsevents/-/fsevents-2.0.0.tgz#cccccccccccccccccccccccccccccccccccccccc"
  optionalDependencies:
    nan "^2.12.1"
"""


def test_each_part_of_a_lock_file_is_read_and_written_as_it_was():
    blocks = locks.read_blocks(LOCK, "yarn.lock")
    entries = locks.entries_of(blocks, "yarn.lock")
    assert [(e.name, e.version) for e in entries] == [
        ("@acme/left", "1.1.0"),
        ("@acme/right", "1.0.0"),
        ("fsevents", "2.0.0"),
    ]
    assert entries[0].needs == (entries[1].key, entries[2].key)
    assert entries[0].hashes == ("sha1-qqqqqqqqqqqqqqqqqqqqqqqqqqo=",)
    assert entries[1].hashes == ("sha512-abc==",)
    near = locks.write_near(blocks)
    assert near.count(locks.NEAR) == 3
    assert locks.restore_addresses(near, blocks, "yarn.lock") == LOCK


def test_only_requirements_that_admit_a_release_lead_to_it():
    blocks = locks.read_blocks(LOCK, "yarn.lock")
    release = {"version": "1.0.5", "resolved": "x", "integrity": "y", "dependencies": {"z": "1"}}
    moved = locks.move(
        blocks, {blocks[0].key: ("@acme/left", "1.0.5")}, {("@acme/left", "1.0.5"): {"": release}}
    )
    assert [(b.patterns, b.version) for b in moved[:2]] == [
        (["@acme/left@^1.0.0"], "1.0.5"),
        (["@acme/left@^1.1.0"], "1.1.0"),
    ]
    assert moved[0].needs == {"dependencies": {"z": "1"}}


def test_requirements_that_lead_to_one_release_stand_before_it_together():
    blocks = locks.read_blocks(LOCK, "yarn.lock")
    more = locks.Block(["@acme/right@1"], "1.0.0", "x", "sha512-abc==")
    merged = locks.merge([*blocks, more])
    assert len(merged) == 3
    assert '"@acme/right@1", "@acme/right@^1.0.0", "right@npm:' in locks.write_near(merged)


@pytest.mark.parametrize(
    "text",
    ["left:\n  version 1\n", "left@^1.0.0\n", '"x;id@1":\n  version "1.0.0"\n',
     'x@1:\n  version "1.0.0; id"\n', 'x@1:\n  version "$(id)"\n'],
)  # fmt: skip
def test_what_is_no_package_or_version_is_never_put_on_a_command_line(text):
    with pytest.raises(Unfit):
        locks.entries_of(locks.read_blocks(text, "yarn.lock"), "yarn.lock")


async def test_members_are_the_folders_that_the_root_names_and_no_deeper_ones(tree):
    root = {"private": True, "workspaces": ["packages/*", "!packages/old"]}
    deeper = "packages/a/test/fixtures/p"
    folders = ("packages/a", "packages/old", deeper)
    manifests = [f"{folder}/package.json" for folder in folders]
    tree.lay(dict.fromkeys(manifests, "{}"))
    tree.lay({"package.json": json.dumps(root), "yarn.lock": "# yarn lockfile v1\n"})
    yarn = ClassicYarn("", manifests, Registry(), seconds=5)

    await yarn.read(tree)

    assert yarn.members == ("package.json", "packages/a/package.json")
