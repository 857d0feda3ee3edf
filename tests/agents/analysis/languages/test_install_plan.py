"""How a repository's dependencies would be installed, by the look of its files."""

import json
import re
import shutil
import subprocess

import pytest

from agents.analysis.languages.registry import DETECTED, make_plan
from agents.analysis.repository_files import RepositoryFiles
from agents.policy import Policy

VENV = "python3 -m venv /setup/venv"
PROJECT = '[project]\nname = "a"\ndependencies = ["numpy>=1", "attrs"]\n'
BUILD = '[build-system]\nrequires = ["hatchling"]\n'


def plan(paths, texts=None, policy=None):
    texts = texts or {}
    return make_plan(RepositoryFiles(frozenset([*paths, *texts]), texts), policy or Policy())


def commands(*paths, **texts):
    named = {name.replace("__", "."): text for name, text in texts.items()}
    recipes = plan(paths, named).recipes
    return [command for recipe in recipes for command in recipe.commands]


@pytest.mark.parametrize(
    ("lock", "tool", "first"),
    [
        ("uv.lock", "uv", "uv sync --frozen --all-extras --all-groups || uv sync --frozen"),
        ("poetry.lock", "poetry", VENV),
        ("pdm.lock", "pdm", VENV),
        ("Pipfile.lock", "pipenv", VENV),
    ],
)
def test_a_python_lock_file_is_installed_by_its_own_tool_which_pip_can_fetch(lock, tool, first):
    [recipe] = plan([lock, "pyproject.toml", "requirements.txt"]).recipes

    assert recipe.commands[0] == first
    assert recipe.available == f"command -v {tool}"
    assert recipe.locked
    assert recipe.decided_by[:2] == (lock, "pyproject.toml")
    fetched = "'pdm[locked]'" if tool == "pdm" else tool
    assert recipe.instead.commands[:2] == (
        "python3 -m venv /setup/tools",
        f"/setup/tools/bin/pip install --quiet {fetched}",
    )
    assert recipe.instead.commands[2:] == recipe.commands
    assert tool in recipe.missing
    assert "FETTLE_TOOLCHAINS" in recipe.missing


@pytest.mark.parametrize(
    "path",
    [
        "requirements.txt",
        "requirements-dev.txt",
        "requirements_test.txt",
        "dev-requirements.txt",
        "requirements/test.txt",
    ],
)
def test_requirements_are_installed_by_pip(path):
    assert commands(path) == [VENV, f"pip install -r {path}"]


@pytest.mark.parametrize(
    "path",
    [
        "requirements; rm -rf x.txt",
        "docs/requirements.txt",
        "constraints.txt",
        "requirements/a.txt",
    ],
)
def test_other_files_are_not_taken_for_requirements(path):
    assert commands(path) == []


def test_constraints_decide_without_being_installed():
    [recipe] = plan(["requirements.txt", "constraints.txt", "requirements/base.in"]).recipes

    assert set(recipe.decided_by) == {"requirements.txt", "constraints.txt", "requirements/base.in"}
    assert not recipe.locked


def test_a_project_is_installed_editable_with_what_its_tests_need():
    text = BUILD + PROJECT + '[project.optional-dependencies]\ntest = ["x"]\ndocs = ["y"]\n'
    assert commands(pyproject__toml=text) == [
        VENV,
        "pip install -e '.[test]'",
        "pip show --quiet a >/dev/null 2>&1 || { pip install 'numpy>=1' attrs x; }",
    ]


def test_a_project_without_a_build_is_installed_as_its_dependencies():
    text = PROJECT + '[project.optional-dependencies]\ndev = ["ruff", "attrs"]\n'
    assert commands(pyproject__toml=text) == [VENV, "pip install 'numpy>=1' attrs ruff"]


def test_dependency_groups_are_installed_with_those_they_include():
    groups = '[dependency-groups]\ntest = ["pytest>=8"]\n'
    groups += 'dev = [{include-group = "test"}, {include-group = "dev"}, "ruff", "--pre", 7]\n'
    assert commands(pyproject__toml=groups) == [VENV, "pip install 'pytest>=8' ruff"]


def test_names_in_files_are_quoted_for_the_shell():
    text = '[project]\ndependencies = ["a; rm -rf /", "--index-url=http://evil.example"]\n'
    assert commands(pyproject__toml=text) == [VENV, "pip install 'a; rm -rf /'"]


def test_older_python_projects():
    extras = "[metadata]\nname = a\n[options.extras_require]\ntesting =\n    x\n    y\ndocs = z\n"
    assert commands(setup__cfg=extras) == [VENV, "pip install -e '.[testing]'"]
    assert commands("setup.py") == [VENV, "pip install -e ."]
    assert commands(setup__cfg="[flake8]\nignore = E1\n") == []
    assert commands(setup__cfg="no [section\n%") == []


def test_pytest_is_installed_where_there_are_tests_and_nothing_brought_it():
    assert commands("setup.py", "tests/test_a.py")[-1] == (
        "python3 -c 'import pytest' 2>/dev/null || pip install pytest"
    )
    assert commands("tests/test_a.py") == []


def package(**content):
    return {"package.json": json.dumps(content)}


@pytest.mark.parametrize(
    ("files", "command"),
    [
        (["package-lock.json"], "npm ci --ignore-scripts --no-audit --no-fund"),
        (["pnpm-lock.yaml"], "pnpm install --frozen-lockfile --ignore-scripts"),
        (["yarn.lock"], "yarn install --frozen-lockfile --ignore-scripts --non-interactive"),
        (["yarn.lock", ".yarnrc.yml"], "yarn install --immutable --mode=skip-build"),
        (["bun.lock"], "bun install --frozen-lockfile --ignore-scripts"),
    ],
)
def test_a_javascript_lock_file_is_installed_by_its_own_tool_without_scripts(files, command):
    [recipe] = plan(files, package(name="a")).recipes

    assert recipe.commands == (command,)
    assert recipe.locked
    assert files[0] in recipe.decided_by


def test_a_missing_tool_is_fetched_in_the_version_that_the_package_asks_for():
    [recipe] = plan(["pnpm-lock.yaml"], package(packageManager="pnpm@9.1.0+sha512.abc")).recipes
    fetch = "npm install --global --prefix /setup/tools --ignore-scripts pnpm@9.1.0"
    assert recipe.instead.commands[0] == fetch
    [hostile] = plan(["pnpm-lock.yaml"], package(packageManager="pnpm@1;rm -rf /")).recipes
    assert hostile.instead.commands[0].endswith(" pnpm")


def test_bun_is_fetched_as_a_package_and_its_program_for_this_system_placed(tmp_path):
    [recipe] = plan(["bun.lock"], package(packageManager="bun@1.2.3")).recipes
    fetch, place = recipe.instead.commands[0].split(" && ", maxsplit=1)
    assert fetch == "npm install --global --prefix /setup/tools --ignore-scripts bun@1.2.3"
    assert recipe.instead.commands[1:] == recipe.commands

    (tmp_path / "bin").mkdir()
    for system, status in (("linux-musl", 1), ("linux-x64", 0), ("linux-z", 0)):
        program = tmp_path / "lib/node_modules/bun/node_modules/@oven" / f"bun-{system}/bin/bun"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho {system}; exit {status}\n")
        program.chmod(0o755)
    placing = place.replace("/setup/tools", str(tmp_path))
    subprocess.run(["bash", "-c", placing], check=True, capture_output=True)
    said = subprocess.run([tmp_path / "bin/bun"], check=True, capture_output=True, text=True)
    assert said.stdout == "linux-x64\n"

    shutil.rmtree(tmp_path / "lib")
    assert subprocess.run(["bash", "-c", placing], check=False).returncode != 0


def test_a_workspace_of_pnpm_without_a_lock_is_installed_by_pnpm_all_the_same():
    [recipe] = plan(["pnpm-workspace.yaml"], package(packageManager="pnpm@9.1.0")).recipes
    assert recipe.commands == ("pnpm install --no-frozen-lockfile --ignore-scripts",)
    assert not recipe.locked
    assert recipe.instead.commands[0].endswith(" pnpm@9.1.0")
    assert not recipe.instead.locked


def test_javascript_without_a_lock_or_without_dependencies():
    [recipe] = plan([], package(devDependencies={"jest": "1"})).recipes
    assert recipe.commands[0].startswith("npm install --no-package-lock")
    assert not recipe.locked
    assert recipe.tools == {"npm": "jest"}
    assert plan([], package(scripts={"test": "node test.js"})).recipes == ()
    assert plan([], {"package.json": "[broken"}).recipes == ()


@pytest.mark.parametrize(
    ("files", "command"),
    [
        (["go.mod"], "go mod download"),
        (["Cargo.toml", "Cargo.lock"], "cargo fetch --locked"),
        (["Cargo.toml"], "cargo fetch"),
        (["Gemfile", "Gemfile.lock"], "BUNDLE_FROZEN=true bundle install"),
        (
            ["composer.json"],
            "composer install --no-interaction --no-scripts --no-plugins --no-progress",
        ),
    ],
)
def test_other_ecosystems(files, command):
    assert commands(*files) == [command]


@pytest.mark.parametrize(
    ("file", "first", "second"),
    [
        ("pom.xml", " -Dmaven.test.failure.ignore=true test", " dependency:go-offline"),
        ("build.gradle.kts", " --continue test", " --continue testClasses"),
    ],
)
def test_what_tests_need_to_run_is_fetched_by_running_them(file, first, second):
    """A dependency that is there at run time alone, such as JUnit's launcher, no compiler asks."""
    [recipe] = plan([file]).recipes

    assert recipe.commands[0].endswith(first)
    assert recipe.otherwise.commands[0].endswith(second)


@pytest.mark.parametrize(
    ("required", "last"),
    [('{"php": ">=8", "ext-json": "*"}', "dump-autoload"), ('{"psr/log": "^3"}', "install")],
)
def test_php_without_packages_is_loaded_where_its_test_tools_cannot_be_had(required, last):
    [recipe] = plan([], {"composer.json": f'{{"require": {required}}}'}).recipes

    while recipe.otherwise:
        recipe = recipe.otherwise
    assert recipe.commands[0].split()[:2] == ["composer", last]


def test_mix_goes_on_without_its_package_tool_which_few_projects_need():
    [command] = commands("mix.exs", "mix.lock")

    fetch = "mix deps.get --only test --check-locked"
    assert command == (
        "mix local.hex --force --if-missing && mix local.rebar --force --if-missing; " + fetch
    )


def test_all_modules_of_a_workspace_decide():
    workspace = {"Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n'}
    [recipe] = plan(["Cargo.lock", "crates/a/Cargo.toml"], workspace).recipes
    assert "crates/a/Cargo.toml" in recipe.decided_by


def test_several_ecosystems_go_side_by_side():
    found = plan(["requirements.txt", "package-lock.json", "go.mod"], package())
    assert [recipe.kind for recipe in found.recipes] == ["Python (pip)", "JavaScript (npm)", "Go"]
    assert found.source == DETECTED
    assert set(found.tools) == {"pip", "npm", "go"}


def test_the_indexes_are_asked_for_a_package_that_the_repository_needs():
    assert plan([], {"pyproject.toml": PROJECT}).tools == {"pip": "numpy"}
    poetry = '[tool.poetry.dependencies]\npython = "^3.11"\nrich = "*"\n'
    assert plan(["poetry.lock"], {"pyproject.toml": poetry}).tools["pip"] == "rich"


def with_run(*run, **more):
    return Policy.model_validate({"setup": {"run": run, **more}})


def test_the_policy_goes_before_what_is_found():
    made = plan(["requirements.txt"], policy=with_run("make deps", timeout=60))

    assert [recipe.commands for recipe in made.recipes] == [("make deps",)]
    assert made.source == "`.github/fettle.yml`"
    assert made.timeout == 60
    assert plan(["requirements.txt"], policy=with_run()).recipes == ()


def test_of_the_policys_commands_every_file_decides_that_they_name_or_that_is_a_manifest():
    paths = ["scripts/a.sh", "scripts/b.sh", "Makefile", "web/package-lock.json", "README.md"]
    [recipe] = plan(paths, policy=with_run("bash ./scripts/a.sh && make deps")).recipes

    assert recipe.decided_by == ("Makefile", "scripts/a.sh", "web/package-lock.json")
    assert not recipe.locked


def test_pip_in_the_policys_commands_gets_an_environment_to_install_into():
    [recipe] = plan([], policy=with_run("pip install -e .[dev]")).recipes
    assert VENV in recipe.commands[0]
    [other] = plan([], policy=with_run("pipx run nox")).recipes
    assert other.commands == ("pipx run nox",)


CI = ".github/workflows/ci.yml"
STARTER = """
      - run: |
          python -m pip install --upgrade pip
          python -m pip install flake8 'black>=22,<25' pytest
          pip install git+https://example.org/evil acme-private ./own -c x.txt
          if [ -f requirements.txt ]; then pip install -r requirements.txt; fi
"""


def write_install(word, pip="pip"):
    name = re.split("[<>=']", word.removeprefix("'"))[0]
    return f"{pip} show --quiet {name} 2>/dev/null || {pip} install {word}"


HAD = tuple(map(write_install, ("flake8", "'black>=22,<25'", "pytest")))


def test_well_known_tools_that_workflows_install_by_name_are_there_for_their_checks():
    [recipe] = plan(["test_a.py"], {"requirements.txt": "attrs", CI: STARTER}).recipes

    assert recipe.commands[1] == "pip install -r requirements.txt"
    assert recipe.commands[-3:] == HAD
    assert CI not in recipe.decided_by, "what else stands there asks for nothing"


def test_they_cost_nothing_of_what_a_lock_file_names():
    [recipe] = plan(["uv.lock", "pyproject.toml"], {CI: 'run: "pip install flake8"'}).recipes

    assert recipe.commands[-1] == f"{write_install('flake8', 'uv pip')} || true"
    assert recipe.instead.commands[-1] == recipe.commands[-1]


def test_they_are_there_where_nothing_else_of_python_is_installed():
    [recipe] = plan(["test_a.py"], {CI: STARTER}).recipes

    assert recipe.commands[0] == VENV
    assert "pip install pytest" in recipe.commands[1]
    assert recipe.commands[2:] == HAD
    assert plan(["a.py"], {CI: "run: pip install twine tox"}).recipes == ()


def test_a_project_in_a_folder_has_them_in_its_own_environment():
    [recipe] = plan(["api/uv.lock", "api/pyproject.toml"], {CI: "run: pipx install ruff"}).recipes

    assert recipe.commands[-1].startswith("cd api && export PATH=/setup/venvs/api/bin:$PATH && ")
    assert recipe.commands[-1].endswith("uv pip install ruff || true")


def test_modules_that_go_vendors_are_not_fetched():
    assert commands("go.mod") == ["go mod download"]
    assert commands("go.mod", "vendor/modules.txt") == []
