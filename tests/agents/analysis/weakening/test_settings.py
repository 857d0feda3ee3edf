"""Settings of checks: what is loosened is found, by table; what is not about checks is left."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.analysis.weakening.settings import find_loosened_settings, is_settings
from tests.agents.analysis.weakening.conftest import EditCase, kinds_of
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
MESON = "project('x', 'c')\na = executable('a', 'a.c')\ntest('a', a)\ntest('b', b)\n"
CMAKE = (
    "add_executable(t t.c)\nenable_testing()\nadd_test(NAME t COMMAND t)\ngtest_discover_tests(t)\n"
)
VITE = (
    "import x from 'x'\nexport default defineConfig({\n  plugins: [x()],\n  test: {\n"
    "    exclude: ['a/{b}/**'],\n    coverage: { thresholds: { lines: 90 } },\n  },\n"
    "  build: { minify: true },\n})\n"
)


def edit_of(path, before, old, new, *kinds):
    assert old in before
    after = before.replace(old, new)
    return EditCase(f"{path}: {new.strip()[:30]!r}", {path: before}, {path: after}, kinds=kinds)


LOOSENED = [
    edit_of("pyproject.toml", PYPROJECT, '["E501"]', '["E501", "F401"]', "settings"),
    edit_of("pyproject.toml", PYPROJECT, '["E", "F"]', '["E"]', "settings"),
    edit_of("pyproject.toml", PYPROJECT, "strict = true", "strict = false", "settings"),
    edit_of("pyproject.toml", PYPROJECT, "\n[tool.mypy]\nstrict = true\n", "", "settings"),
    edit_of("pyproject.toml", PYPROJECT, "fail_under = 90", "fail_under = 80", "threshold"),
    edit_of("pyproject.toml", PYPROJECT, "under=90", "under=50", "threshold"),
    edit_of("pyproject.toml", PYPROJECT, "-q --cov", "-q -k 'not slow' --cov", "settings"),
    edit_of(
        "pyproject.toml", PYPROJECT, "[tool.mypy]", "[tool.mypy]\nignore_errors = true", "settings"
    ),
    edit_of("pyproject.toml", PYPROJECT, "[project]", "[project", "unreadable"),
    edit_of("pyproject.toml", PYPROJECT, "fail_under = 90", "fail_under = 95", "settings?"),
    edit_of("pyproject.toml", PYPROJECT, '["slow"]', '["slow", "network"]', "settings?"),
    edit_of("pyproject.toml", PYPROJECT, '["E", "F"]', '["E", "F", "B"]', "settings?"),
    edit_of("package.json", PACKAGE, "jest --ci", "jest --ci --passWithNoTests", "settings"),
    edit_of("package.json", PACKAGE, "eslint .", "true", "settings"),
    edit_of("package.json", PACKAGE, '"build": "tsc"', '"build": "bundle"', "settings"),
    edit_of("package.json", PACKAGE, '"build": "tsc", ', "", "settings"),
    edit_of("package.json", PACKAGE, '"lines": 90', '"lines": 10', "threshold"),
    edit_of("packages/a/package.json", PACKAGE, "jest --ci", "exit 0", "settings"),
    edit_of("Makefile", MAKE, "pytest -q", "pytest -q || true", "settings"),
    edit_of("Makefile", MAKE, "\truff check .", "\techo ok", "settings"),
    edit_of("Makefile", MAKE, "test: deps", "test:", "settings"),
    edit_of(".github/workflows/ci.yml", CI, "      - run: ruff check .\n", "", "settings"),
    edit_of(".github/workflows/ci.yml", CI, "run: pytest", "run: pytest || true", "settings"),
    edit_of(".gitlab-ci.yml", CI, "run: pytest", "run: echo", "settings"),
    edit_of("tox.ini", TOX, "commands = pytest", "commands = true", "settings"),
    edit_of("setup.cfg", CFG, "= 80", "= 200", "settings"),
    edit_of("pom.xml", POM, "</project>", "  <skipTests>true</skipTests>\n</project>", "settings"),
    edit_of("CMakeLists.txt", CMAKE, "enable_testing()\n", "", "settings"),
    edit_of(
        "CMakeLists.txt",
        CMAKE,
        "gtest",
        "set_tests_properties(t PROPERTIES will_fail true)\ngtest",
        "settings",
    ),
    edit_of("meson.build", MESON, "('b', b)", "('b', b, should_fail: true)", *["settings"] * 2),
    edit_of("lib/meson.build", MESON, "test('b', b)\n", "", "settings"),
    edit_of("meson.build", MESON, "test('a'", "benchmark('a'", *["settings"] * 2),
    edit_of("lib/CMakeLists.txt", CMAKE, "add_test(NAME", "# add_test(NAME", "settings"),
    edit_of("CMakeLists.txt", CMAKE, "gtest_discover_tests(t)\n", "", "settings"),
    edit_of(
        "CMakeLists.txt",
        CMAKE,
        "add_test(",
        "set_tests_properties(t PROPERTIES DISABLED TRUE)\nadd_test(",
        "settings",
    ),
    edit_of("vite.config.ts", VITE, "'a/{b}/**'", "'a/{b}/**', 'src/**'", "settings"),
    edit_of("vite.config.mts", VITE, "lines: 90", "lines: 10", "settings"),
    edit_of("web/vite.config.js", VITE, "test: {", "test: { passWithNoTests: true,", "settings"),
    edit_of("vite.config.ts", VITE, "exclude", "retry: 3,\n    exclude", "settings"),
    edit_of("tsconfig.json", '{"a": {"strict": true}}\n', "true", "false", "settings"),
    edit_of(
        "codecov.yml",
        "coverage:\n  status:\n    project:\n      target: 90%\n",
        "90%",
        "50%",
        "threshold",
    ),
    edit_of(
        "jest.config.js", "module.exports = {\n  bail: 1,\n};\n", "bail: 1", "bail: 0", "settings"
    ),
    edit_of("Cargo.toml", '[lints.rust]\nunsafe_code = "forbid"\n', "forbid", "allow", "settings"),
    EditCase("no linter any more", {".flake8": "[flake8]\nmax = 1\n"}, {}, kinds=("settings",)),
    EditCase("another linter file", {}, {"ruff.toml": "ignore = ['ALL']\n"}, kinds=("settings",)),
    EditCase(
        "another program under the same name",
        {"Makefile": "PYTEST ?= pytest\n\ntest:\n\t$(PYTEST) -q\n"},
        {"Makefile": "PYTEST ?= true\n\ntest:\n\t$(PYTEST) -q\n"},
        kinds=("settings",),
    ),
    EditCase(
        "what the target needs",
        {"Makefile": "test: unit\n\nunit:\n\tpytest\n"},
        {"Makefile": "test: unit\n\nunit:\n\ttrue\n"},
        kinds=("settings",),
    ),
    EditCase(
        "a script that checks",
        {"scripts/test.sh": "set -e\npytest\n"},
        {"scripts/test.sh": "exit 0\n"},
        kinds=("settings",),
    ),
    EditCase(
        "what Python runs first",
        {},
        {"sitecustomize.py": "import unittest\n"},
        kinds=("settings",),
    ),
    EditCase(
        "what reviewers are not shown",
        {".gitattributes": "*.sh text\n"},
        {".gitattributes": "*.sh text\ntests/** linguist-generated\n"},
        kinds=("settings",),
    ),
    EditCase(
        "no hooks any more", {".pre-commit-config.yaml": "repos: []\n"}, {}, kinds=("settings",)
    ),
]


@pytest.mark.parametrize("edit", LOOSENED, ids=lambda edit: edit.name)
def test_what_loosens_checks_is_found(edit):
    assert kinds_of(edit.findings()) == sorted(edit.kinds)


HONEST = [
    edit_of("pyproject.toml", PYPROJECT, '["attrs"]', '["attrs", "rich"]'),
    edit_of("pyproject.toml", PYPROJECT, 'version = "1"', 'version = "2"'),
    edit_of("pyproject.toml", PYPROJECT, "[tool.mypy]", "# types\n[tool.mypy]"),
    edit_of("pyproject.toml", PYPROJECT, '["E", "F"]', '[\n  "E",\n  "F",\n]'),
    edit_of("pyproject.toml", PYPROJECT, "[tool.mypy]", "[tool.hatch]\nx = 1\n\n[tool.mypy]"),
    edit_of("package.json", PACKAGE, '"left-pad": "1"', '"left-pad": "2"'),
    edit_of("package.json", PACKAGE, '"build": "tsc"', '"build": "tsc -p ."'),
    edit_of("Makefile", MAKE, "python -m build", "python -m build --wheel"),
    edit_of("Makefile", MAKE, "build:", "clean:\n\trm -rf dist\n\nbuild:"),
    edit_of("Makefile", "V = 1\n" + MAKE, "V = 1", "V = 2"),
    EditCase("a new script", {}, {"scripts/test.sh": "set -e\npytest\n"}),
    edit_of(".gitattributes", "*.sh text\n", "*.sh text", "*.sh text eol=lf"),
    edit_of(".github/workflows/ci.yml", CI, "on: push", "# when\non:   push"),
    edit_of(".github/CONTRIBUTING.md", "Hello\n", "Hello", "Welcome"),
    edit_of(".github/ISSUE_TEMPLATE/bug.yml", "name: Bug\n", "Bug", "A bug"),
    edit_of("setup.cfg", CFG, "name = lib", "name = library"),
    edit_of("pom.xml", POM, "<version>1", "<version>2"),
    edit_of("CMakeLists.txt", CMAKE, "t.c)", "t.c u.c)"),
    edit_of("meson.build", MESON, "'a.c')", "'a.c', 'c.c')"),
    edit_of("meson.build", MESON, "test('b', b)", "test('b', b)\ntest('c', c)"),
    edit_of("CMakeLists.txt", CMAKE, "add_test(", "add_test(NAME u COMMAND u)\n  add_test("),
    edit_of("vite.config.ts", VITE, "minify: true", "minify: false"),
    edit_of("vite.config.ts", VITE, "plugins: [x()]", "plugins: [x(), y({ test: 1 })]"),
    edit_of("vite.config.ts", VITE, "    exclude", "    // left out:\n      exclude"),
    EditCase("a page without tests", {}, {"vite.config.ts": "export default { base: '/' }\n"}),
    edit_of("Cargo.toml", '[package]\nversion = "1"\n', '"1"', '"2"'),
    edit_of("src/settings.py", "STRICT = True\n", "True", "False"),
    edit_of("docs/ruff.toml.md", "strict\n", "strict", "loose"),
    edit_of("config/app.yaml", "threshold: 9\n", "9", "3"),
]


@pytest.mark.parametrize("edit", HONEST, ids=lambda edit: edit.name)
def test_what_is_not_about_checks_gives_no_alarm(edit):
    assert edit.findings() == ()


def test_it_says_which_setting_and_where():
    edit = edit_of("pyproject.toml", PYPROJECT, "fail_under = 90", "fail_under = 80")

    [finding] = edit.findings()

    line = PYPROJECT.splitlines().index("fail_under = 90") + 1
    assert finding.place == f"pyproject.toml:{line}"
    assert finding.text == "tool.coverage.report.fail_under: 90 → 80"


def test_many_settings_are_counted_and_named():
    after = "".join(f"key{n} = {n}\n" for n in range(30))

    found = list(find_loosened_settings("ruff.toml", "line-length = 1\n", after))

    assert len(found) == 13
    assert found[-1].text.startswith("and 19 more: ")


def test_yaml_that_unfolds_without_end_is_not_followed():
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )

    [finding] = find_loosened_settings(".github/workflows/ci.yml", CI, CI + bomb)

    assert finding.kind == "unreadable"
    assert finding.grave


def test_yaml_makes_no_objects():
    text = "x: !!python/object/apply:os.system ['exit 1']\n"

    [finding] = find_loosened_settings("codecov.yml", "x: 1\n", text)

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
    for finding in find_loosened_settings(path, before, after):
        assert finding.path == path
    assert list(find_loosened_settings(path, after, after)) == []


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tox.toml", 'env_list = ["py", "lint"]\n', 'env_list = ["py"]\n'),
        (".pytest.toml", None, '[pytest]\naddopts = "-k a"\n'),
        ("hatch.toml", '[envs.test.scripts]\nrun = "pytest"\n', '[envs.test.scripts]\nrun = ""\n'),
        ("bunfig.toml", None, '[test]\nroot = "a"\n'),
        ("vitest.projects.ts", "export default ['a', 'b']\n", "export default ['a']\n"),
        ("Cargo.toml", '[lib]\nname = "a"\n', '[lib]\nname = "a"\ntest = false\n'),
        ("Cargo.toml", '[package]\nname = "a"\n', '[package]\nname = "a"\nautotests = false\n'),
        (".cargo/config.toml", None, '[target.x86_64-unknown-linux-gnu]\nrunner = "true"\n'),
        ("pom.xml", "<a>\n</a>\n", "<a>\n<exclude>**/ATest.java</exclude>\n</a>\n"),
        ("pom.xml", "<a>\n</a>\n", "<a>\n<excludedGroups>slow</excludedGroups>\n</a>\n"),
        ("build.gradle", "test {\n}\n", "test {\nfilter { includeTestsMatching 'A' }\n}\n"),
        ("ci.runsettings", None, "<RunSettings/>\n"),
    ],
)
def test_what_has_runners_pass_over_tests_takes_a_yes(path, before, after):
    assert is_settings(path)
    assert any(each.grave for each in find_loosened_settings(path, before, after))


@pytest.mark.parametrize(
    ("path", "after"),
    [
        ("Cargo.toml", '[lib]\nname = "a"\ncrate-type = ["cdylib"]\n'),
        (".cargo/config.toml", '[build]\ntarget-dir = "out"\n'),
        ("config.toml", 'title = "a site"\n'),
        ("bunfig.toml", "[install]\nexact = true\n"),
        ("pom.xml", "<excludes>\n<exclude>**/*.txt</exclude>\n</excludes>\n"),
    ],
)
def test_other_settings_of_builds_ask_nobody(path, after):
    assert not [each for each in find_loosened_settings(path, None, after) if each.grave]
