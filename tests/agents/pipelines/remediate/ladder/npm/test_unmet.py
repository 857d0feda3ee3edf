"""Workspaces: npm does not look below members, so what would not fit there is found here."""

import json

import pytest

from agents.pipelines.remediate.ladder import Fix, Level, Refusal, climb, ecosystem_of
from agents.pipelines.remediate.ladder.npm.tools import explain_refusal
from agents.pipelines.remediate.ladder.npm.unmet import (
    list_overruled,
    list_unmet,
    remove_for_another,
)
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group
from tests.agents.pipelines.remediate.ladder.npm.conftest import entry
from tests.agents.pipelines.remediate.ladder.npm.test_npm_index import packages


def lay_workspace(tree, member, locked, **root):
    """Lay a root with one member, which alone asks for what is locked."""
    root = {"name": "shop", "version": "1.0.0", "workspaces": ["packages/*"], **root}
    part = {"version": "1.0.0", "dependencies": member}
    places = {f"node_modules/{name}": each for name, each in locked.items()}
    link = {"node_modules/a": {"resolved": "packages/a", "link": True}}
    lock = {"name": "shop", "version": "1.0.0", "lockfileVersion": 3, "requires": True}
    lock["packages"] = {"": root, **link, **places, "packages/a": part}
    tree.lay(
        {
            "package.json": json.dumps(root, indent=2),
            "packages/a/package.json": json.dumps({"name": "a", **part}, indent=2),
            "package-lock.json": json.dumps(lock, indent=2),
        }
    )


async def climb_from(tree, package, *ranges, **terms):
    about = group(package, *ranges, manifests=["package-lock.json"])
    about = about.model_copy(update={"ecosystem": "npm"})
    return await climb(tree, ecosystem_of(tree.paths, about), about, TERMS.model_copy(update=terms))


async def test_what_the_fix_needs_moves_below_a_member_too(tree, index):
    locked = {name: entry(name, "1.0.0") for name in ("above", "pins", "evil")}
    lay_workspace(tree, {"above": "^1.0.0"}, locked)

    fix = await climb_from(tree, "above", "< 1.0.1")

    assert isinstance(fix, Fix), fix
    found = packages(tree)
    assert (fix.level, found["node_modules/above"]["version"]) == (Level.FLOAT, "1.0.1")
    assert found["node_modules/pins"]["version"] == "1.1.0", "which 1.0.1 asks for"
    assert found["node_modules/evil"]["version"] == "1.0.2", "which that asks for"


async def test_what_a_package_below_a_member_does_not_admit_is_no_fix(tree, index):
    lay_workspace(tree, {"old": "1.0.0"}, {n: entry(n, "1.0.0") for n in ("old", "evil")})
    before = await tree.snapshot()

    refused = await climb_from(tree, "evil", "< 2.0.0", majors=True)

    assert isinstance(refused, Refusal), "old asks for ^1.0.0 in each release"
    assert refused.steps[0].why == "evil 1.0.2 is still in a vulnerable range."
    assert await tree.snapshot() == before


OLD = {
    "": {"dependencies": {"b": "^1.0.0"}},
    "node_modules/b": {"version": "1.0.0", "dependencies": {"evil": "^1.0.0"}},
    "node_modules/evil": {"version": "1.0.0"},
}


def change(place, **more):
    return OLD | {place: OLD.get(place, {}) | more}


@pytest.mark.parametrize(
    ("new", "found"),
    [
        (OLD, []),
        (change("node_modules/evil", version="1.2.0"), []),
        (change("node_modules/evil", version="2.0.0"), ["evil"]),
        (change("node_modules/evil", version="2.0.0", name="other"), []),
        (change("node_modules/b", dependencies={"evil": "npm:other@^1.0.0"}), []),
        (change("node_modules/b", dependencies={"evil": "npm:evil@^1.1.0"}), ["evil"]),
        (change("node_modules/b", dependencies={"evil": "github:x/y"}), []),
        (change("node_modules/b", dependencies={"more": "1"}), ["more"]),
        (change("node_modules/b", peerDependencies={"more": "1", "evil": "2"}), ["evil"]),
        (change("node_modules/b", optionalDependencies={"more": "1"}), []),
        (change("node_modules/b/node_modules/evil", version="3.0.0"), ["evil"]),
    ],
)
def test_only_what_the_change_left_unmet_is_found(new, found):
    assert [each.name for each in list_unmet(OLD, new)] == found
    assert list(list_unmet(new, new)) == []
    assert list(list_unmet(OLD, new, overruled=["evil", "more"])) == []


def test_what_was_unmet_before_is_not_the_changes_fault():
    was = change("node_modules/evil", version="3.0.0")
    assert list(list_unmet(was, change("node_modules/evil", version="3.0.1"))) == []


@pytest.mark.parametrize(("asked", "left"), [("^1.0.0", False), ("^2.0.0", True)])
def test_a_copy_that_does_not_fit_goes_where_the_next_one_does(asked, left):
    below = "node_modules/b/node_modules/evil"
    found = change(below, version="3.0.0") | {f"{below}/node_modules/c": {"version": "1.0.0"}}
    found["node_modules/b"] = {"version": "1.0.1", "dependencies": {"evil": asked}}
    [unmet] = list_unmet(OLD, found)

    remove_for_another(found, unmet)

    assert (below in found, f"{below}/node_modules/c" in found) == (left, left)


def test_overrides_are_read_at_any_depth():
    overrides = {"a@^1": {"b": {".": "2", "c": "$c"}}, "d": "1"}
    assert {"a", "b", "c", "d"} <= list_overruled({"overrides": overrides})
    assert list_overruled({"overrides": "none"}) == set()


async def test_a_lock_file_that_npm_refuses_before_any_change_is_told_with_its_cure(tree, index):
    lay_workspace(tree, {"evil": "1.0.0"}, {"evil": entry("evil", "1.0.0")})
    asked = {"evil": "1.0.0", "old": "1.0.0"}  # which the lock file does not hold
    manifest = {"name": "a", "version": "1.0.0", "dependencies": asked}
    tree.lay({"packages/a/package.json": json.dumps(manifest)})

    refused = await climb_from(tree, "evil", "< 1.0.1")

    assert isinstance(refused, Refusal), refused
    assert refused.steps[1].why == (
        "npm refuses `package-lock.json` as it is, before any change (Missing: old@1.0.0 from lock"
        " file). Lock it anew with `npm install --package-lock-only`, then ask again."
    )


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "npm error Could not resolve dependency:\nnpm error peer a@^1 from b@2\n",
            "(peer a@^1 from",
        ),
        ("npm error network timeout", ""),
        ("npm error Could not resolve " + "peer a" * 200, "(peer a"),
    ],
)
def test_only_what_npm_says_of_the_files_is_made_a_reason(said, words):
    found = explain_refusal("package-lock.json", said)
    assert (words in found, bool(found)) == (True, bool(words))
    assert len(found) < 600
