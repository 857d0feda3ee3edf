"""Which packages a repository names itself, and takes from an index under that name."""

import json
import time

import pytest

from agents.analysis.known_packages import list_known_paths, read_known_packages

PROJECT = """
[project]
name = "api"
dependencies = ["Attrs>=23", "lib @ git+https://example.org/lib", "typing_extensions"]
[project.optional-dependencies]
test = ["respx[x]==1; python_version > '3'"]
[dependency-groups]
dev = ["ruff", {include-group = "test"}]
[tool.uv.sources]
ours = { workspace = true }
[tool.poetry.dependencies]
rich = "^13"
inner = { path = "../inner" }
private = { version = "1", source = "ours" }
"""


def know(**texts):
    return read_known_packages("c", {name.replace("__", "."): text for name, text in texts.items()})


def test_names_are_compared_as_the_index_compares_them():
    known = know(pyproject__toml=PROJECT)
    for name in ("attrs", "ATTRS", "typing-extensions", "respx", "ruff", "rich"):
        assert known.holds("pip", name), name
    for name in ("attr", "api", "lib", "inner", "private", "ours", "mocha"):
        assert not known.holds("pip", name), name


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("requirements-dev.txt", "mock>=5  # a note\n"),
        ("requirements/ci.txt", "mock==5 \\\n    --hash=sha256:00\n"),
        ("setup.cfg", "[options]\ninstall_requires =\n    mock\n"),
        ("setup.cfg", "[options.extras_require]\nx =\n    mock>=1\n"),
        ("tox.ini", "[testenv:py]\ndeps =\n    mock\n    -r x.txt\n"),
        ("Pipfile", '[dev-packages]\nmock = "*"\n'),
        ("Pipfile.lock", '{"develop": {"mock": {"version": "==5"}}}'),
        ("uv.lock", '[[package]]\nname = "mock"\nsource = { registry = "x" }\n'),
        ("poetry.lock", '[[package]]\nname = "mock"\n'),
        ("pdm.lock", '[[package]]\nname = "mock"\n'),
    ],
)
def test_manifests_and_locks_of_python(path, text):
    assert read_known_packages("c", {path: text}).holds("pip", "mock")
    assert list_known_paths([path, f"a/b/{path}"]) == [path, f"a/b/{path}"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("requirements.txt", "mock @ https://example.org/mock.whl"),
        ("requirements.txt", "--extra-index-url https://example.org\nmock\n"),
        ("requirements.txt", "mock and more"),
        ("tox.ini", "[testenv]\ncommands =\n    mock\n"),
        ("uv.lock", '[[package]]\nname = "mock"\nsource = { git = "x" }\n'),
        ("poetry.lock", '[[package]]\nname = "mock"\n[package.source]\ntype = "legacy"\n'),
        ("pyproject.toml", '[project]\nname = "mock"\n'),
        ("README.md", "pip install mock"),
        ("pyproject.toml", "[project"),
    ],
)
def test_what_comes_from_elsewhere_is_not_known(path, text):
    assert not read_known_packages("c", {path: text}).holds("pip", "mock")


def test_packages_of_npm():
    manifest = {
        "name": "web",
        "dependencies": {"left": "^1", "@scope/right": "1.0.0", "ours": "file:../ours"},
        "devDependencies": {"fork": "user/repo", "other": "npm:left@1"},
    }
    lock = {
        "packages": {
            "": {"name": "web"},
            "node_modules/deep": {"resolved": "https://registry.example/deep.tgz"},
            "node_modules/deep/node_modules/deeper": {},
            "node_modules/linked": {"link": True},
            "node_modules/far": {"resolved": "git+ssh://x"},
            "packages/member": {},
        }
    }
    known = know(package__json=json.dumps(manifest), **{"package-lock__json": json.dumps(lock)})
    assert all(known.holds("npm", name) for name in ("left", "@scope/right", "deep", "deeper"))
    for name in ("ours", "fork", "other", "linked", "far", "web", "member", "Left"):
        assert not known.holds("npm", name), name


@pytest.mark.parametrize(
    ("manifest", "safe"),
    [
        ({"dependencies": {"a": "1"}}, True),
        ({"dependencies": {"a": "file:./a"}}, False),
        ({"workspaces": ["packages/*"]}, False),
    ],
)
def test_a_manifest_that_leads_to_folders_is_not_installed_from(manifest, safe):
    known = know(package__json=json.dumps(manifest))
    assert known.folders == ({""} if safe else set())


def test_runners_are_known_where_their_language_is():
    assert know(pyproject__toml=PROJECT).holds("pip", "pytest")
    assert not know(pyproject__toml=PROJECT).holds("npm", "mocha")
    assert know(package__json='{"devDependencies": {"a": "1"}}').holds("npm", "mocha")
    assert not know().holds("pip", "pytest")
    fork = '{"devDependencies": {"mocha": "user/mocha"}}'
    assert not know(package__json=fork).holds("npm", "mocha")


def test_only_the_repositorys_own_manifests_are_read():
    others = ["node_modules/a/package.json", "vendor/x/uv.lock", "a/fixtures/package.json"]
    assert list_known_paths([*others, "a/b/c/d/package.json", ".x/package.json"]) == []
    assert len(list_known_paths([f"p{n}/package.json" for n in range(500)])) == 60


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("package.json", "[" * 100_000),
        ("package.json", '{"dependencies": ["a"], "devDependencies": {"a": 7}}'),
        ("requirements.txt", "a[" * 100_000),
        ("requirements.txt", "a \n" * 100_000),
        ("uv.lock", 'package = "x"'),
        ("uv.lock", "a." * 50_000),
        ("setup.cfg", "[options\n"),
    ],
)
def test_hostile_files_name_nothing_and_cost_no_time(path, text):
    began = time.thread_time()
    assert not read_known_packages("c", {path: text}).holds("pip", "left")
    assert time.thread_time() - began < 3
