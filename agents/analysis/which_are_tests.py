"""Recognise test files by their paths: code, data and fixtures."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePosixPath

# --- by the file's own name ---------------------------------------------------------------------

_SCRIPT = r"[cm]?[jt]sx?"
_NAMES = (
    r"test_\w[\w-]*\.pyi?|\w[\w-]*_tests?\.py|tests?\.py|conftest\.py",
    rf".+\.(test|spec|e2e|cy)\.({_SCRIPT}|vue|svelte|snap)",
    rf"(tests?|setup-?tests?|(jest|vitest)[.-]setup(-\w+)?)\.{_SCRIPT}",
    rf"setupTests\.{_SCRIPT}",
    r".+_test\.(go|exs?|dart|cljc?|rb|rs|gleam|php|pl|odin|zig|ml)",
    r".+_tests\.(rs|erl|c|cc|cpp)|tests\.rs",
    r".+_spec\.(rb|lua|cr)|test_.+\.rb|(spec|test|rails)_helper\.rb",
    r".+(_test|_unittest|_unittests)\.(c|cc|cpp|cxx|m|mm)|test_.+\.(c|cc|cpp|cxx)",
    r"(.+Tests?|.+Cest|Pest)\.php",
    r"(.*[a-z0-9_])?Tests?\.(cs|fs|vb|swift|m)",
    r".+Spec\.(hs|purs)|.+_SUITE\.erl|.+\.(bats|t)|test[-_].+\.[rR]|runtests\.jl|.+\.ambr",
)
_NAME = re.compile("|".join(f"(?:{each})" for each in _NAMES))
# `Latest.java` and `Contest.kt` are no tests, and neither is `TestingApi.java`.
_JVM = re.compile(
    r"(Test([A-Z0-9_]\w*)?|\w*[a-z0-9_](Tests?|TestCase|TestSuite|IT|Spec|Suite))"
    r"\.(java|kt|kts|scala|groovy)"
)
_CODE = re.compile(
    rf"\.({_SCRIPT}|py|rb|lua|cr|coffee|php|go|rs|java|kt|scala|groovy|exs?|feature|swift|cs|hs)$"
)

# --- by the folders it lies in ------------------------------------------------------------------

_TESTS = re.compile(
    r"(\w[\w.-]*[._-])?tests|\w*(UnitTests|IntegrationTests)|[\w.-]+\.Test"
    r"|__(tests|test|snapshots|mocks|fixtures)__|testdata|test[-_]data|test[-_]fixtures|testfixtures"
    r"|test[-_]?suites?|androidtest|(integration|unit|functional)[-_]?test|testthat",
    re.IGNORECASE,
)
_SPECS = frozenset(("spec", "specs", "e2e", "cypress", "features"))
_BESIDE_SPECS = frozenset(("fixtures", "support", "data", "factories", "cassettes", "snapshots"))
_COMMANDS = frozenset(("bin", "cli", "cmd", "command", "commands", "actions", "routes"))
_ELSEWHERE = frozenset(("doc", "docs", ".github", "node_modules", "vendor", "third_party"))
_README = re.compile(r"(readme|changelog|contributing)(\.\w+)?", re.IGNORECASE)


def is_test(path: str) -> bool:
    """Return whether the file is a test, or what tests need: data, fixtures, their set-up."""
    *folders, name = PurePosixPath(path).parts or ("",)
    if not name or _README.fullmatch(name) or _is_in_ignored_folder(folders):
        return False
    if _NAME.fullmatch(name):
        return True
    if _JVM.fullmatch(name) and not _product(folders):
        return True
    return any(_holds_tests(folders, at, name) for at in range(len(folders)))


def has_test_name(path: str) -> bool:
    """Return whether programs that run tests look for some in a file of this name."""
    name = PurePosixPath(path).name
    return bool(_NAME.fullmatch(name) or _JVM.fullmatch(name))


def is_test_code(path: str) -> bool:
    """Return whether the file is a test that is written in a programming language."""
    return is_test(path) and find_language(path) != ""


def find_language(path: str) -> str:
    """Return the family of languages that the file's name ends like; empty for anything else."""
    ending = PurePosixPath(path).suffix.lower().removeprefix(".")
    return _LANGUAGES.get(ending, "")


def _is_in_ignored_folder(folders: list[str]) -> bool:
    return bool(folders) and (folders[0] in _ELSEWHERE or "node_modules" in folders)


def _product(folders: list[str]) -> bool:
    """Tell Maven's `src/main`, where a class may well be named `AbTest`."""
    return any(pair == ("src", "main") for pair in pairwise(folders))


def _holds_tests(folders: list[str], at: int, name: str) -> bool:
    """Return whether this one of the folders makes the file a test."""
    folder = folders[at]
    before = folders[at - 1].lower() if at else ""
    if _TESTS.fullmatch(folder) or folder == "t":
        return folder != "t" or name.endswith((".t", ".pl", ".sh", ".bash", ".bats"))
    if folder.lower() == "test":  # `cmd/test` holds a command of that name
        return before not in _COMMANDS
    if folder.lower() in _SPECS:  # `spec/openapi.yaml` describes the product
        below = {part.lower() for part in folders[at + 1 :]}
        return bool(_CODE.search(name) or below & _BESIDE_SPECS) and before not in _COMMANDS
    return False


_LANGUAGES = {
    ending: family
    for family, endings in {
        "python": "py pyi pyx",
        "script": "js jsx cjs mjs ts tsx cts mts vue svelte coffee",
        "go": "go",
        "rust": "rs",
        "jvm": "java kt kts scala groovy",
        "dotnet": "cs fs vb",
        "php": "php",
        "ruby": "rb cr",
        "elixir": "ex exs",
        "swift": "swift",
        "dart": "dart",
        "c": "c cc cpp cxx h hh hpp m mm",
        "shell": "sh bash bats",
        "perl": "pl pm t",
        "other": "lua clj cljc hs erl r jl zig ml purs gleam feature",
    }.items()
    for ending in endings.split()
}
