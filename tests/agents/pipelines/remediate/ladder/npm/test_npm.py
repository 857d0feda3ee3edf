"""npm's and pnpm's files: hostile ones are refused, and nothing is changed beside the point."""

import json

import pytest

from agents.pipelines.remediate.ladder import (
    Refusal,
    Stuck,
    Target,
    Unfit,
    climb,
    ecosystem_of,
)
from agents.pipelines.remediate.ladder.npm import specs
from agents.pipelines.remediate.ladder.npm.adapter import Npm
from agents.pipelines.remediate.ladder.npm.lock import entries_of as lock_entries_of
from agents.pipelines.remediate.ladder.npm.manifest import (
    add_overrides,
    list_requirements,
    require,
    with_members,
)
from agents.pipelines.remediate.ladder.npm.merge import dump_like, merge_values
from agents.pipelines.remediate.ladder.npm.places import Neighbours, source_of
from agents.pipelines.remediate.ladder.pnpm.adapter import Pnpm
from agents.pipelines.remediate.ladder.pnpm.settings import release, workspace
from agents.pipelines.remediate.ladder.pnpm.yaml_text import load_yaml, replace_scalar, with_entries
from agents.pipelines.remediate.ladder.yarn.adapter import Yarn
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group

MANIFEST = '{\n  "name": "shop",\n  "files": ["a", "b"],\n  "dependencies": {"evil": "^1.0.0"}\n}\n'


def npm(packages, version=3):
    """Return the text of a lock file."""
    return json.dumps({"lockfileVersion": version, "packages": {"": {"name": "shop"}, **packages}})


def pnpm(key="evil@1.0.0", head="lockfileVersion: '9.0'"):
    return (
        f"{head}\nimporters:\n  .: {{}}\npackages:\n  {key!r}: {{}}\nsnapshots:\n  {key!r}: {{}}\n"
    )


EVIL = {"node_modules/evil": {"version": "1.0.0", "integrity": "sha512-x"}}


async def refuse_climb(tree, files, file="package-lock.json", package="evil"):
    """Climb with a tool that says nothing; return the refusal, after looking that all stayed."""
    tree.lay({"package.json": MANIFEST, **files})
    tree.answers = tree.answers or (lambda tree, script: (1, "no"))
    about = group(package, "< 1.0.1", manifests=[file]).model_copy(update={"ecosystem": "npm"})
    before = await tree.snapshot()
    result = await climb(tree, ecosystem_of(tree.paths, about), about, TERMS)
    assert isinstance(result, Refusal), result
    assert await tree.snapshot() == before
    return result


@pytest.mark.parametrize(
    "package",
    ["--registry=x", "x; id", "$(id)", "../x", "@a/../b", "a b", "", "-", "x" * 215, "a/b"],
)
async def test_a_name_that_is_none_runs_nothing(tree, package):
    refusal = await refuse_climb(tree, {"package-lock.json": npm(EVIL)}, package=package)
    assert (refusal.cause, tree.ran) == ("unsafe", [])


@pytest.mark.parametrize(
    ("packages", "version", "cause"),
    [
        (EVIL, 1, "unsupported"), (EVIL, "3", "unsupported"), (EVIL, None, "unsupported"),
        ({"../../b": {"name": "b"}}, 3, "unsafe"), ({"/etc": {}}, 3, "unsafe"),
        ({"node_modules/$(id)": {"version": "1.0.0"}}, 3, "unsafe"),
        ({"node_modules/a": {"version": "1.0.0'; id"}}, 3, "unsafe"),
        ({"node_modules/a": {"version": {}}}, 3, "unsafe"), ({"node_modules/a": 3}, 3, "unsafe"),
        ({f"node_modules/a{n}": {} for n in range(20_001)}, 3, "unsafe"),
        ({f"m{n}": {} for n in range(501)}, 3, "unsafe"),
    ],
)  # fmt: skip
async def test_a_lock_file_of_npm_that_is_strange_is_refused(tree, packages, version, cause):
    refusal = await refuse_climb(tree, {"package-lock.json": npm(packages, version)})
    assert (refusal.cause, tree.ran) == (cause, [])


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[]", "{", "\x00", " " * 17_000_000, '{"a":' * 100_000],
    ids=["deep", "list", "cut", "binary", "large", "deeper"],
)  # fmt: skip
async def test_a_lock_file_that_is_a_bomb_is_refused(tree, text):
    refusal = await refuse_climb(tree, {"package-lock.json": text})
    assert (refusal.cause, tree.ran) == ("unsafe", [])


BOMB = "a: &a [x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(3))


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (BOMB, "unsafe"), ("a: &a {x: 1}\nb:\n  <<: [*a, *a]\n", "unsafe"),
        ("[" * 100_000, "unsafe"), ("{a: " * 100_000, "unsafe"), ("- a\n", "unsafe"),
        ("a: !!python/object:os.x {}", "unsupported"),
        ("---\na: 1\n---\nb: 1\n", "unsupported"),
        (pnpm(head="lockfileVersion: 5.4"), "unsupported"),
        (pnpm("evil@1.0.0").replace("\nimp", "\npnpmfileChecksum: x\nimp"), "unsupported"),
        (pnpm().replace("  .:", "  ../../x:"), "unsafe"), (pnpm("$(id)@1.0.0"), "unsafe"),
        (pnpm("a b@1.0.0"), "unsafe"),
    ],
)  # fmt: skip
async def test_a_lock_file_of_pnpm_that_is_strange_is_refused(tree, text, cause):
    refusal = await refuse_climb(tree, {"pnpm-lock.yaml": text}, "pnpm-lock.yaml")
    assert (refusal.cause, tree.ran) == (cause, [])


@pytest.mark.parametrize("link", ["package.json", "package-lock.json"])
async def test_a_linked_file_is_not_followed(tree, tmp_path, link):
    tree.lay({"package-lock.json": npm(EVIL), "package.json": MANIFEST})
    (tmp_path / "outside").write_text((tree.folder / link).read_text())
    (tree.folder / link).unlink()
    (tree.folder / link).symlink_to(tmp_path / "outside")
    with pytest.raises(Unfit, match=link):
        await Npm("package-lock.json").read(tree)


def test_programs_that_change_pnpm_are_not_run():
    with pytest.raises(Unfit, match="configDependencies"):
        workspace({"configDependencies": {"x": "1"}}, "pnpm-workspace.yaml")


@pytest.mark.parametrize(
    ("form", "manager", "taken"),
    [
        ("6", "pnpm@8.15.0+sha512.x", "8"), ("9", "pnpm@9.1.0", "9"), ("9", "pnpm@12.0.0", "12"),
        ("9", "pnpm@8.0.0", "10"), ("9", "pnpm@99.0.0", "10"), ("9", "pnpm@9;id", "10"),
        ("9", 3, "10"),
    ],
)  # fmt: skip
def test_the_release_of_pnpm_is_one_that_writes_the_format(form, manager, taken):
    assert release(form, {"packageManager": manager}) == taken


async def test_where_there_is_no_npm_the_refusal_says_so(tree):
    tree.answers = lambda tree, script: (97, "There is no npm.")
    refusal = await refuse_climb(tree, {"package-lock.json": npm(EVIL)})
    assert refusal.cause == "no_tool"
    assert "Node.js" in refusal.reason


@pytest.mark.parametrize(
    ("manifest", "found"),
    [
        ("web/package-lock.json", Npm), ("web/app/package.json", Npm), ("pnpm-lock.yaml", Pnpm),
        ("other/package.json", Pnpm), ("yarned/package.json", Yarn), ("web/yarn.lock", Yarn),
        ("web/bun.lock", None),
    ],
)  # fmt: skip
def test_the_nearest_lock_file_counts(manifest, found):
    paths = {"web/package-lock.json", "pnpm-lock.yaml", "yarned/yarn.lock", manifest}
    about = group("x", "< 1", manifests=[manifest], directory=manifest.rpartition("/")[0])
    result = ecosystem_of(frozenset(paths), about.model_copy(update={"ecosystem": "npm"}))
    assert (type(result) if result else None) is found


async def test_copies_and_their_paths_are_found(tree):
    packages = {
        "": {"dependencies": {"b": "1", "m": "1"}, "workspaces": ["m"]},
        "m": {"dependencies": {"evil": "2"}},
        "node_modules/m": {"resolved": "m", "link": True},
        "node_modules/b": {"version": "1.0.0", "dependencies": {"evil": "1"}},
        "node_modules/b/node_modules/evil": {"version": "1.0.0", "inBundle": True},
        "node_modules/evil": {"version": "2.0.0"},
        "node_modules/also": {"name": "evil", "version": "3.0.0", "dependencies": {"b": "1"}},
    }
    tree.lay({"package-lock.json": npm(packages), "package.json": "{}", "m/package.json": "{}"})
    locked = await Npm("package-lock.json").read(tree)
    copies = {copy.version: copy.paths for copy in locked.copies("evil")}
    assert copies["1.0.0"][0] == ("b", "evil")
    assert copies["2.0.0"] == (("evil",),)
    assert copies["3.0.0"] == ()  # nothing there asks for it
    assert locked.parents("b") == ("evil",)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("packages/a", "a"),
        ("packages/b c", "b-c"),
        ("packages/\u00e4", "-"),
        ("x" * 300, "x" * 200),
    ],
)
def test_a_member_without_a_name_is_called_as_its_folder(place, name):
    text = npm({"": {}, place: {"dependencies": {"evil": "1"}}, "node_modules/evil": {}})
    [found] = [e for e in lock_entries_of(json.loads(text)["packages"], "x") if e.key == place]
    assert (found.name, found.own, found.needs) == (name, True, ("node_modules/evil",))


async def test_a_copy_below_another_is_not_called_asked_for_by_the_repository(tree):
    packages = {
        "": {"dependencies": {"b": "1", "evil": "2"}},
        "node_modules/b": {"version": "1.0.0", "dependencies": {"evil": "1"}},
        "node_modules/b/node_modules/evil": {"version": "1.0.0"},
        "node_modules/evil": {"version": "2.0.0"},
    }
    manifest = '{"dependencies": {"b": "1", "evil": "2"}}'
    tree.lay({"package-lock.json": npm(packages), "package.json": manifest})
    copies = (await Npm("package-lock.json").read(tree)).copies("evil")
    assert {c.version: c.paths for c in copies} == {
        "1.0.0": (("b", "evil"),),
        "2.0.0": (("evil",),),
    }


@pytest.mark.parametrize(
    ("spec", "version", "bumped", "widened"),
    [
        ("1.0.0", "1.0.1", "1.0.1", "1.0.1"), ("=v1.0.0", "1.0.1", "=v1.0.1", "=v1.0.1"),
        ("~1.0.0", "1.1.0", None, "~1.1.0"), ("^1.0", "2.0.1", None, "^2.0.1"),
        ("<= 1.5", "2.0.0", None, "<= 2.0.0"), (">=1 <2", "2.1.0", None, ">=1 <2 || ^2.1.0"),
        ("1.x", "2.1.0", None, "1.x || ^2.1.0"),
    ],
)  # fmt: skip
def test_requirements_move_no_farther_than_need_be(spec, version, bumped, widened):
    assert not specs.admits(spec, version)
    assert specs.bump_pin(spec, version) == bumped
    assert specs.widen_range(spec, version) == widened
    assert specs.admits(widened, version)


@pytest.mark.parametrize("spec", ["latest", "workspace:*", "file:../x", "git+ssh://x/y", "x" * 999])
def test_what_is_no_range_is_left_alone(spec):
    assert not specs.is_range(spec)


async def test_a_requirement_changes_and_not_one_character_beside_it(tree):
    tree.lay({"package.json": MANIFEST.replace("^1.0.0", "npm:bad@~1.0.0")})
    with pytest.raises(Stuck, match="upper bound"):
        await require(tree, "package.json", "bad", lambda _: "1.1.0", widen=False)
    assert await require(tree, "package.json", "bad", lambda _: "1.1.0", widen=True)
    text = (tree.folder / "package.json").read_text()
    assert text == MANIFEST.replace("^1.0.0", "npm:bad@~1.1.0")


async def test_a_byte_order_mark_is_passed_over_and_stays(tree):
    tree.lay({"package.json": f"\ufeff{MANIFEST}"})
    assert await require(tree, "package.json", "evil", lambda _: "2.0.0", widen=True)
    await add_overrides(tree, "package.json", ("overrides",), {"other@<1": "1"}, "why")

    text = (tree.folder / "package.json").read_text()
    assert text.startswith("\ufeff{")
    assert json.loads(text[1:])["dependencies"] == {"evil": "^2.0.0"}
    assert dump_like({"a": 1}, '\ufeff{"a": 2}').decode() == '\ufeff{\n  "a": 1\n}'


async def test_an_override_of_people_is_not_overruled(tree):
    tree.lay({"package.json": '{"overrides": {"evil@<1": "1"}}'})
    with pytest.raises(Stuck, match="overrides evil already"):
        await add_overrides(tree, "package.json", ("overrides",), {"evil@>=1 <2": "2"}, "why")


def test_members_are_added_where_they_belong():
    text = with_members(MANIFEST, ("pnpm", "overrides"), {"a": "1"})
    assert (
        text
        == MANIFEST[:-3] + ',\n  "pnpm": {\n    "overrides": {\n      "a": "1"\n    }\n  }\n}\n'
    )
    assert json.loads(with_members("{}", ("a",), {"b": "c"})) == {"a": {"b": "c"}}


def test_what_a_tool_merely_rewrites_stays():
    old = {"z": {"v": 1, "dev": True}, "a": {"v": 1}, "gone": 1}
    base = {"a": {"v": 1, "l": "MIT"}, "gone": 1, "z": {"v": 1, "l": "MIT"}}
    new = {"a": {"v": 2, "l": "MIT"}, "n": {"v": 1}, "z": {"v": 1, "l": "MIT"}}
    result = merge_values(old, base, new)
    assert result == {"z": {"v": 1, "dev": True}, "a": {"v": 2}, "n": {"v": 1}}
    assert [*result] == ["z", "a", "n"]
    assert dump_like({"a": 1}, '{\r\n\t"a": 1\r\n}') == b'{\r\n\t"a": 1\r\n}'


def test_an_address_follows_its_neighbours_and_strange_ones_stay_to_be_seen():
    mine = Neighbours(
        [("@s/a", "1.0.0", "https://s.example/n/@s/a/-/a-1.0.0.tgz"), ("b", "1.0.0", "")]
    )
    here = "http://127.0.0.1/@s/n/-/n-2.0.0.tgz"
    assert mine.address("@s/n", "2.0.0", here) == "https://s.example/n/@s/n/-/n-2.0.0.tgz"
    assert mine.address("b", "2.0.0", "http://127.0.0.1/b/-/b-2.0.0.tgz") == ""
    assert mine.address("b", "2.0.0", "https://evil.example/b.tgz") == "https://evil.example/b.tgz"
    assert source_of("b", "1.0.0", "https://u:p@evil.example/b.tgz") == "https://evil.example/"
    assert source_of("b", "1.0.0", "git+ssh://git@h/x.git#abc") == "git+ssh://git@h/x.git"


def test_entries_are_added_to_yaml_with_their_reason():
    text = "packages:\n  - a\noverrides:\n    b: 1.0.0\n"
    added = with_entries(text, "overrides", {"evil@>=1.0.0 <1.0.1": "^1.0.1"}, "why:\n x")
    assert load_yaml(added, "f")["overrides"] == {"b": "1.0.0", "evil@>=1.0.0 <1.0.1": "^1.0.1"}
    assert "    # why: x\n" in added
    assert load_yaml(with_entries("", "overrides", {"a": "true"}, "x"), "f") == {
        "overrides": {"a": "true"}
    }


@pytest.mark.parametrize(
    ("old", "new", "spelled"),
    [
        ("1.6.0 # why", "1.8.2", "1.8.2 # why"), ("^1.6", "^1.8", "^1.8"),
        ("1.6.0", "1.8", "'1.8'"),
        ("'1.6.0'", "1.8.2", "'1.8.2'"), ('"1.6.0"', "1.8.2", '"1.8.2"'), ("1.6.0", "1e3", "'1e3'"),
        ("1.6.0", "2026-11-22", "'2026-11-22'"), ("1.6.0", "1_0.5", "'1_0.5'"),
    ],
)  # fmt: skip
def test_a_version_is_quoted_where_it_was_or_has_to_be(old, new, spelled):
    text = replace_scalar(f"catalog:\n  axios: {old}\n", ("catalog", "axios"), new)

    assert text == f"catalog:\n  axios: {spelled}\n"
    assert load_yaml(text, "f") == {"catalog": {"axios": new}}


async def test_only_what_an_override_held_is_chosen_anew(tree):
    """npm leaves a copy where it is although whoever needs it refuses it."""
    needs = {"version": "1.0.0", "dependencies": {"evil": "1.0.0", "other": "1"}}
    packages = {"node_modules/a": needs, "node_modules/other": {"version": "2.0.0"}}
    evil = {"node_modules/evil": {"version": "1.0.1"}}
    tree.lay({"package.json": MANIFEST, "package-lock.json": npm({**packages, **evil})})
    tree.answers = lambda tree, script: (0, "")
    ecosystem, target = Npm("package-lock.json"), Target(name="evil", old="1.0.0", new="1.0.1")
    await ecosystem.override(tree, [target], "why")
    locked = await ecosystem.read(tree)
    assert ecosystem._find_override_holds(locked) == frozenset()
    await ecosystem.without_override(tree, [target], "why")
    assert ecosystem._find_override_holds(locked) == {"evil"}


def test_what_people_overrule_with_is_asked_for_and_fettles_own_is_not():
    own, key = {"evil": "1.0.0", "@a/b>c@^1": "npm:c@1.0.0", "d": "$d"}, "bad@>=1.0.0 <1.0.1"
    manifest = {
        "dependencies": {"top": "^1.0.0"},
        "overrides": {**own, key: "^1.0.1", "e": {"f": "1.0.0"}},
        "//overrides": {key: "look at it again"},
    }

    found = list_requirements(manifest, "package.json", ("overrides",))

    assert [(each.name, each.spec, each.overrules) for each in found] == [
        ("top", "^1.0.0", False),
        ("evil", "1.0.0", True),
        ("c", "1.0.0", True),
    ]
    assert [each.name for each in list_requirements(manifest, "package.json")] == ["top"]
