"""Which folders that a change touches some check looks at, and which none does."""

import pytest

from agents.analysis.languages import NamedCommand, find_unchecked, go_to, list_touched
from agents.analysis.repository_files import RepositoryFiles

WEB = '{"scripts": {"dev": "vite", "start": "vite preview"}}'
TESTED = '{"scripts": {"test": "vitest run"}}'
PYTEST = ("tests", "python3 -m pytest -q")


def look(changed, checks, texts, *paths):
    files = RepositoryFiles(frozenset([*texts, *paths, *changed]), texts)
    named = [NamedCommand(*each) for each in checks]
    return find_unchecked(list_touched(changed, files), named, files)


BACKEND = ("tests in backend", f"{go_to('backend')}pytest")
BOTH = {"backend/pyproject.toml": "", "frontend/package.json": WEB}


def test_tests_of_one_project_say_nothing_of_another():
    assert look(["frontend/src/a.ts"], [BACKEND], BOTH) == ("frontend",)
    assert look(["frontend/src/a.ts", "backend/a.py"], [BACKEND], BOTH) == ("frontend",)
    assert look(["backend/app/a.py"], [BACKEND], BOTH) == ()
    lint = ("npm lint in frontend", f"{go_to('frontend')}npm run lint")
    assert look(["frontend/src/a.ts"], [BACKEND, lint], BOTH) == ()


@pytest.mark.parametrize(
    ("manifest", "name", "command"),
    [
        ("core.cabal", "haskell tests", "cabal test all"),
        ("Package.swift", "swift tests", f"{go_to('core')}swift test"),
        ("pubspec.yaml", "tests", "make test"),
        ("dune-project", "tests", "bazel test //..."),
    ],
)
def test_a_project_of_a_language_that_nothing_is_set_up_for_is_none_that_others_check(
    manifest, name, command
):
    files = {"pyproject.toml": "", f"core/{manifest}": ""}

    assert look(["core/src/Sums.x"], [PYTEST], files) == ("core",)
    assert look(["core/src/Sums.x"], [PYTEST, (name, command)], files) == ()


def test_what_a_package_needs_is_no_mere_setting():
    assert look(["frontend/package-lock.json"], [BACKEND], BOTH) == ("frontend",)
    assert look(["frontend/package.json"], [BACKEND], BOTH) == ("frontend",)


@pytest.mark.parametrize(
    "path",
    [
        "frontend/README.md",
        "frontend/docs/a.ts",
        "frontend/.env",
        "frontend/vite.config.ts",
        "a.sh",
    ],
)
def test_prose_settings_and_what_belongs_to_no_project_are_held_against_nobody(path):
    assert look([path], [BACKEND], BOTH) == ()


def test_a_deep_project_and_one_that_the_change_adds_are_seen():
    assert look(["a/b/c/d/e/x.js"], [PYTEST], {"setup.py": "", "a/b/c/d/e/package.json": WEB}) == (
        "a/b/c/d/e",
    )
    added = ["web/package.json", "web/a.js"]
    assert look(added, [PYTEST], {"pyproject.toml": "", "web/package.json": WEB}) == ("web",)


@pytest.mark.parametrize(
    ("script", "member", "found"),
    [
        ("jest", WEB, ()),
        ("npm test --workspaces --if-present", TESTED, ()),
        ("npm test --workspaces --if-present", WEB, ("packages/ui",)),
        ("mocha test", TESTED, ("packages/ui",)),
        ("turbo run test", TESTED, ()),
    ],
)
def test_a_script_of_a_workspaces_root_counts_for_members_that_it_reaches(script, member, found):
    root = f'{{"workspaces": ["packages/*"], "scripts": {{"test": "{script}"}}}}'
    texts = {"package.json": root, "packages/ui/package.json": member}
    check = ("npm tests", "npm run --silent test")
    assert look(["packages/ui/a.js"], [check], texts) == found


def test_checks_of_all_members_count_for_those_that_have_one():
    texts = {"package.json": '{"workspaces": ["packages/*"]}', "packages/ui/package.json": WEB}
    check = ("npm tests", "npm run --silent --if-present --workspaces test")
    assert look(["packages/ui/a.js"], [check], texts) == ("packages/ui",)
    texts["packages/ui/package.json"] = TESTED
    assert look(["packages/ui/a.js"], [check], texts) == ()


def test_a_check_from_above_counts_where_its_tool_looks_below():
    member = {"pyproject.toml": "", "libs/core/pyproject.toml": ""}
    assert look(["libs/core/a.py"], [PYTEST], member) == ()
    others = ("tests", "python3 -m pytest -q --ignore=libs/core")
    assert look(["libs/core/a.py"], [others], member) == ("libs/core",)
    part = ("tests", "pytest tests/unit")
    assert look(["libs/core/a.py"], [part], member, "tests/unit/test_a.py") == ("libs/core",)
    crates = {
        "Cargo.toml": '[workspace]\nmembers = ["a"]\n',
        "a/Cargo.toml": "",
        "b/Cargo.toml": "",
    }
    cargo = ("cargo tests", "cargo test --workspace")
    assert look(["a/src/lib.rs", "b/src/lib.rs"], [cargo], crates) == ("b",)
    assert look(["web/a.js"], [("tests", "make test")], {"web/package.json": WEB}) == ()


def test_members_of_members_and_packages_that_are_cut_out_are_checked_from_above():
    poms = {
        "pom.xml": "<module>a</module>",
        "a/pom.xml": "<module>b</module>",
        "a/b/pom.xml": "",
        "c/pom.xml": "",
    }
    assert look(["a/b/A.java", "c/C.java"], [("maven tests", "mvn verify")], poms) == ("c",)
    composer = {"composer.json": "{}", "src/Support/composer.json": "{}"}
    phpunit = ("php tests", "vendor/bin/phpunit")
    assert look(["src/Support/A.php"], [phpunit], composer) == ()
    own = ("src/Support/phpunit.xml.dist", "src/Support/tests/ATest.php")
    assert look(["src/Support/A.php"], [phpunit], composer, *own) == ("src/Support",)


@pytest.mark.parametrize(
    "folder", ["docs", "examples/app", "tests/fixtures/app", "vendor/x", "{{name}}"]
)
def test_documentation_examples_and_fixtures_count_as_the_project_around_them(folder):
    texts = {"pyproject.toml": "", f"{folder}/package.json": WEB}
    assert look([f"{folder}/a.js"], [PYTEST], texts) == ()


def test_an_example_that_brings_its_own_tests_is_a_project():
    texts = {"pyproject.toml": "", "examples/app/package.json": TESTED}
    assert look(["examples/app/a.js"], [PYTEST], texts) == ("examples/app",)


def test_requirements_beside_code_make_a_project_as_of_a_service():
    web = ("npm tests in frontend", f"{go_to('frontend')}npm test")
    service = {"frontend/package.json": TESTED, "backend/requirements.txt": "fastapi\n"}
    assert look(["backend/main.py"], [web], service) == ("backend",)
    assert look(["backend/main.py"], [PYTEST], service) == ()
    for aid in ("scripts", "tools", "tests", "docs"):
        helper = {"frontend/package.json": TESTED, f"{aid}/requirements.txt": "x\n"}
        assert look([f"{aid}/a.py"], [web], helper) == ()
