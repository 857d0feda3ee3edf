"""Manifests that no longer fit their lock files after a change."""

import json

import pytest

from agents.analysis.lock_files import (
    LockPair,
    PairText,
    find_unlocked,
    list_lock_pairs,
    list_removed_locks,
)

NPM = {"dependencies": {"ms": "^2.0.0"}}
NPM_MORE = {"dependencies": {"ms": "^2.0.0", "left-pad": "^1.3.0"}}


def lock_npm(manifest, **members):
    return json.dumps({"packages": {"": manifest, "node_modules/ms": {}, **members}})


def find(manifest, lock, before, after, member=""):
    pair = LockPair(f"{member}/{manifest}" if member else manifest, lock)
    return find_unlocked(pair, PairText(*before) if before else None, PairText(*after))


def test_a_change_is_held_against_the_nearest_lock_above_it():
    paths = ["package-lock.json", "package.json", "web/package.json", "api/uv.lock", "api/x.py"]

    assert list_lock_pairs(["web/package.json"], paths) == [
        LockPair("web/package.json", "package-lock.json")
    ]
    assert list_lock_pairs(["api/uv.lock", "api/x.py", "README.md"], paths) == []
    assert list_lock_pairs(["package-lock.json", "package.json"], paths) == [
        LockPair("package.json", "package-lock.json")
    ]


def test_a_lock_that_goes_is_told_unless_another_tools_lock_holds_the_manifest():
    gone = ["web/yarn.lock", "api/uv.lock", "old/Cargo.lock", "README.md"]
    paths = ["web/package.json", "api/pyproject.toml", "api/x.py"]

    assert list_removed_locks(gone, paths) == [
        LockPair("api/pyproject.toml", "api/uv.lock"),
        LockPair("web/package.json", "web/yarn.lock"),
    ]
    assert list_removed_locks(gone[:1], [*paths, "package-lock.json"]) == []
    assert list_removed_locks(["api/uv.lock"], [*paths, "api/uv.lock"]) == []


def test_a_manifest_with_a_byte_order_mark_is_read_as_npm_reads_it():
    before, after = ({"dependencies": {"ms": each}} for each in ("2.0.0", "2.1.3"))
    old, new = (("\ufeff" + json.dumps(each), lock_npm(each)) for each in (before, after))

    assert find("package.json", "package-lock.json", old, new) == []
    assert find("package.json", "package-lock.json", old, (new[0], old[1])) == ["ms"]


def test_npms_lock_must_ask_for_what_the_manifest_asks_for():
    old = (json.dumps(NPM), lock_npm(NPM))
    more = json.dumps(NPM_MORE)

    assert find("package.json", "package-lock.json", old, (more, old[1])) == ["left-pad"]
    assert find("package.json", "package-lock.json", old, (old[0], lock_npm(NPM_MORE))) == [
        "left-pad"
    ]
    whole = lock_npm(NPM_MORE, **{"node_modules/left-pad": {}})
    assert find("package.json", "package-lock.json", old, (more, whole)) == []
    assert find("package.json", "package-lock.json", None, (more, old[1])) == ["left-pad"]


def test_what_disagreed_before_is_not_held_against_a_change():
    lock = lock_npm(NPM)
    before, after = json.dumps(NPM_MORE), json.dumps({**NPM_MORE, "version": "2"})

    assert find("package.json", "package-lock.json", (before, lock), (after, lock)) == []


def test_a_member_of_a_workspace_is_found_in_the_roots_lock():
    lock = lock_npm({"workspaces": ["web"]}, web=NPM)
    names = find(
        "package.json",
        "package-lock.json",
        (json.dumps(NPM), lock),
        (json.dumps(NPM_MORE), lock),
        member="web",
    )

    assert names == ["left-pad"]


PYPROJECT = '[project]\nname = "a"\ndependencies = ["attrs>=22"{}]\n'


@pytest.mark.parametrize(
    ("files", "old", "new", "locked", "names"),
    [
        (("pyproject.toml", "uv.lock"), PYPROJECT.format(""), PYPROJECT.format(', "numpy"'),
         'name = "attrs"', ["numpy"]),
        (("pyproject.toml", "poetry.lock"), "[tool.poetry.dependencies]\nattrs = '^22'\n",
         "[tool.poetry.dependencies]\nattrs = '^23'\n", 'name = "attrs"', ["attrs"]),
        (("Pipfile", "Pipfile.lock"), "[packages]\na = '*'\n", "[packages]\na = '*'\nb = '*'\n",
         '{"default": {"a": {}}}', ["b"]),
        (("Cargo.toml", "Cargo.lock"), "[dependencies]\nitoa = '1'\n",
         "[dependencies]\nitoa = '1'\nserde-json = { version = '1', package = 'serde_json' }\n",
         'name = "itoa"', ["serde_json"]),
        (("go.mod", "go.sum"), "require example.com/a v1.0.0\n", "require example.com/a v1.1.0\n",
         "example.com/a v1.0.0 h1:x=\nexample.com/a v1.0.0/go.mod h1:y=\n", ["example.com/a"]),
        (("composer.json", "composer.lock"), '{"require": {"php": ">=7"}}',
         '{"require": {"php": ">=7", "psr/log": "^1"}}', "{}", ["psr/log"]),
        (("Gemfile", "Gemfile.lock"), "gem 'rake'\n", "gem 'rake'\ngem 'rack', '~> 2'\n",
         "DEPENDENCIES\n  rake\n", ["rack"]),
        (("mix.exs", "mix.lock"), "[]", '[{:jason, "~> 1.2"}]', "%{}", ["jason"]),
        (("package.json", "pnpm-lock.yaml"), json.dumps(NPM), json.dumps(NPM_MORE),
         "specifier: ^2.0.0", ["left-pad"]),
        (("package.json", "yarn.lock"), json.dumps(NPM), json.dumps({"dependencies": {}}),
         "ms@^2.0.0:", ["ms"]),
    ],
)  # fmt: skip
def test_a_manifest_alone_is_noticed_in_each_ecosystem(files, old, new, locked, names):
    assert find(*files, (old, locked), (new, locked)) == names


@pytest.mark.parametrize(
    ("files", "old", "new", "locked", "locked_anew"),
    [
        (("pyproject.toml", "uv.lock"), PYPROJECT.format(""), PYPROJECT.format(', "Num_Py>1"'),
         "x", "name = 'num-py'"),
        (("Cargo.toml", "Cargo.lock"), "[dependencies]\nitoa = '1'\n",
         "[dependencies]\nitoa = '1.0'\n", 'name = "itoa"', 'name = "itoa"'),
        (("go.mod", "go.sum"), "", "require example.com/a v1.1.0\n", "",
         "example.com/a v1.1.0 h1:x=\n"),
        (("package.json", "pnpm-lock.yaml"), "{}", '{"dependencies": {"own": "workspace:*"}}',
         "x", "x"),
        (("package.json", "yarn.lock"), "{}", '{"peerDependencies": {"ms": "*"}}', "x", "x"),
        (("composer.json", "composer.lock"), "{}", '{"require": {"ext-json": "*"}}', "x", "x"),
        (("package.json", "package-lock.json"), "{broken", "{broken still", "x", "x"),
    ],
)  # fmt: skip
def test_what_fits_is_not_told(files, old, new, locked, locked_anew):
    assert find(*files, (old, locked), (new, locked_anew)) == []
