"""pnpm itself on made-up packages, with an index on this machine's loopback."""

import json

import pytest
import yaml

from agents.pipelines.remediate.ladder import Fix, Level, Stuck, Target, climb, ecosystem_of
from agents.pipelines.remediate.ladder.npm.tools import NpmTool, call
from agents.pipelines.remediate.ladder.pnpm.adapter import Pnpm
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group
from tests.agents.pipelines.remediate.ladder.npm.conftest import (
    RELEASES,
    index,
    integrity,
    npm_index,
    pack_release,
)
from tests.agents.pipelines.remediate.ladder.npm.test_npm_real import has_npm, index_environment

__all__ = ["has_npm", "index", "npm_index"]  # fixtures
PNPM = NpmTool("pnpm", "10")
OLD = {"evil": "1.0.0", "old": "1.0.0"}


def choose(locked, name, asked):
    """Return which locked version of a package this leads to: the one of that major version."""
    digit = asked.lstrip("^~")[:1]
    return next(each for each in locked[name] if each.startswith(digit))


def write_lock(asked, locked, catalogs, members, overrides):
    """Return a lock file as pnpm 10 writes it, of these versions of made-up packages."""

    def resolve(name, spec):
        spec = catalogs[spec[8:] or "default"][name] if spec.startswith("catalog:") else spec
        return choose(locked, name, spec)

    def say(asked):
        return {n: {"specifier": spec, "version": resolve(n, spec)} for n, spec in asked.items()}

    keys = [(name, version) for name in sorted(locked) for version in locked[name]]
    needs = {f"{n}@{v}": RELEASES[n][v] for n, v in keys}
    packed = {f"{n}@{v}": integrity(pack_release(n, v, RELEASES[n][v])) for n, v in keys}
    folders = {".": asked, **{name: each["dependencies"] for name, each in members.items()}}
    parts = {
        "lockfileVersion": "9.0",
        "settings": {"autoInstallPeers": True, "excludeLinksFromLockfile": False},
        "catalogs": {name: say(each) for name, each in catalogs.items()},
        "overrides": overrides,
        "importers": {folder: {"dependencies": say(each)} for folder, each in folders.items()},
        "packages": {key: {"resolution": {"integrity": each}} for key, each in packed.items()},
        "snapshots": {
            key: {"dependencies": {n: resolve(n, spec) for n, spec in each.items()}} if each else {}
            for key, each in needs.items()
        },
    }
    return yaml.safe_dump({name: each for name, each in parts.items() if each}, sort_keys=False)


@pytest.fixture
async def project(tree, has_npm, shared_home, index):
    """Lay a project and its lock file, with these versions of packages."""
    alone, tree.environment = tree.environment, await index_environment(shared_home)
    await call(tree, "true", seconds=60, tool=PNPM)  # which is not in the test's own index
    tree.environment = {**alone, "HOME": str(shared_home)}

    def lay(dependencies, locked, workspace=None, members=None, **more):
        settings = yaml.safe_load(workspace or "{}")
        asked = {"name": "shop", "dependencies": dependencies, **more}
        catalogs = {"default": settings.get("catalog"), **settings.get("catalogs", {})}
        catalogs = {name: each for name, each in catalogs.items() if each}
        over = settings.get("overrides") or more.get("pnpm", {}).get("overrides")
        locked = {name: each.split() for name, each in locked.items()}
        files = {f"{name}/package.json": json.dumps(each) for name, each in (members or {}).items()}
        files["package.json"] = json.dumps(asked, indent=2) + "\n"
        files["pnpm-lock.yaml"] = write_lock(dependencies, locked, catalogs, members or {}, over)
        tree.lay({**files, **({"pnpm-workspace.yaml": workspace} if workspace else {})})
        return tree

    return lay


async def climb_from(tree, *ranges, **terms):
    about = group("evil", *(ranges or ("< 1.0.1",)), manifests=["pnpm-lock.yaml"])
    about = about.model_copy(update={"ecosystem": "npm"})
    terms = TERMS.model_copy(update=terms)
    return await climb(tree, ecosystem_of(tree.paths, about), about, terms)


async def test_each_copy_goes_to_its_own_release(project):
    locked = {"evil": "1.0.0 2.0.0", "new": "1.0.0", "old": "1.0.0"}
    tree = project({"old": "1.0.0", "new": "1.0.0"}, locked)
    tree.lay({".npmrc": "cafile=./x\n", ".pnpmfile.cjs": "process.exit(9)\n"})

    fix = await climb_from(tree, "< 1.0.1", ">= 2.0.0, < 2.1.0")

    assert isinstance(fix, Fix), fix
    assert fix.level is Level.FLOAT
    assert [(t.old, t.new) for t in fix.targets] == [("1.0.0", "1.0.1"), ("2.0.0", "2.1.0")]
    assert fix.moves[0].new == ("1.0.1", "2.1.0")
    assert "127.0.0.1" not in (tree.folder / "pnpm-lock.yaml").read_text()


async def test_a_requirement_in_a_catalog_moves_in_place(project):
    workspace = "packages: []\ncatalog:\n  evil: '1.0.0'  # pinned on purpose\n"
    tree = project({"evil": "catalog:"}, {"evil": "1.0.0"}, workspace)

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files) == (Level.BUMP, ("pnpm-lock.yaml", "pnpm-workspace.yaml"))
    text = (tree.folder / "pnpm-workspace.yaml").read_text()
    assert text == workspace.replace("1.0.0", "1.0.1")


@pytest.mark.parametrize("elsewhere", [{}, {"pnpm": {"overrides": {"other": "1.0.0"}}}])
async def test_catalogs_that_admit_the_fix_stay_and_the_lock_file_moves(project, elsewhere):
    workspace = "packages: [part]\ncatalog:\n  evil: {0}\ncatalogs:\n  old:\n    evil: {0}\n"
    member = {"name": "part", "dependencies": {"evil": "catalog:old"}}
    workspace = workspace.format("^1.0.0")
    asked, locked = {"evil": "catalog:"}, {"evil": "1.0.0"}
    tree = project(asked, locked, workspace, {"part": member}, **elsewhere)

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files, fix.moves[0].new) == (
        Level.FLOAT, ("pnpm-lock.yaml",), ("1.0.1",),
    )  # fmt: skip


def list_resolved(tree):
    """Return the scripts that had pnpm resolve, each with whether it did so twice."""
    scripts = [script for script in tree.ran if "--no-frozen-lockfile" in script]
    return [script.count("install --no-frozen-lockfile") == 2 for script in scripts]


async def test_the_smallest_parent_that_admits_the_fix_and_what_holds_it_back(project):
    """Where a parent pins it, pnpm is not asked to move it alone."""
    tree = project({"above": "^1.0.0"}, dict.fromkeys(("above", "evil", "pins"), "1.0.0"))

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert fix.level is Level.PARENT
    assert fix.steps[0].why == "pins 1.0.0 asks for evil 1.0.0, which no newer release is."
    moves = {move.name: (move.old, move.new) for move in fix.moves}
    assert moves["evil"] == (("1.0.0",), ("1.0.2",))
    assert moves["pins"] == (("1.0.0",), ("1.1.0",))
    assert moves["above"] == (("1.0.0",), ("1.0.1",))
    assert list_resolved(tree) == [True, True], "first with pins, then with what is above it"


@pytest.mark.parametrize("workspace", ["packages: []\n", None])
async def test_an_override_is_scoped_and_carries_its_reason(project, workspace):
    tree = project({"stuck": "^1.0.0"}, {"evil": "1.0.0", "stuck": "1.0.0"}, workspace)

    fix = await climb_from(tree, overrides=True)

    assert isinstance(fix, Fix), fix
    assert fix.level is Level.OVERRIDE
    if workspace:
        text = (tree.folder / "pnpm-workspace.yaml").read_text()
        assert "look at it again by 2027-02" in text
        assert "  'evil@>=1.0.0 <1.0.1': ^1.0.1\n" in text
    else:
        manifest = json.loads((tree.folder / "package.json").read_text())
        assert manifest["pnpm"]["overrides"] == {"evil@>=1.0.0 <1.0.1": "^1.0.1"}
        assert "GHSA-aaaa" in manifest["//overrides"]["evil@>=1.0.0 <1.0.1"]


@pytest.mark.parametrize("workspace", ["packages: []\noverrides:\n  evil: 1.0.0\n", None])
async def test_what_people_overrule_with_moves_where_it_is_vulnerable(project, workspace):
    there = {} if workspace else {"pnpm": {"overrides": {"evil": "1.0.0"}}}
    tree = project({"old": "^1.0.0"}, OLD, workspace, **there)

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert fix.level is Level.BUMP
    assert fix.moves[0].new == ("1.0.1",)
    file = "pnpm-workspace.yaml" if workspace else "package.json"
    assert fix.files == tuple(sorted((file, "pnpm-lock.yaml")))


async def test_a_pin_that_the_repository_overrules_already_is_pnpms_to_judge(project):
    overruled = {"overrides": {"pins>evil": "^1.0.0", "evil@>=1.0.2": "1.0.1"}}
    tree = project({"pins": "1.0.0"}, {"evil": "1.0.0", "pins": "1.0.0"}, pnpm=overruled)

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert fix.level is Level.FLOAT


async def test_what_the_repository_alone_pins_is_resolved_once(project, tmp_path):
    """The store that locking does not need is made in memory."""
    tree = project({"evil": "1.0.0"}, {"evil": "1.0.0"})
    tree.environment["XDG_DATA_HOME"] = str(tmp_path / "on-a-disk")

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.moves[0].new) == (Level.BUMP, ("1.0.1",))
    assert fix.steps[0].why == "`package.json` pins evil to 1.0.0, which is vulnerable itself."
    assert list_resolved(tree) == [False]
    assert not (tmp_path / "on-a-disk").exists()


def list_checked(tree):
    """Return the scripts that had pnpm check the lock file after it was locked."""
    return [script for script in tree.ran if "--no-frozen" not in script and "--frozen" in script]


async def test_what_pnpm_accepted_while_it_locked_is_checked_again_where_it_changed(project):
    tree = project({"old": "^1.0.0"}, OLD)
    ecosystem = Pnpm("", workspace=False)
    before = await ecosystem.read(tree)
    ecosystem.aim([Target(name="evil", old="1.0.0", new="1.0.1")])
    await ecosystem.relock(tree, {"evil": "1.0.1"})
    after = await ecosystem.read(tree)
    assert [entry.version for entry in after.by_name["evil"]] == ["1.0.1"]

    accepted = await ecosystem.verify_lock(tree, before, after)
    assert accepted.commands == ("pnpm install --frozen-lockfile --lockfile-only",)
    assert list_checked(tree) == []

    tree.lay({"package.json": json.dumps({"name": "shop", "dependencies": {"new": "1.0.0"}})})
    with pytest.raises(Stuck, match="frozen-lockfile"):
        await ecosystem.verify_lock(tree, before, after)
    assert len(list_checked(tree)) == 1


async def test_what_others_ask_for_as_well_is_resolved_twice(project):
    tree = project({"evil": "1.0.0", "old": "1.0.0"}, OLD)

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.moves[0].new) == (Level.BUMP, ("1.0.1",))
    assert list_resolved(tree) == [True]


async def test_other_contents_are_told_while_pnpm_proves(project, index):
    tree = project({"old": "1.0.0"}, OLD)
    ecosystem = Pnpm("", workspace=False)
    before = await ecosystem.read(tree)
    text = (tree.folder / "pnpm-lock.yaml").read_text()
    [old] = [e.hashes[0] for e in before.by_name["evil"]]
    forged = text.replace("evil@1.0.0", "evil@1.0.1").replace("evil: 1.0.0", "evil: 1.0.1")
    tree.lay({"pnpm-lock.yaml": forged})
    after = await ecosystem.read(tree)
    assert after.by_name["evil"][0].hashes == (old,)

    with pytest.raises(Stuck, match="EINTEGRITY"):
        await ecosystem.verify_lock(tree, before, after)


async def test_a_kit_keeps_what_its_program_was_compiled_to_and_what_does_not_fit_is_not_taken(
    project,
):
    tree = project({}, {})
    say = "node_modules/.bin/pnpm --version"
    spoil = (
        'cp -R "$tool" kit && cd kit && kept=$(find . -name "*.compiled") && echo "$kept"'
        f' && export NODE_OPTIONS="--require $PWD/compiled.cjs" && {say}'
        f' && head -c 999999 "$kept" >cut && mv cut "$kept" && {say} && rm "$kept" && {say}'
    )

    kept, *said = (await call(tree, spoil, seconds=60, tool=PNPM)).split()

    assert kept == "./node_modules/pnpm/dist/pnpm.cjs.compiled"
    assert len(said) == 3
    assert len(set(said)) == 1
    assert said[0].startswith("10.")
