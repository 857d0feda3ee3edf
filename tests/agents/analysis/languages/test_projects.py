"""Repositories that are not one project at the root: each project is found where it lies."""

import json
import shlex
import time

import pytest

from agents.analysis.languages import (
    find_folder,
    list_read_paths,
    list_suggestions,
    make_plan,
    place_venv,
)
from agents.analysis.languages.projects import MOST_FOLDERS
from agents.analysis.repository_files import RepositoryFiles
from agents.policy import Policy

PYTHON = '[project]\nname = "api"\ndependencies = ["attrs"]\n[build-system]\nrequires = []\n'
PYTEST = "python3 -m pytest -q"


def lay(*paths, files=None):
    """Return these files; the texts that a run would not read are not there."""
    named = files or {}
    read = list_read_paths([*paths, *named])
    return RepositoryFiles(
        frozenset([*paths, *named]), {path: named[path] for path in read if path in named}
    )


def package(**content):
    return json.dumps(content)


def plan(files):
    return make_plan(files, Policy())


def checks(files):
    """Return the first command that is suggested for each subject."""
    found = {}
    for each in list_suggestions(files):
        found.setdefault(each.subject, each.check.run)
    return found


def test_a_python_backend_beside_an_npm_frontend():
    files = lay(
        "backend/tests/test_a.py",
        files={
            "backend/pyproject.toml": PYTHON,
            "frontend/package.json": package(
                scripts={"test": "mocha"}, devDependencies={"mocha": "10"}
            ),
        },
    )

    python, javascript = plan(files).recipes
    assert python.kind == "Python (pip) in backend"
    venv = place_venv("backend")
    assert venv == "/setup/venvs/backend"
    assert python.commands[0].startswith(f"cd backend && export PATH={venv}/bin:$PATH && ")
    assert python.commands[1] == f"cd backend && export PATH={venv}/bin:$PATH && pip install -e ."
    assert python.decided_by == ("backend/pyproject.toml",)
    assert javascript.kind == "JavaScript (npm) in frontend"
    assert javascript.commands[0].startswith("cd frontend && ")
    found = checks(files)
    assert found["tests in backend"].endswith(f"/bin:$PATH && {PYTEST}")
    assert found["npm tests in frontend"] == "cd frontend && npm run --silent test"
    assert "tests" not in found, "the root itself has no tests"
    assert {find_folder(run) for run in found.values()} == {"backend", "frontend"}


def test_a_service_with_a_lock_two_folders_down():
    files = lay(
        "services/api/uv.lock",
        "services/api/tests/test_a.py",
        files={"services/api/pyproject.toml": PYTHON},
    )

    [recipe] = plan(files).recipes
    assert "uv sync --frozen" in recipe.commands[0]
    assert f"UV_PROJECT_ENVIRONMENT={place_venv('services/api')}" in recipe.commands[0]
    assert recipe.decided_by[:1] == ("services/api/uv.lock",)
    assert recipe.otherwise.kind == "Python (pip) in services/api"
    assert "tests in services/api" in checks(files)


def test_all_members_of_a_uv_workspace_are_installed():
    root = f'{PYTHON}\n[tool.uv.workspace]\nmembers = ["packages/*"]\n'
    [recipe] = plan(lay("uv.lock", files={"pyproject.toml": root})).recipes
    assert recipe.commands[-1].startswith("uv sync --frozen --all-packages --all-extras")
    [alone] = plan(lay("uv.lock", files={"pyproject.toml": PYTHON})).recipes
    assert "--all-packages" not in alone.commands[-1]


def test_the_roots_environment_stays_where_it_was():
    assert plan(lay("requirements.txt")).recipes[0].commands[0] == "python3 -m venv /setup/venv"
    assert place_venv("a/b") != place_venv("a-b")
    assert place_venv("a b; rm -rf /").startswith("/setup/venvs/a-b-rm-rf-")


def test_where_a_project_cannot_be_built_all_else_is_tried():
    [recipe] = plan(lay("test_a.py", files={"pyproject.toml": PYTHON})).recipes

    assert recipe.carries_on
    _, editable, without, pytest_ = recipe.commands
    assert editable == "pip install -e ."
    assert without.startswith("pip show --quiet api")
    assert "pip install attrs" in without
    assert pytest_.endswith("pip install pytest")


@pytest.mark.parametrize(
    ("files", "manifests", "install", "check"),
    [
        (["pom.xml"], {}, "mvn --batch-mode", "mvn --batch-mode"),
        (["build.gradle.kts"], {}, "gradle --no-daemon", "gradle --no-daemon"),
        (["app/App.csproj"], {"App.sln": ""}, "dotnet restore", "dotnet build"),
        ([], {"CMakeLists.txt": "enable_testing()"}, None, "cmake -S . -B build"),
        (["meson.build"], {}, None, "meson setup build"),
        (["Gemfile", "spec/a_spec.rb"], {}, "bundle install", "bundle exec rspec"),
        (["Gemfile", "test/a_test.rb", "Rakefile"], {}, "bundle install", "bundle exec rake test"),
        (["composer.json", "phpunit.xml.dist"], {}, "composer install", "vendor/bin/phpunit"),
        ([], {"composer.json": package(scripts={"test": "x"})}, "composer", "composer run-script"),
        (["mix.exs"], {}, "mix local.hex", "mix test"),
        (["configure", "Makefile.in"], {}, None, "./configure"),
    ],
)
def test_other_languages_are_installed_and_checked(files, manifests, install, check):
    found = lay(*files, files=manifests)
    recipes = plan(found).recipes
    assert [recipe.commands[0].startswith(install) for recipe in recipes] == [True] * bool(install)
    assert next(iter(checks(found).values())).startswith(check)


def test_cmake_is_tested_where_it_has_tests_and_else_built():
    [tested] = list_suggestions(lay(files={"CMakeLists.txt": "include(CTest)\n"}))
    assert "cd build && ctest " in tested.check.run
    [built] = list_suggestions(lay("build/x.c", files={"CMakeLists.txt": "project(x)\n"}))
    assert "-B _build" in built.check.run


def test_npm_scripts_by_their_names():
    scripts = {
        "type-check": "vue-tsc",
        "build": "vite build",
        "tsc": "tsc",
        "check": "x",
        "go": "y",
    }
    found = checks(lay(files={"package.json": package(scripts=scripts)}))
    assert found == {
        "npm types": "npm run --silent type-check",
        "npm check": "npm run --silent check",
        "npm build": "npm run --silent build",
    }


@pytest.mark.parametrize(
    ("scripts", "script"),
    [
        ({"test:unit": "vitest run", "lint": "eslint ."}, "test:unit"),
        ({"coverage": "vitest run --coverage", "dev:test": "vitest"}, "coverage"),
        ({"verify": "node --import tsx --test src/"}, "verify"),
        ({"test": "jest --watch", "test:ci": "jest --ci"}, "test:ci"),
    ],
)
def test_where_no_script_is_called_test_one_that_runs_tests_is_taken(scripts, script):
    found = checks(lay(files={"package.json": package(scripts=scripts)}))
    assert found["npm tests"] == f"npm run --silent {script}"


@pytest.mark.parametrize(("sign", "runner"), [("bun.lock", "bun run"), (".yarnrc.yml", "yarn run")])
def test_scripts_are_run_by_the_projects_own_tool_first(sign, runner):
    manifest = package(scripts={"test": "x"}, dependencies={"a": "1"})
    found = list_suggestions(lay(sign, files={"package.json": manifest}))
    assert [each.check.run for each in found] == [f"{runner} test", "npm run --silent test"]
    assert found[0].available.startswith(f"command -v {runner.split()[0]} && ")
    [alone] = list_suggestions(lay(files={"package.json": package(scripts={"test": "x"})}))
    assert alone.available == "command -v npm", "nothing needs to be installed"


def test_bun_runs_the_tests_that_no_script_does():
    files = {"package.json": package(scripts={"start": "bun a.ts"})}
    [found] = list_suggestions(lay("bun.lock", "src/a.spec.ts", files=files))
    assert (found.subject, found.check.run, found.available) == (
        "npm tests",
        "bun test",
        "command -v bun",
    )
    assert list_suggestions(lay("bun.lock", "src/a.ts", files=files)) == []
    assert list_suggestions(lay("package-lock.json", "src/a.spec.ts", files=files)) == []


@pytest.mark.parametrize(
    "script", ['echo "Error: no test specified" && exit 1', "jest --watch", "vitest --watch", "", 7]
)
def test_scripts_that_test_nothing_or_never_end_are_no_checks(script):
    assert checks(lay(files={"package.json": package(scripts={"test": script})})) == {}


WORKSPACES = [
    ({"package.json": package(workspaces=["packages/*"])}, "packages/a/package.json"),
    ({"package.json": package(workspaces={"packages": ["**"]})}, "x/y/package.json"),
    ({"package.json": "{}", "pnpm-workspace.yaml": "packages: ['web/**']"}, "web/a/package.json"),
    ({"pyproject.toml": '[tool.uv.workspace]\nmembers = ["libs/*"]'}, "libs/a/pyproject.toml"),
    ({"Cargo.toml": '[workspace]\nmembers = ["crates/*"]'}, "crates/a/Cargo.toml"),
    ({"go.work": "go 1.22\nuse (\n\t.\n\t./cmd/tool // a tool\n)\n"}, "cmd/tool/go.mod"),
    ({"pom.xml": "<modules><module>core</module></modules>"}, "core/pom.xml"),
    ({"settings.gradle": "include 'app'"}, "app/build.gradle"),
    ({"All.sln": ""}, "src/App/App.csproj"),
    ({"CMakeLists.txt": ""}, "src/CMakeLists.txt"),
    ({"mix.exs": ""}, "apps/web/mix.exs"),
]


@pytest.mark.parametrize(("manifests", "member"), WORKSPACES, ids=lambda each: str(each)[:30])
def test_a_member_of_a_workspace_is_its_roots(manifests, member):
    files = lay(member, files=manifests)
    folders = {find_folder(command) for r in plan(files).recipes for command in r.commands}
    folders |= {find_folder(run) for run in checks(files).values()}
    assert folders <= {""}

    folder, _, name = member.rpartition("/")
    text = {"package.json": package(scripts={"test": "x"}), "pyproject.toml": PYTHON}.get(name, "")
    tests = [f"{folder}/test_a.py"] if name == "pyproject.toml" else []
    alone = checks(lay(*tests, files={member: text}))
    assert {find_folder(run) for run in alone.values()} == {folder}


def test_a_crate_that_the_workspace_leaves_out_is_its_own():
    manifest = '[workspace]\nmembers = ["crates/*"]\nexclude = ["crates/b"]\n'
    found = checks(
        lay("crates/a/Cargo.toml", "crates/b/Cargo.toml", files={"Cargo.toml": manifest})
    )
    assert list(found) == ["cargo tests", "cargo tests in crates/b"]
    assert found["cargo tests"].endswith(" --workspace")


def test_modules_of_modules_are_their_roots():
    modules = {
        "pom.xml": "<module>a</module>",
        "a/pom.xml": "<module> b </module>",
        "a/b/pom.xml": "",
        "c/pom.xml": "",
    }
    assert list(checks(lay(files=modules))) == ["maven tests", "maven tests in c"]


def test_all_modules_of_a_go_workspace_are_named():
    files = lay(
        "a/go.mod", "b/go.mod", files={"go.work": "use ./a\nuse (\n  ./b\n  ../outside\n)\n"}
    )
    assert checks(files)["go tests"] == "go test -vet=off ./a/... ./b/..."


def test_a_workspace_without_a_script_of_its_own_runs_those_of_its_members():
    root = package(workspaces=["packages/*"], scripts={"lint": "eslint ."})
    found = checks(lay("packages/a/package.json", files={"package.json": root}))
    assert found["npm lint"] == "npm run --silent lint"
    assert found["npm tests"] == "npm run --silent --if-present --workspaces test"


def test_what_no_member_of_a_workspace_has_is_no_check_of_it():
    members = {"a": {"build": "tsc"}, "b": {"test": "node t.js", "lint": "echo none"}}
    files = {
        f"packages/{name}/package.json": package(scripts=made) for name, made in members.items()
    }
    root = {"package.json": package(workspaces=["packages/*"])}
    assert "npm tests" in checks(lay(*files, files=files | root))
    tests = [e for e in list_suggestions(lay(*files, files=files | root)) if "tests" in e.subject]
    run = "npm run --silent --if-present --workspaces"
    assert [each.check.run for each in tests] == [f"{run} test", f"{run} build && {run} test"]
    assert not {"npm lint", "npm types"} & checks(lay(*files, files=files | root)).keys()


@pytest.mark.parametrize(
    "path",
    [
        "node_modules/a/package.json",
        "vendor/x/go.mod",
        "third_party/a/Cargo.toml",
        "a/testdata/go.mod",
        "tests/fixtures/app/package.json",
        "examples/one/pyproject.toml",
        "docs/requirements.txt",
        ".hidden/package.json",
        "a/b/c/d/package.json",
        "odd\nname/package.json",
    ],
)
def test_vendored_and_example_folders_do_not_count(path):
    text = package(scripts={"test": "x"}, dependencies={"a": "1"})
    files = lay(files={path: text})
    assert plan(files).recipes == ()
    assert checks(files) == {}


def test_too_many_folders_are_bounded_and_said():
    manifest = package(scripts={"test": "x"}, dependencies={"a": "1"})
    files = lay(files={f"p{n:03}/package.json": manifest for n in range(40)})
    made = plan(files)
    assert len(made.recipes) == MOST_FOLDERS - 1  # the root counts
    [note] = made.notes
    assert "`p023`" in note
    assert "and 12 more" in note


def test_names_of_folders_are_quoted():
    manifest = package(scripts={"test": "x"}, dependencies={"a": "1"})
    for name in ("a; touch x", "it's", "a && b", "$(id)", '"', "' && ''"):
        files = lay(files={f"{name}/package.json": manifest})
        [recipe] = plan(files).recipes
        [run] = checks(files).values()
        assert recipe.commands[0].startswith(f"cd {shlex.quote(name)} && npm ")
        assert run.startswith(f"cd {shlex.quote(name)} && npm ")
        assert find_folder(run) == name


def test_a_root_project_leaves_the_tests_of_others_to_them():
    files = lay("tests/test_a.py", "api/tests/test_b.py", files={"api/pyproject.toml": PYTHON})
    assert set(checks(files)) == {"tests", "tests in api"}
    assert checks(files)["tests"] == f"{PYTEST} --ignore=api"


@pytest.mark.parametrize(
    "manifests",
    [
        {"package.json": package(workspaces=["*" * 150 + "x"] * 300)},
        {"package.json": package(workspaces=["**/" * 60] * 300)},
        {"go.work": "use (\n" + "./a\n" * 50_000},
        {"pom.xml": "<module>" * 30_000},
        {"Cargo.toml": '[workspace]\nmembers = ["' + "*a" * 90 + '"]'},
        {"pnpm-workspace.yaml": "a: &a [b]\npackages: *a", "package.json": "{}"},
        {"setup.py": "(" * 50_000, "tox.ini": "[testenv\n", "noxfile.py": "x = " + "-" * 50_000},
    ],
)
def test_hostile_manifests_cost_no_time(manifests):
    members = [f"{'a' * 40}{n}/package.json" for n in range(300)]
    files = lay(*members, files=manifests)
    began = time.thread_time()
    assert len(plan(files).recipes) + len(checks(files)) < 200
    assert time.thread_time() - began < 5


MEMBERS = {
    "packages/a/package.json": package(scripts={"test": "node a.js", "build": "tsc"}),
    "packages/b/package.json": package(scripts={"type-check": "tsc --noEmit"}),
}
NPM_EACH = "npm run --silent --if-present --workspaces"


@pytest.mark.parametrize(
    "test",
    [
        "npm test --workspaces",
        "pnpm -r test",
        "yarn workspaces foreach run test",
        "turbo run test",
        "npm run build && lerna run test",
        "jest --coverage",
        "mocha packages/*/test",
        "npm run test:all",
        "run-s test:all",
    ],
)
def test_what_the_root_runs_in_its_members_is_not_run_there_twice(test):
    scripts = {"test": test, "test:all": "npm run test --workspaces", "build": "node build.js"}
    root = {"package.json": package(workspaces=["packages/*"], scripts=scripts)}
    found = checks(lay(*MEMBERS, files=root | MEMBERS))

    assert "npm tests of members" not in found
    assert found["npm tests"] == "npm run --silent test"


@pytest.mark.parametrize("test", ["node test.js", "jest src", "mocha", "npm run test:own"])
def test_members_are_checked_by_their_own_scripts_beside_those_of_the_root(test):
    scripts = {"test": test, "test:own": "node test.js"}
    root = {"package.json": package(workspaces=["packages/*"], scripts=scripts)}
    found = checks(lay(*MEMBERS, files=root | MEMBERS))

    assert found == {
        "npm tests": "npm run --silent test",
        "npm tests of members": f"{NPM_EACH} test",
        "npm types": f"{NPM_EACH} type-check",
        "npm build": f"{NPM_EACH} build",
    }


@pytest.mark.parametrize(
    ("files", "run"),
    [
        ({"package.json": package(), "pnpm-workspace.yaml": "packages: [packages/*]"},
         "pnpm --recursive --no-bail --if-present run test"),
        ({"package.json": package(workspaces={"packages": ["packages/*"]}), ".yarnrc.yml": ""},
         "yarn workspaces foreach --all run test"),
        ({"package.json": package(workspaces={"packages": ["packages/*"]})}, f"{NPM_EACH} test"),
    ],
)  # fmt: skip
def test_members_are_asked_by_the_tool_of_their_workspace(files, run):
    assert checks(lay(*MEMBERS, files=files | MEMBERS))["npm tests"] == run


def test_folders_that_their_names_keep_out_are_noted_and_what_tools_fetch_is_not():
    files = {
        "package.json": package(scripts={"test": "mocha"}),
        "examples/one/package.json": package(),
        "examples/two/go.mod": "module x\n",
        "docs/Makefile": "",
        "node_modules/a/package.json": package(),
        "vendor/x/go.mod": "",
        ".github/package.json": package(),
    }
    [note] = plan(lay(*files, files=files)).notes

    assert "others' code: `examples`. `setup`" in note
    assert not plan(lay("docs/Makefile")).notes
