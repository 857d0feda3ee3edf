"""Which runner a command calls, and where its arguments go: in scripts of packages, too."""

import json

import pytest

from agents.analysis.test_runners import find_manifest, find_runner_call

SCRIPTS = {
    "test": "npm run lint && npm run unit",
    "unit": "cross-env NODE_ENV=test jest --ci",
    "lint": "eslint .",
    "cover": "nyc --reporter=lcov mocha",
    "both": "jest && vitest run",
    "early": "jest && eslint .",
    "piped": "jest | tee out",
    "loop": "npm run loop",
    "node": "node --test",
    "bun": "bun test src",
    "files": "node --test test/",
}
MANIFEST = json.dumps({"scripts": SCRIPTS})


def find(command, manifest=MANIFEST):
    """Return the runner's name, the command with the place of arguments, and what is before."""
    call = find_runner_call(command, manifest)
    return call and (call.runner.name, call.line, call.pass_on(["-x"]))


@pytest.mark.parametrize(
    ("command", "runner", "line", "arguments"),
    [
        ("npx jest", "jest", 'npx jest "$@"', ("-x",)),
        ("bun test --bail", "bun", None, ("-x",)),
        ("bun run bun", "bun", None, ("-x",)),
        ("CI=1 npx --no-install vitest run src", "vitest", None, ("-x",)),
        ("yarn jest --ci", "jest", None, ("-x",)),
        ("pnpm exec mocha", "mocha", None, ("-x",)),
        ("node --no-warnings node_modules/jest/bin/jest.js", "jest", None, ("-x",)),
        ("./node_modules/.bin/mocha 'a b'", "mocha", None, ("-x",)),
        ("npm test", "jest", 'npm test "$@"', ("--", "--", "-x")),
        ("npm t -- --runInBand", "jest", None, ("--", "-x")),
        ("yarn test", "jest", None, ("--", "-x")),
        ("npm run cover", "mocha", None, ("--", "-x")),
        ("cd web && npm run unit", "jest", 'cd web && npm run unit "$@"', ("--", "-x")),
        (
            "make gen && npx jest && make end",
            "jest",
            'make gen && npx jest "$@" && make end',
            ("-x",),
        ),
        ("npm run node", "node --test", None, ("--", "-x")),
        ("node --test test/", "node --test", 'node "$@" --test test/', ("-x",)),
        ("go test -vet=off ./...", "go test", None, ("-x",)),
        ("cargo +stable test --workspace", "cargo test", None, ("-x",)),
        ("mvn --batch-mode --offline test", "Maven", None, ("-x",)),
        ("./gradlew --offline test", "Gradle", None, ("-x",)),
        ("bundle exec rspec", "rspec", None, ("-x",)),
        ("php vendor/bin/phpunit", "PHPUnit", None, ("-x",)),
        ("dotnet test --no-restore", "dotnet test", None, ("-x",)),
        ("uv run python -m unittest", "unittest", None, ("-x",)),
        ("uv run --group dev -q -- python -m unittest -q", "unittest", None, ("-x",)),
        ("poetry run coverage run -m unittest", "unittest", None, ("-x",)),
        ("mix test --no-deps-check", "ExUnit", None, ("-x",)),
        ("cmake --build b && cd b && ctest", "CTest", None, ("-x",)),
        ("meson setup b && meson test -C b", "Meson", None, ("-x",)),
    ],
)
def test_a_call_is_found(command, runner, line, arguments):
    expected = line or f'{command} "$@"'

    assert find(command) == (runner, expected, arguments)


@pytest.mark.parametrize(
    "command",
    [
        "make test",
        "npm run both",
        "npm run early",
        "npm run piped",
        "npm run loop",
        "npm run nowhere",
        "npm test --workspaces",
        "npm --prefix web test",
        "pnpm --recursive test",
        "npx jest | tee out",
        "npx jest; true",
        "npx jest || true",
        "npx jest > out",
        "npx jest &",
        "npx jest $(cat files)",
        "npx jest `cat files`",
        "npx jest # all",
        "npx jest\nrm -rf .",
        "npx 'jest",
        "echo jest",
        "x" * 5_000,
    ],
)
def test_what_is_no_plain_call_is_left_as_it_is(command):
    assert find(command) is None


def test_a_script_that_names_files_takes_no_options_of_node():
    call = find_runner_call("npm run files", MANIFEST)

    assert call.runner.name == "node --test"
    assert not call.takes_arguments


@pytest.mark.parametrize("manifest", ["", "[]", '{"scripts": []}', "[" * 100_000, "{", "null"])
def test_a_manifest_may_hold_anything(manifest):
    assert find("npm test", manifest) is None


def test_composer_passes_arguments_to_a_script_of_one_line():
    manifest = json.dumps({"scripts": {"test": ["phpunit"], "all": ["phpunit", "phpstan"]}})

    assert find("composer run-script test", manifest)[2] == ("--", "-x")
    assert find("composer all", manifest) is None


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("npm test", "package.json"),
        ("cd a/b && CI=1 yarn test", "a/b/package.json"),
        ("cd php && composer test", "php/composer.json"),
        ("cd .. && npm test", ""),
        ("cd /etc && npm test", ""),
        ("make test", ""),
    ],
)
def test_the_manifest_lies_where_the_script_is_run(command, path):
    assert find_manifest(command) == path
