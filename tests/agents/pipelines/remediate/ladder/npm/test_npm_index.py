"""npm itself on made-up packages, with an index on this machine's loopback."""

import json

import pytest

from agents.pipelines.remediate.ladder import Fix, Level, Refusal, Stuck, climb, ecosystem_of
from agents.pipelines.remediate.ladder.npm.adapter import Npm
from agents.pipelines.remediate.ladder.npm.tools import (
    NPM,
    NpmCommand,
    Staged,
    call,
    in_one_process,
    run_npm,
)
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group
from tests.agents.pipelines.remediate.ladder.npm.conftest import PUBLIC, entry, integrity


def give_own_home(tree):
    """What others fetched is not there: npm asks no index for files of which it has the hash."""
    tree.environment["HOME"] = str(tree.folder.parent)


def lay(tree, packages, root=None, **manifest):
    """Lay a project and its lock file, with a looks of its own."""
    root = {"name": "shop", "version": "1.0.0", **(root or {})}
    lock = {"name": "shop", "version": "1.0.0", "lockfileVersion": 3, "requires": True}
    lock["packages"] = {"": root, **{f"node_modules/{p}": e for p, e in packages.items()}}
    text = json.dumps({**root, **manifest}, indent=4)
    tree.lay({"package.json": text, "package-lock.json": json.dumps(lock, indent="\t") + "\n"})


async def climb_from(tree, *ranges, ecosystem=None, **terms):
    about = group("evil", *(ranges or ("< 1.0.1",)), manifests=["package-lock.json"])
    about = about.model_copy(update={"ecosystem": "npm"})
    terms = TERMS.model_copy(update=terms)
    return await climb(tree, ecosystem or ecosystem_of(tree.paths, about), about, terms)


def packages(tree):
    return json.loads((tree.folder / "package-lock.json").read_text())["packages"]


@pytest.mark.parametrize("at", [PUBLIC, ""])
async def test_only_what_moved_is_written_and_as_its_neighbours_are(tree, index, at):
    lay(tree, {"old": entry("old", "1.0.0", at), "evil": entry("evil", "1.0.0", at, dev=True)},
        {"devDependencies": {"old": "^1.0.0"}})  # fmt: skip
    start = await tree.snapshot()

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert fix.level is Level.FLOAT
    assert packages(tree)["node_modules/evil"] == entry("evil", "1.0.1", at, dev=True)
    changed = [x for x in tree.diff(start, fix.tree).splitlines() if x[:2] in ("+\t", "-\t")]
    assert len(changed) == (6 if at else 4), changed
    assert "127.0.0.1" not in tree.diff(start, fix.tree)
    assert ("name the host that their neighbours name" in str(fix.notes)) is bool(at)


async def test_each_copy_goes_to_its_own_release(tree, index):
    lay(tree, {"old": entry("old", "1.0.0"), "evil": entry("evil", "1.0.0"),
        "new": entry("new", "1.0.0"), "new/node_modules/evil": entry("evil", "2.0.0")},
        {"dependencies": {"old": "1.0.0", "new": "1.0.0"}})  # fmt: skip

    fix = await climb_from(tree, "< 1.0.1", ">= 2.0.0, < 2.1.0")

    assert isinstance(fix, Fix), fix
    assert [(t.old, t.new) for t in fix.targets] == [("1.0.0", "1.0.1"), ("2.0.0", "2.1.0")]
    assert packages(tree)["node_modules/evil"]["version"] == "1.0.1"
    assert packages(tree)["node_modules/new/node_modules/evil"]["version"] == "2.1.0"


async def test_a_pin_moves_in_a_member_and_under_another_name(tree, index):
    member = {"name": "a", "version": "1.0.0", "dependencies": {"alias": "npm:evil@1.0.0"}}
    tree.lay({"packages/a/package.json": json.dumps(member) + "\n"})
    lay(tree, {"a": {"resolved": "packages/a", "link": True},
        "alias": {"name": "evil", **entry("evil", "1.0.0")}},
        {"workspaces": ["packages/*"]})  # fmt: skip
    lock = json.loads((tree.folder / "package-lock.json").read_text())
    lock["packages"]["packages/a"] = member
    tree.lay({"package-lock.json": json.dumps(lock)})

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files) == (Level.BUMP, ("package-lock.json", "packages/a/package.json"))
    text = (tree.folder / "packages/a/package.json").read_text()
    assert text == json.dumps(member).replace("evil@1.0.0", "evil@1.0.1") + "\n"
    assert packages(tree)["node_modules/alias"]["version"] == "1.0.1"


async def test_the_smallest_parent_that_admits_the_fix_and_what_holds_it_back(tree, index):
    lay(tree, {"above": entry("above", "1.0.0"), "pins": entry("pins", "1.0.0"),
        "evil": entry("evil", "1.0.0")}, {"dependencies": {"above": "^1.0.0"}})  # fmt: skip

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert fix.level is Level.PARENT
    moves = {move.name: (move.old, move.new) for move in fix.moves}
    assert moves["pins"] == (("1.0.0",), ("1.1.0",))
    assert moves["above"] == (("1.0.0",), ("1.0.1",))


async def test_an_override_is_scoped_and_carries_its_reason(tree, index):
    lay(tree, {"stuck": entry("stuck", "1.0.0"), "evil": entry("evil", "1.0.0")},
        {"dependencies": {"stuck": "^1.0.0"}}, files=["a", "b"])  # fmt: skip
    npm = Npm("package-lock.json")  # it remembers what the index said, as between two climbs
    refusal = await climb_from(tree, ecosystem=npm)
    assert (refusal.cause, "does not permit" in refusal.steps[-1].why) == ("no_rung", True)

    fix = await climb_from(tree, ecosystem=npm, overrides=True)

    assert isinstance(fix, Fix), fix
    assert fix.level is Level.OVERRIDE
    manifest = json.loads((tree.folder / "package.json").read_text())
    assert manifest["overrides"] == {"evil@>=1.0.0 <1.0.1": "^1.0.1"}
    assert "look at it again by 2027-02" in manifest["//overrides"]["evil@>=1.0.0 <1.0.1"]
    assert packages(tree)["node_modules/evil"]["version"] == "1.0.1"


async def test_another_package_of_that_name_is_not_taken(tree, index):
    mine = PUBLIC
    other = entry("evil", "1.0.0", mine) | {"integrity": integrity(b"our own package")}
    lay(tree, {"evil": other}, {"dependencies": {"evil": "^1.0.0"}})
    start = await tree.snapshot()

    refusal = await climb_from(tree)

    assert isinstance(refusal, Refusal), refusal
    assert "another package of that name" in refusal.steps[0].why
    assert await tree.snapshot() == start


async def test_nothing_that_the_repository_says_is_run_or_obeyed(tree, index):
    scripts = dict.fromkeys(("preinstall", "install", "prepare", "postinstall"), "touch ../pwned")
    lay(tree, {"old": entry("old", "1.0.0"), "evil": entry("evil", "1.0.0")},
        {"dependencies": {"old": "^1.0.0"}}, scripts=scripts, packageManager="npm@1.0.0",
        devEngines={"runtime": {"name": "node", "version": "1", "onFail": "error"}})  # fmt: skip
    tree.lay({
        "evil.js": "require('fs').writeFileSync('../pwned', '')",
        ".npmrc": "cafile=./x\nnode-options=--require ./evil.js\n"
        "script-shell=./evil.sh\nignore-scripts=false\nuserconfig=./x\nlegacy-peer-deps=true\n",
    })  # fmt: skip

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix.steps
    assert not list(tree.folder.parent.rglob("pwned"))
    assert "--legacy-peer-deps=true" in "".join(tree.ran)
    assert {path.partition("/")[0] for path in index.asked} <= {"evil", "old"}


async def test_no_other_index_is_asked_than_the_one_that_the_repository_names(tree, index):
    """An address that is none may hold a password: it is not repeated."""
    lay(tree, {"old": entry("old", "1.0.0"), "evil": entry("evil", "1.0.0")},
        {"dependencies": {"old": "^1.0.0"}})  # fmt: skip
    npm = Npm("package-lock.json")  # it remembers what npm is configured for
    for line in ("registry=https://mine.example/npm", ' registry = "https://mine.example/" '):
        tree.lay({".npmrc": f"{line}\n"})
        refusal = await climb_from(tree, ecosystem=npm)

        assert isinstance(refusal, Refusal), refusal
        assert (refusal.cause, refusal.steps) == ("other_index", ())
        assert "mine.example, and npm is not configured for that index" in refusal.reason

    tree.lay({".npmrc": "registry=bot:hunter22@mine.example/npm\n"})
    refusal = await climb_from(tree, ecosystem=npm)

    assert refusal.cause == "other_index"
    assert "hunter22" not in refusal.reason
    assert "an address that cannot be read" in refusal.reason
    assert {*index.asked} <= {"npm", "yarn"}  # the tools themselves, which say what they ask


async def test_an_index_that_npm_is_configured_for_may_be_named(tree, index):
    lay(tree, {"old": entry("old", "1.0.0"), "evil": entry("evil", "1.0.0")},
        {"dependencies": {"old": "^1.0.0"}})  # fmt: skip
    tree.lay({".npmrc": f"registry={index.address}\n@other:registry=https://mine.example/\n"})
    assert isinstance(await climb_from(tree), Fix)


async def test_a_hash_that_the_index_contradicts_is_no_fix(tree, index, monkeypatch):
    good = index.describe
    lay(tree, {"old": entry("old", "1.0.0"), "evil": entry("evil", "1.0.0")},
        {"dependencies": {"old": "^1.0.0"}})  # fmt: skip

    def forge_hash(name):
        about = good(name)
        if name == "evil":
            about["versions"]["1.0.1"]["dist"]["integrity"] = integrity(b"something else")
        return about

    give_own_home(tree)
    monkeypatch.setattr(index, "describe", forge_hash)
    refusal = await climb_from(tree)

    assert isinstance(refusal, Refusal), refusal
    assert "EINTEGRITY" in refusal.steps[0].why


async def test_what_is_out_of_step_is_said_so(tree, index):
    lay(tree, {"old": entry("old", "1.0.0"), "evil": entry("evil", "1.0.0")},
        {"dependencies": {"old": "^1.0.0"}},
        dependencies={"old": "^1.0.0", "new": "^1.0.0"})  # fmt: skip
    refusal = await climb_from(tree)
    assert isinstance(refusal, Refusal), refusal
    assert "before any change (Missing: new@1.0.0 from" in refusal.steps[0].why
    assert len(refusal.steps[0].why) < 900


def test_the_tool_needs_no_settings_of_the_repository():
    assert "npm_config_ignore_scripts=true" in NPM.script("x")
    assert "unset NODE_OPTIONS" in NPM.script("x")


async def run_commands(tree, *commands, **files):
    staged = Staged(files={path: text.encode() for path, text in files.items()})
    return await call(tree, in_one_process(*commands), seconds=120, staged=staged)


async def test_commands_in_one_process_know_nothing_of_each_others_options(tree, index):
    get = ("config", "get", "legacy-peer-deps")

    output = await run_commands(
        tree,
        NpmCommand((*get, "--legacy-peer-deps"), tell="t.trim()"),
        NpmCommand(get, tell="t.trim()"),
        NpmCommand(("config", "get", "node-options"), tell="t.trim()"),
        **{"package.json": "{}"},
    )

    assert output.splitlines() == ['FETTLE"true"', 'FETTLE"false"', 'FETTLE"null"']


async def test_of_commands_in_one_process_the_first_that_fails_ends_them_in_npms_words(tree, index):
    unlocked = {"package.json": json.dumps({"dependencies": {"evil": "1.0.0"}})}
    after = NpmCommand(("config", "get", "registry"), tell="'still here'")

    with pytest.raises(Stuck, match=r"(?s)npm said: .*package-lock\.json") as raised:
        await run_commands(tree, NpmCommand(("ci",)), after, **unlocked)
    assert "still here" not in str(raised.value)


@pytest.mark.parametrize("evil", ["process.exit(0)", "throw 1"])
async def test_nothing_of_the_project_is_loaded_beside_npm(tree, index, evil):
    trap = f"require('fs').writeFileSync('{tree.folder.parent}/pwned', ''); {evil}"
    files = {
        "package.json": json.dumps({"name": "npm", "version": "11.0.0", "main": "lib/npm.js"}),
        **dict.fromkeys(("lib/npm.js", "node_modules/npm/lib/npm.js", "index.js"), trap),
    }

    output = await run_commands(tree, NpmCommand(("config", "get", "registry"), tell="1"), **files)

    assert output == "FETTLE1\n"
    assert not (tree.folder.parent / "pwned").exists()


async def test_a_lock_file_that_npm_refuses_in_one_process_is_refused(tree, index):
    lay(tree, {"old": entry("old", "1.0.0"), "evil": entry("evil", "1.0.0")},
        {"dependencies": {"old": "^1.0.0"}})  # fmt: skip
    ecosystem = Npm("package-lock.json")
    before = await ecosystem.read(tree)
    give_own_home(tree)
    forged = {**entry("evil", "1.0.1"), "integrity": entry("evil", "1.0.2")["integrity"]}
    lay(tree, {"old": entry("old", "1.0.0"), "evil": forged},
        {"dependencies": {"old": "^1.0.0"}})  # fmt: skip
    after = await ecosystem.read(tree)

    with pytest.raises(Stuck, match="EINTEGRITY"):
        await ecosystem.verify_lock(tree, before, after)


@pytest.mark.parametrize("stays", [True, False])
async def test_a_lock_file_is_the_same_where_npm_stays_loaded_and_where_it_does_not(
    tree, index, stays
):
    lay(tree, {"old": entry("old", "1.0.0"), "evil": entry("evil", "1.0.0")},
        {"dependencies": {"old": "^1.0.0"}})  # fmt: skip
    tree.residents = {} if stays else None

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.evidence[-1]) == (
        Level.FLOAT,
        "Fetched, and held against the hashes in the lock file: evil 1.0.1.",
    )
    assert json.loads(await tree.read("package-lock.json"))["packages"]["node_modules/evil"] == (
        entry("evil", "1.0.1")
    )
    assert len(tree.residents or {}) == stays


async def test_npm_that_stays_says_why_a_command_failed_and_goes_on(tree, index):
    unlocked = Staged(files={"package.json": b'{"dependencies": {"evil": "1.0.0"}}'})
    tree.residents = {}

    with pytest.raises(Stuck, match=r"(?s)npm said: .*package-lock\.json"):
        await run_npm(tree, NpmCommand(("ci",)), seconds=120, staged=unlocked)
    asked = NpmCommand(("config", "get", "fund"), tell="t.trim()")
    answer = await run_npm(tree, asked, seconds=120)

    assert answer.output == 'FETTLE"false"\n'
    assert len(tree.residents) == 1


@pytest.mark.parametrize("said", [b"", b"no JSON", b'{"output": 7}', b"[" * 100_000])
async def test_what_is_no_answer_of_npm_is_asked_again_by_a_command(tree, index, said):
    async def converse(*_, **__):
        return said

    tree.converse = converse
    answer = await run_npm(tree, NpmCommand(("config", "get", "fund"), tell="1"), seconds=120)
    assert answer.output == "FETTLE1\n"


async def test_where_another_package_pins_it_npm_is_not_asked_to_move_it_alone(tree, index):
    lay(tree, {"pins": entry("pins", "1.0.0"), "evil": entry("evil", "1.0.0")},
        {"dependencies": {"pins": "^1.0.0"}})  # fmt: skip

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert fix.level is Level.PARENT
    assert fix.steps[0].why == "pins 1.0.0 asks for evil 1.0.0, which no newer release is."
    assert [(m.name, m.new) for m in fix.moves] == [("evil", ("1.0.1",)), ("pins", ("1.1.0",))]


async def test_a_pin_that_the_repository_overrules_already_is_npms_to_judge(tree, index):
    lay(tree, {"pins": entry("pins", "1.0.0"), "evil": entry("evil", "1.0.0")},
        {"dependencies": {"pins": "^1.0.0"}}, overrides={"evil": "^1.0.0"})  # fmt: skip

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert fix.level is Level.FLOAT


@pytest.mark.parametrize(
    ("there", "level", "after"),
    [
        ({"evil": "1.0.0"}, Level.BUMP, {"evil": "1.0.1"}),
        ({"evil@^1": "1.0.0"}, Level.BUMP, {"evil@^1": "1.0.1"}),
        ({"evil": "<=1.0.0"}, Level.WIDEN, {"evil": "<=1.0.1"}),
    ],
)
async def test_what_people_overrule_with_moves_where_it_is_vulnerable(
    tree, index, there, level, after
):
    lay(tree, {"old": entry("old", "1.0.0"), "evil": entry("evil", "1.0.0")},
        {"dependencies": {"old": "^1.0.0"}}, overrides=there)  # fmt: skip

    fix = await climb_from(tree)

    assert isinstance(fix, Fix), fix
    assert (fix.level, fix.files) == (level, ("package-lock.json", "package.json"))
    assert json.loads((tree.folder / "package.json").read_text())["overrides"] == after
    assert packages(tree)["node_modules/evil"]["version"] == "1.0.1"
