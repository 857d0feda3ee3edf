"""Which checks a repository's files suggest."""

import pytest

from agents.analysis.languages import list_suggestions
from agents.analysis.repository_files import RepositoryFiles


def detect_commands(paths, texts=None):
    return [c.check.run for c in list_suggestions(RepositoryFiles(frozenset(paths), texts or {}))]


def test_python_tests_run_with_pytest_first_and_unittest_last():
    assert detect_commands(["tests/test_a.py"]) == [
        "python3 -m pytest -q",
        "python3 -m unittest -q",
    ]


def test_tox_and_nox_stand_between():
    assert detect_commands(["test_a.py", "tox.ini", "noxfile.py"]) == [
        "python3 -m pytest -q",
        "tox run -q",
        "nox",
        "python3 -m unittest -q",
    ]


@pytest.mark.parametrize(
    ("more", "first"),
    [
        ({}, "python3 manage.py test"),
        ({"pyproject.toml": "[tool.ruff]\n"}, "python3 manage.py test"),
        ({"pytest.ini": "[pytest]\nDJANGO_SETTINGS_MODULE = a.settings\n"}, "python3 -m pytest -q"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python3 -m pytest -q"),
        ({"requirements-dev.txt": "pytest-django>=4\n"}, "python3 -m pytest -q"),
        ({"conftest.py": ""}, "python3 -m pytest -q"),
    ],
)
def test_djangos_own_tests_come_first_where_nothing_says_that_pytest_runs_them(more, first):
    assert detect_commands(["manage.py", "shop/tests.py", *more], more)[0] == first


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("pyproject.toml", "[tool.ruff]\nline-length = 90", "ruff check ."),
        ("ruff.toml", "", "ruff check ."),
        ("setup.cfg", "[flake8]\nmax-line-length = 90", "python3 -m flake8"),
        ("setup.cfg", "[metadata]\nx = 1\n[mypy]\n", "python3 -m mypy ."),
        ("pyproject.toml", "[tool.mypy]\nstrict = true", "python3 -m mypy ."),
        ("pyproject.toml", '[tool.mypy]\nfiles = ["src"]', "python3 -m mypy"),
        ("mypy.ini", "[mypy]\npackages = a\n", "python3 -m mypy"),
        ("package.json", '{"scripts": {"test": "jest"}}', "npm run --silent test"),
        ("package.json", '{"scripts": {"lint": "eslint"}}', "npm run --silent lint"),
        (
            "package.json",
            '{"scripts": {"test": "tape", "pretest": "npm run lint", "posttest": "npx npm audit"}}',
            "npm run --silent --ignore-scripts test",
        ),
        (
            "package.json",
            '{"scripts": {"test": "tape", "pretest": "npm run lint && tsc -p ."}}',
            "npm run --silent test",
        ),
        (
            "package.json",
            '{"scripts": {"test": "tape", "pretest": "tsc -p .", "posttest": "npm audit -p"}}',
            "npm run --silent pretest && npm run --silent --ignore-scripts test",
        ),
        ("Makefile", "lint:\n\tx", "make lint"),
        ("Makefile", "all: x\ntest : x\n", "make test"),
        ("go.mod", "module x", "go test -vet=off ./..."),
        ("Cargo.toml", "[package]", "cargo test --offline --no-fail-fast"),
    ],
)
def test_settings_files_suggest_their_tools(path, text, expected):
    assert expected in detect_commands([path], {path: text})


@pytest.mark.parametrize(
    ("paths", "looked_at"),
    [
        (["src/shop_kit/a.py", "docs/conf.py"], "src"),
        (["shop_kit/a.py", "src/x.py"], "shop_kit"),
        (["other/a.py", "shop_kit.py"], "."),
    ],
)
def test_types_are_checked_in_the_projects_own_package(paths, looked_at):
    project = '[project]\nname = "Shop-Kit"\n[tool.mypy]\nstrict = true\n'
    found = detect_commands(["pyproject.toml", *paths], {"pyproject.toml": project})
    assert f"python3 -m mypy {looked_at}" in found


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", "[tool.ruff"),
        ("package.json", "{"),
        ("package.json", "[1]"),
        ("package.json", '{"scripts": ["test"]}'),
        ("package.json", '{"scripts": {"test": "echo todo"}}'),
        ("package.json", '{"scripts": {"test": "echo no tests yet && exit 0", "build": "true"}}'),
        ("pyproject.toml", 'tool = "odd"'),
        ("Makefile", "testing:\n\tx"),
        ("README.md", "run make test"),
    ],
)
def test_broken_or_unrelated_files_suggest_nothing(path, text):
    assert detect_commands([path], {path: text}) == []


@pytest.mark.parametrize(
    "script", ["echo a; jest", "true && tsc", "exit 1", "echo a > b", "node t"]
)
def test_a_script_that_does_more_than_to_say_something_is_a_check(script):
    text = f'{{"scripts": {{"test": "{script}"}}}}'
    assert detect_commands(["package.json"], {"package.json": text}) == ["npm run --silent test"]


def test_each_candidate_says_how_to_see_whether_it_can_run():
    paths = ["test_a.py", "tox.ini", "go.mod", "Cargo.toml"]

    assert all(c.available for c in list_suggestions(RepositoryFiles(frozenset(paths), {})))
