"""C and C++: CMake, Meson, Autotools, and the targets of a Makefile, whatever it builds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.analysis.languages.recipe import COVER_ALL, Language, SuggestedCheck, suggest
from agents.analysis.repository_files import RepositoryFiles

_HAS_TESTS = re.compile(
    r"\b(?:enable_testing|add_test|\w{1,40}_discover_tests)\s{0,9}\("
    r"|\binclude\s{0,9}\(\s{0,9}CTest\b"
)
_CMAKE = "cmake -S . -B {at} -DBUILD_TESTING=ON && cmake --build {at} --parallel 2"
_CTEST = "ctest --output-on-failure --no-tests=error"
_TARGETS = {"test": "tests", "check": "tests", "lint": "lint"}


def list_cmake_checks(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    """Return CMake's build, and CTest's tests where the project has some."""
    if "CMakeLists.txt" not in files.paths:
        return ()
    at = _choose_folder(files)
    build = _CMAKE.format(at=at)
    lists = (text for name, text in files.texts.items() if name.endswith("CMakeLists.txt"))
    if not any(map(_HAS_TESTS.search, lists)):
        return (suggest("cmake build", build, "command -v cmake"),)
    return (suggest("cmake tests", f"{build} && cd {at} && {_CTEST}", "command -v cmake"),)


def list_meson_checks(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    """Return Meson's tests; they leave a report in the build's `meson-logs`."""
    if "meson.build" not in files.paths:
        return ()
    at = _choose_folder(files)
    command = f"meson setup {at} && meson test -C {at} --print-errorlogs"
    return (suggest("meson tests", command, "command -v meson && command -v ninja"),)


def list_make_checks(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    """Return the targets of a Makefile that check the project, and those of Autotools."""
    if "configure" in files.paths and "Makefile.in" in files.paths:
        command = "./configure --quiet && make --silent && make check"
        return (suggest("tests", command, "command -v make && command -v cc"),)
    return [
        suggest(subject, f"make {target}", "command -v make")
        for target, subject in _TARGETS.items()
        if files.mentions("Makefile", rf"^{target}\s*:")
    ]


def _choose_folder(files: RepositoryFiles) -> str:
    """Return a folder to build in that holds no sources."""
    at = "build"
    while any(path.startswith(f"{at}/") for path in files.paths):
        at = f"_{at}"
    return at


def _need_nothing(_: RepositoryFiles) -> None:
    return None


CMAKE = Language("CMake", r"CMakeLists\.txt", "", _need_nothing, list_cmake_checks, COVER_ALL)
MESON = Language("Meson", r"meson\.build", "", _need_nothing, list_meson_checks, COVER_ALL)
MAKE = Language("Make", r"Makefile(\.in)?", "", _need_nothing, list_make_checks, COVER_ALL)
