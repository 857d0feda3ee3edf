"""Settings of checks: what is loosened is found, by table; what is not about checks is left."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.analysis.weakening.settings import altered, is_settings
from tests.agents.analysis.weakening.conftest import Edit, said
from tests.gears import examples

PYPROJECT = """
[project]
name = "lib"
version = "1"
dependencies = ["attrs"]

[tool.ruff]
line-length = 100

[tool.ruff.lint]
select = ["E", "F"]
ignore = ["E501"]

[tool.mypy]
strict = true

[tool.pytest.ini_options]
addopts = "-q --cov-fail-under=90"
markers = ["slow"]

[tool.coverage.report]
fail_under = 90
"""
PACKAGE = """{
  "name": "lib", "version": "1.0.0",
  "scripts": {"build": "tsc", "test": "jest --ci", "lint": "eslint ."},
  "dependencies": {"left-pad": "1"},
  "jest": {"coverageThreshold": {"global": {"lines": 90}}}
}
"""
MAKE = "build:\n\tpython -m build\n\ntest: deps\n\tpytest -q\n\nlint:\n\truff check .\n"
CI = "on: push\njobs:\n  test:\n    steps:\n      - run: pytest\n      - run: ruff check .\n"
TOX = "[tox]\nenvlist = py311, py312\n\n[testenv]\ncommands = pytest\n"
CFG = "[metadata]\nname = lib\n\n[flake8]\nmax-line-length = 80\n"
POM = "<project>\n  <version>1</version>\n</project>\n"


def of(path, before, old, new, *kinds):
    assert old in before
    after = before.replace(old, new)
    return Edit(f"{path}: {new.strip()[:30]!r}", {path: before}, {path: after}, kinds=kinds)


LOOSENED = [
    of("pyproject.toml", PYPROJECT, '["E501"]', '["E501", "F401"]', "settings"),
    of("pyproject.toml", PYPROJECT, '["E", "F"]', '["E"]', "settings"),
    of("pyproject.toml", PYPROJECT, "strict = true", "strict = false", "settings"),
    of("pyproject.toml", PYPROJECT, "\n[tool.mypy]\nstrict = true\n", "", "settings"),
    of("pyproject.toml", PYPROJECT, "fail_under = 90", "fail_under = 80", "threshold"),
    of("pyproject.toml", PYPROJECT, "under=90", "under=50", "threshold"),
    of("pyproject.toml", PYPROJECT, "-q --cov", "-q -k 'not slow' --cov", "settings"),
    of("pyproject.toml", PYPROJECT, "[tool.mypy]", "[tool.mypy]\nignore_errors = true", "settings"),
    of("pyproject.toml", PYPROJECT, "[project]", "[project", "unreadable"),
    of("pyproject.toml", PYPROJECT, "fail_under = 90", "fail_under = 95", "settings?"),
    of("pyproject.toml", PYPROJECT, '["slow"]', '["slow", "network"]', "settings?"),
    of("pyproject.toml", PYPROJECT, '["E", "F"]', '["E", "F", "B"]', "settings?"),
    of("package.json", PACKAGE, "jest --ci", "jest --ci --passWithNoTests", "settings"),
    of("package.json", PACKAGE, "eslint .", "true", "settings"),
    of("package.json", PACKAGE, '"lines": 90', '"lines": 10', "threshold"),
    of("packages/a/package.json", PACKAGE, "jest --ci", "exit 0", "settings"),
    of("Makefile", MAKE, "pytest -q", "pytest -q || true", "settings"),
    of("Makefile", MAKE, "\truff check .", "\techo ok", "settings"),
    of("Makefile", MAKE, "test: deps", "test:", "settings"),
    of(".github/workflows/ci.yml", CI, "      - run: ruff check .\n", "", "settings"),
    of(".github/workflows/ci.yml", CI, "run: pytest", "run: pytest || true", "settings"),
    of(".gitlab-ci.yml", CI, "run: pytest", "run: echo", "settings"),
    of("tox.ini", TOX, "commands = pytest", "commands = true", "settings"),
    of("setup.cfg", CFG, "= 80", "= 200", "settings"),
    of("pom.xml", POM, "</project>", "  <skipTests>true</skipTests>\n</project>", "settings"),
    of("tsconfig.json", '{"a": {"strict": true}}\n', "true", "false", "settings"),
    of(
        "codecov.yml",
        "coverage:\n  status:\n    project:\n      target: 90%\n",
        "90%",
        "50%",
        "threshold",
    ),
    of("jest.config.js", "module.exports = {\n  bail: 1,\n};\n", "bail: 1", "bail: 0", "settings"),
    of("Cargo.toml", '[lints.rust]\nunsafe_code = "forbid"\n', "forbid", "allow", "settings"),
    Edit("no linter any more", {".flake8": "[flake8]\nmax = 1\n"}, {}, kinds=("settings",)),
    Edit("another linter file", {}, {"ruff.toml": "ignore = ['ALL']\n"}, kinds=("settings",)),
    Edit(
        "another program under the same name",
        {"Makefile": "PYTEST ?= pytest\n\ntest:\n\t$(PYTEST) -q\n"},
        {"Makefile": "PYTEST ?= true\n\ntest:\n\t$(PYTEST) -q\n"},
        kinds=("settings",),
    ),
    Edit(
        "what the target needs",
        {"Makefile": "test: unit\n\nunit:\n\tpytest\n"},
        {"Makefile": "test: unit\n\nunit:\n\ttrue\n"},
        kinds=("settings",),
    ),
    Edit(
        "a script that checks",
        {"scripts/test.sh": "set -e\npytest\n"},
        {"scripts/test.sh": "exit 0\n"},
        kinds=("settings",),
    ),
    Edit(
        "what Python runs first",
        {},
        {"sitecustomize.py": "import unittest\n"},
        kinds=("settings",),
    ),
    Edit(
        "what reviewers are not shown",
        {".gitattributes": "*.sh text\n"},
        {".gitattributes": "*.sh text\ntests/** linguist-generated\n"},
        kinds=("settings",),
    ),
    Edit("no hooks any more", {".pre-commit-config.yaml": "repos: []\n"}, {}, kinds=("settings",)),
]


@pytest.mark.parametrize("edit", LOOSENED, ids=lambda edit: edit.name)
def test_what_loosens_checks_is_found(edit):
    assert said(edit.findings()) == sorted(edit.kinds)


HONEST = [
    of("pyproject.toml", PYPROJECT, '["attrs"]', '["attrs", "rich"]'),
    of("pyproject.toml", PYPROJECT, 'version = "1"', 'version = "2"'),
    of("pyproject.toml", PYPROJECT, "[tool.mypy]", "# types\n[tool.mypy]"),
    of("pyproject.toml", PYPROJECT, '["E", "F"]', '[\n  "E",\n  "F",\n]'),
    of("pyproject.toml", PYPROJECT, "[tool.mypy]", "[tool.hatch]\nx = 1\n\n[tool.mypy]"),
    of("package.json", PACKAGE, '"left-pad": "1"', '"left-pad": "2"'),
    of("package.json", PACKAGE, '"build": "tsc"', '"build": "tsc -p ."'),
    of("Makefile", MAKE, "python -m build", "python -m build --wheel"),
    of("Makefile", MAKE, "build:", "clean:\n\trm -rf dist\n\nbuild:"),
    of("Makefile", "V = 1\n" + MAKE, "V = 1", "V = 2"),
    Edit("a new script", {}, {"scripts/test.sh": "set -e\npytest\n"}),
    of(".gitattributes", "*.sh text\n", "*.sh text", "*.sh text eol=lf"),
    of(".github/workflows/ci.yml", CI, "on: push", "# when\non:   push"),
    of(".github/CONTRIBUTING.md", "Hello\n", "Hello", "Welcome"),
    of(".github/ISSUE_TEMPLATE/bug.yml", "name: Bug\n", "Bug", "A bug"),
    of("setup.cfg", CFG, "name = lib", "name = library"),
    of("pom.xml", POM, "<version>1", "<version>2"),
    of("Cargo.toml", '[package]\nversion = "1"\n', '"1"', '"2"'),
    of("src/settings.py", "STRICT = True\n", "True", "False"),
    of("docs/ruff.toml.md", "strict\n", "strict", "loose"),
    of("config/app.yaml", "threshold: 9\n", "9", "3"),
]


@pytest.mark.parametrize("edit", HONEST, ids=lambda edit: edit.name)
def test_what_is_not_about_checks_gives_no_alarm(edit):
    assert edit.findings() == ()


def test_it_says_which_setting_and_where():
    edit = of("pyproject.toml", PYPROJECT, "fail_under = 90", "fail_under = 80")

    [finding] = edit.findings()

    line = PYPROJECT.splitlines().index("fail_under = 90") + 1
    assert finding.place == f"pyproject.toml:{line}"
    assert finding.text == "tool.coverage.report.fail_under: 90 → 80"


def test_many_settings_are_counted_and_named():
    after = "".join(f"key{n} = {n}\n" for n in range(30))

    found = list(altered("ruff.toml", "line-length = 1\n", after))

    assert len(found) == 13
    assert found[-1].text.startswith("and 19 more: ")


def test_yaml_that_unfolds_without_end_is_not_followed():
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )

    [finding] = altered(".github/workflows/ci.yml", CI, CI + bomb)

    assert finding.kind == "unreadable"
    assert finding.grave


def test_yaml_makes_no_objects():
    text = "x: !!python/object/apply:os.system ['exit 1']\n"

    [finding] = altered("codecov.yml", "x: 1\n", text)

    assert finding.kind == "settings"


NAMES = st.sampled_from(
    (
        "pyproject.toml",
        "package.json",
        "tox.ini",
        "Makefile",
        "codecov.yml",
        "jest.config.js",
        "pom.xml",
    )
)


@settings(max_examples=examples(80))
@given(path=NAMES, before=st.none() | st.text(max_size=80), after=st.none() | st.text(max_size=80))
def test_whatever_stands_in_a_file_it_answers(path, before, after):
    assert is_settings(path)
    for finding in altered(path, before, after):
        assert finding.path == path
    assert list(altered(path, after, after)) == []
