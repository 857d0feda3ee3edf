"""The programs of a workflow's steps that check a repository, as data.

A line is a subject with the commands that are about it, by how they begin. Whatever else a step
runs (installs, uploads, deploys, programs that nobody knows) is left to the workflow. So are tox,
nox and their like, which install what they need with each run, and tests of a build in other steps.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from agents.analysis.workflows.suite_scope import runs_nothing

SUBJECTS = {
    "tests": """
        pytest, py.test, python -m pytest, python -m unittest, python manage.py test, make test,
        make check, make tests, make unit, make test-unit, make unit-test, make unittest,
        make test-all, make ci, coverage run, python -m coverage run, nosetests, stestr run,
        just test, just tests,
        just check, just ci, task test, task tests, ./manage.py test
    """,
    "lint": """
        ruff check, ruff format --check, flake8, python -m flake8, pylint, python -m pylint,
        black --check, isort --check, bandit, make lint, just lint, task lint
    """,
    "types": "mypy, python -m mypy, pyright, basedpyright, pyre check, make typecheck, make mypy",
    "npm tests": """
        npm test, npm t, npm run test, npm run test:unit, npm run test:ci,
        npm run test:all, npm run test:run, npm run test:coverage, npm run coverage, npm run unit,
        yarn test, yarn run test, yarn test:unit, yarn test:ci, yarn coverage, pnpm test:unit,
        pnpm test:ci, pnpm run test:unit, pnpm run test:ci, pnpm coverage, npx vitest --run,
        pnpm test, pnpm run test, pnpm -r test, bun test, bun run test, npx jest, npx vitest run,
        npx mocha, node --test, yarn jest, pnpm vitest run,
        turbo run test, npx turbo run test, pnpm turbo run test, yarn turbo run test,
        nx run-many -t test, npx nx run-many -t test, nx run-many --target=test,
        npx nx run-many --target=test, pnpm nx run-many -t test, npx nx affected -t test,
        npx lerna run test, lerna run test, npx ava, npx tap, npx jasmine, npx playwright test,
        npx cypress run
    """,
    "npm lint": """
        npm run lint, yarn lint, yarn run lint, pnpm lint, pnpm run lint, bun run lint, npx eslint,
        yarn eslint, npx prettier --check
    """,
    "npm types": """
        npm run typecheck, npm run type-check, npm run tsc, npm run types, yarn typecheck,
        yarn type-check, yarn tsc, pnpm typecheck, pnpm type-check, pnpm tsc, npx tsc, tsc,
        bun run typecheck
    """,
    "npm build": "npm run build, yarn build, yarn run build, pnpm build, pnpm run build",
    "npm check": "npm run check, yarn check, pnpm check, pnpm run check",
    "go tests": "go test, gotestsum",
    "go vet": "go vet",
    "go lint": "golangci-lint run, staticcheck",
    "go build": "go build",
    "cargo tests": "cargo test, cargo nextest run",
    "cargo lint": "cargo clippy",
    "cargo format": "cargo fmt --check, cargo fmt --all -- --check, cargo fmt -- --check",
    "cargo build": "cargo build, cargo check",
    "maven tests": """
        mvn test, mvn verify, mvn package, mvn clean test, mvn clean verify, mvn clean package,
        ./mvnw test, ./mvnw verify, ./mvnw package, ./mvnw clean test, ./mvnw clean verify,
        ./mvnw clean package
    """,
    "gradle tests": """
        gradle test, gradle check, gradle build, gradle clean test, gradle clean check,
        gradle clean build, ./gradlew test, ./gradlew check, ./gradlew build, ./gradlew clean test,
        ./gradlew clean check, ./gradlew clean build
    """,
    "ruby tests": "bundle exec rspec, rspec, bundle exec rake test, bundle exec rake, rake test,"
    " bin/rspec, bin/rails test",
    "ruby lint": "bundle exec rubocop, rubocop",
    "php tests": """
        vendor/bin/phpunit, ./vendor/bin/phpunit, vendor/bin/pest, composer test, composer run test,
        phpunit, php artisan test
    """,
    "php types": "vendor/bin/phpstan, vendor/bin/psalm, composer phpstan",
    "dotnet tests": "dotnet test",
    "shell tests": "bats, npx bats",
    "perl tests": "prove",
    "deno tests": "deno test",
    "swift tests": "swift test",
    "dart tests": "dart test, flutter test",
    "zig tests": "zig build test",
    "sbt tests": "sbt test",
    "haskell tests": "cabal test, stack test",
    "lua tests": "busted",
    "bazel tests": "bazel test",
    "mix tests": "mix test",
    "mix format": "mix format --check-formatted",
}
_RUNNER = re.compile(  # runs a program in the project's environment, which is on PATH here anyway
    r"(?:(?:poetry|uv|pdm|pipenv|hatch|rye) run|xvfb-run|time)"
    r"(?: --(?:group|only-group|extra)[ =][\w.-]+| -[\w=-]+)* "
)
_RUNNERS_OF_TASKS = {  # a word of them may come before the name of the task
    **dict.fromkeys(("make", "just", "task"), ""),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), "npm "),
    "composer": "php ",
    "rake": "ruby ",
}
_KINDS = {  # of a task, by a word of its name; the first that fits
    "lint": "lint format style eslint prettier fmt",
    "types": "types type tsc typecheck mypy tsd dts",
    "tests": "test tests unit unittest unittests integration e2e acceptance functional spec specs",
}
_OTHER_TASKS = """
    watch dev debug ui open update build clean docs doc deploy release report docker up down setup
    prepare install deps data env image images bench perf load size coveralls codecov bundle start
    server pre post win windows macos clear reset
"""
"""Words in names of tasks that belong to tests, and run none or never end."""
_FETCHES = re.compile(r"(mvn|gradle|\./mvnw|\./gradlew) ")  # unless it is told not to
_WRAPPERS = {
    "./mvnw": "ls ~/.m2/wrapper/dists/*/*/*/bin/mvn",
    "./gradlew": "ls ~/.gradle/wrapper/dists/*/*/*/bin/gradle",
}
_INSTALLED = (
    "{ test -d node_modules || test -e .pnp.cjs || ! grep -Eqi 'dependencies\"' package.json; }"
)
_ACTS = re.compile(
    r"(?:^|\s)(?:install|upload|publish|deploy|push|login|sudo|release|--fix|--watch)(?=\s|$)|codecov"
)
_VARIABLES = re.compile(r"(?:[A-Z_][A-Z0-9_]*=(?:'[^']*'|[^\s'\"]*) )*")
_PYTHON = re.compile(r"python3?(?:\.\d+)?")


@dataclass(frozen=True)
class JudgedCommand:
    """What a command checks, and how to see whether it can run."""

    subject: str
    command: str
    """As it is run without a network."""
    available: str


def _entries() -> list[tuple[str, tuple[str, ...]]]:
    listed = [
        (subject, tuple(entry.split()))
        for subject, text in SUBJECTS.items()
        for entry in text.split(",")
    ]
    return sorted(listed, key=lambda each: -len(each[1]))


_ENTRIES = _entries()


def judge_command(command: str) -> JudgedCommand | None:
    """Return what a plain command of a workflow checks; None where it is not taken."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if not words or _ACTS.search(command):
        return None
    variables = command[: len(command) - len(_VARIABLES.sub("", command, count=1))]
    plain = _RUNNER.sub("", command[len(variables) :], count=1)
    own = shlex.split(plain)
    known = (subject for subject, entry in _ENTRIES if _begins_with(own, entry))
    subject = next(known, "") or _name_task(own)
    if not subject or (subject.endswith("tests") and runs_nothing(own)):
        return None
    run = variables + _FETCHES.sub(r"\1 --offline ", plain, count=1)
    return JudgedCommand(subject, run, _probe(run, own))


def _name_task(words: Sequence[str]) -> str:
    """Return what a task checks whose name is no usual one, like `make test-integration`."""
    between = ("bundle", "exec", "run")
    plain = [word for word in words if word not in between and not word.startswith("-")]
    if len(plain) < 2 or plain[0] not in _RUNNERS_OF_TASKS:
        return ""
    parts = {*re.split(r"[-_:.]", plain[1].lower())}
    if parts & {*_OTHER_TASKS.split()}:
        return ""
    kind = next((name for name, listed in _KINDS.items() if parts & {*listed.split()}), "")
    return f"{_RUNNERS_OF_TASKS[plain[0]]}{kind}" if kind else ""


def _begins_with(words: Sequence[str], entry: Sequence[str]) -> bool:
    """Return whether the command has these words first; options may stand in between."""
    if not words:
        return False
    first = "python" if _PYTHON.fullmatch(words[0]) else words[0]
    if first != entry[0]:
        return False
    if words[1 : len(entry)] == list(entry[1:]):
        return True
    plain = [word for word in words[1:] if not word.startswith("-")]
    options = any(each.startswith("-") for each in entry)
    return not options and len(entry) > 1 and plain[: len(entry) - 1] == list(entry[1:])


def _probe(command: str, own: Sequence[str]) -> str:
    """Return a command that tells whether this one can start, with its options, too."""
    if "pytest" in own[:3] or own[0] == "py.test":
        # An option of a plugin that is not there would fail it before and after any change.
        return f"{command} --help"
    probes = [_WRAPPERS.get(own[0], f"command -v {shlex.quote(own[0])}")]
    if _PYTHON.fullmatch(own[0]) and own[1:2] == ["-m"] and own[2].isidentifier():
        probes.append(f"{own[0]} -c 'import {own[2]}'")
    if own[0] in ("npm", "npx", "yarn", "pnpm"):
        probes.append(_INSTALLED)
    if own[0] == "make":
        probes.append(f"make --dry-run {' '.join(map(shlex.quote, own[1:]))}")
    return " && ".join(probes)
