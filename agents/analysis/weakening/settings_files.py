"""Recognise the files that configure a repository's checks, whole or in part."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

# --- files that are about checks as a whole -----------------------------------------------------

_BY_NAME = re.compile(
    r"""\.?ruff\.toml | \.flake8 | \.?pylintrc(\.toml)? | \.?mypy\.ini | \.?pytest\.(ini|toml)
      | \.?coveragerc | noxfile\.py
      | \.pre-commit-config\.ya?ml | \.?bandit(\.ya?ml)?
      | pyrightconfig\.json | \.isort\.cfg | \.pydocstyle(\.ini)? | \.importlinter | ty\.toml
      | \.eslintrc(\..+)? | \.eslintignore | eslint\.config\.\w+ | \.?oxlintrc\.json | biome\.jsonc?
      | \.prettierrc(\..+)? | \.prettierignore | \.stylelintrc(\..+)? | tslint\.json
      | (jest|vitest|karma|cypress|playwright|ava|web-test-runner|wdio)(\.[\w-]+)*\.(config|conf)
        (\.[\w-]+)*\.\w+ | vitest\.(workspace|projects)\.\w+ | jest-preset\.\w+ | \.taprc
      | \.mocharc(\..+)?
      | \.nycrc(\..+)? | \.c8rc(\..+)?
      | tsconfig([.-][\w-]+)*\.json | \.lintstagedrc(\..+)? | lint-staged\.config\.\w+
      | \.golangci\.(ya?ml|toml|json) | \.rubocop(_todo)?\.yml | \.rspec | \.simplecov
      | \.?clippy\.toml | \.?rustfmt\.toml | (nextest|tarpaulin)\.toml
      | phpunit(\.\w+)*\.xml(\.dist)? | phpstan([.-]\w+)*\.neon(\.dist)? | psalm([.-]\w+)*\.xml
      | \.php-cs-fixer(\.\w+)*\.php | phpcs\.xml(\.dist)? | infection\.json5?(\.dist)?
      | \.?codecov\.ya?ml | \.codeclimate\.ya?ml | \.coveralls\.ya?ml | sonar-project\.properties
      | \.travis\.ya?ml | azure-pipelines[\w.-]*\.ya?ml | Jenkinsfile[\w.-]* | \.gitlab-ci\.ya?ml
      | bitbucket-pipelines\.ya?ml | \.?appveyor\.ya?ml | \.cirrus\.(ya?ml|star) | \.drone\.ya?ml
      | \.woodpecker\.ya?ml | cloudbuild\.ya?ml | buildspec\.ya?ml | lefthook\.ya?ml
      | \.swiftlint\.ya?ml | \.?detekt\.ya?ml | checkstyle\.xml | pmd[\w-]*\.xml
      | spotbugs[\w-]*\.xml
      | \.credo\.exs | \.dialyzer_ignore\.exs | coveralls\.json | analysis_options\.yaml
      | \.yamllint(\.ya?ml)? | \.markdownlint[\w-]*(\..+)? | \.hadolint\.ya?ml | \.shellcheckrc
      | (site|user)customize\.py
      | .+\.runsettings | junit-platform\.properties | CTestCustom\.cmake | tox\.toml
      | \.clang-tidy | CTestTestfile\.cmake | hlint\.ya?ml | \.ameba\.yml""",
    re.VERBOSE,
)
_BY_FOLDER = re.compile(
    r"\.(circleci|buildkite|woodpecker|semaphore|husky|teamcity)/.+|\.gitlab/ci/.+|\.config/nextest.*"
)
_GITHUB = re.compile(r"\.github/(?!ISSUE_TEMPLATE/|PULL_REQUEST_TEMPLATE/|.*\.md$|FUNDING\.yml$).+")

# --- files of which some parts are --------------------------------------------------------------

_PARTS: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "pyproject.toml": r"tool\.(ruff|mypy|pytest|coverage|pylint|flake8|black|isort|bandit|ty"
        r"|pyright|basedpyright|tox|nox|pydocstyle|pydoclint|interrogate|importlinter|vulture"
        r"|pyrefly|pytest-\w+|pixi\.tasks|poe|taskipy|pdm\.scripts|hatch\.envs|unittest)\b.*",
        "setup.cfg": r"(flake8|mypy|tool:pytest|pytest|coverage|pylint|isort|pycodestyle|pydocstyle"
        r"|tox|bandit|nosetests|aliases|testenv)\b.*",
        "tox.ini": r".*",
        "package.json": r"(scripts\.(pre|post)?(test|lint|check|type-?check|tsc|coverage|ci|verify"
        r"|validate|eslint|jest|vitest|prepare|e2e|unit)\b.*|(jest|eslintConfig|eslintIgnore|mocha"
        r"|nyc|c8|ava|tap|vitest|lint-staged|husky|prettier|stylelint|xo|standard)\b.*)",
        "composer.json": r"scripts\.(pre-|post-)?(test|lint|check|phpunit|phpstan|psalm|cs|ci)\b.*",
        "Cargo.toml": r"((workspace\.)?lints|profile\.test|test|workspace\.metadata"
        r"|package\.autotests|(lib|bin|example).*\.(test|doctest|harness))\b.*",
        "config.toml": r"(build\.rustflags|target\..*\.(runner|rustflags))\b.*",  # of Cargo
        "bunfig.toml": r"test\b.*",
        "hatch.toml": r"envs\b.*",
        "deno.json": r"(lint|fmt|test|tasks\.(test|lint|check|ci)|compilerOptions)\b.*",
        "deno.jsonc": r"(lint|fmt|test|tasks\.(test|lint|check|ci)|compilerOptions)\b.*",
    }.items()
}
CHECKERS = re.compile(
    r"(?<![\w./-])(?:tsc|vue-tsc|svelte-check|eslint|oxlint|biome|stylelint|jest|vitest|mocha|ava|tap"
    r"|c8|nyc|playwright|cypress|phpunit|phpstan|psalm|pest|pint|php-cs-fixer|phpcs)(?![\w.-])"
    r"|node\s(?:\S+\s)*--test\b"
)
"""Programs that check: a script that runs one is a check, whatever it is called."""
MAKEFILES = re.compile(r"(GNU)?[mM]akefile|.+\.mk|\.?[jJ]ustfile|[tT]askfile\.ya?ml|Rakefile")
TARGETS = re.compile(
    r"(.*[-_:])?(test|tests|lint|check|checks|ci|coverage|cov|type-?check|types|verify|validate"
    r"|mypy|pytest|ruff|eslint|clippy|vet|qa|all|spec)([-_:].*)?"
)
SCRIPTS = re.compile(
    r"(.*/)?(run[-_]?)?(all[-_]?)?(tests?|lint|checks?|ci|coverage|verify|type-?check)(\.(sh|bash|ps1|bat|cmd))"
    r"|(.*/)?(scripts?|bin|tools|ci|hack|\.ci)/(.*[-_.])?(tests?|lint|checks?|ci|coverage|verify)([-_.]\w+)*"
)
"""Programs that check a repository, by where they are and how they are called."""
BUILDS = re.compile(
    r"\.gitattributes|pom\.xml|build\.gradle(\.kts)?|.+\.(csproj|fsproj|props|targets)|build\.sbt"
    r"|CMakeLists\.txt|meson\.build"
)
VITE = re.compile(r"vite\.config\.[cm]?[jt]s")
"""Builds a page, and holds vitest's settings below `test`."""


def is_settings(path: str) -> bool:
    """Return whether the file, or a part of it, says how the repository is checked."""
    return is_wholly(path) or partial(path) is not None or _is_other_settings_file(path)


def is_wholly(path: str) -> bool:
    """Return whether all of the file says how the repository is checked."""
    name = PurePosixPath(path).name
    return bool(_BY_NAME.fullmatch(name) or _BY_FOLDER.fullmatch(path) or _GITHUB.fullmatch(path))


def partial(path: str) -> re.Pattern[str] | None:
    """Return which names in the file are about checks, if it holds others as well."""
    return _PARTS.get(PurePosixPath(path).name)


def _is_other_settings_file(path: str) -> bool:
    name = PurePosixPath(path).name
    return any(each.fullmatch(name) for each in (MAKEFILES, BUILDS, VITE)) or bool(
        SCRIPTS.fullmatch(path)
    )
