"""Java and Kotlin: Maven and Gradle, each for all modules of its build.

Both fetch much of what they need while they test, so installing goes as far as the tests do. A
wrapper script fetches its tool from the web, and is used only where that has been done.
"""

from __future__ import annotations

from collections.abc import Sequence

from agents.analysis.languages.recipe import (
    InstallRecipe,
    Language,
    SuggestedCheck,
    make_recipe,
    suggest,
)
from agents.analysis.languages.workspaces import list_modules
from agents.analysis.repository_files import RepositoryFiles

_MAVEN = "mvn --batch-mode --no-transfer-progress"
_GRADLE = "gradle --no-daemon --console=plain"
_SETTINGS = ("settings.gradle", "settings.gradle.kts")
_HAS_WRAPPED = "test -x ./{script} && ls ~/{at}/wrapper/dists/*/*/*/bin/{program}"


def make_maven_recipe(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to fetch what a Maven build needs."""
    if "pom.xml" not in files.paths:
        return None
    decides = files.match_paths(r"(.*/)?pom\.xml|\.mvn/.*")
    fetched = make_recipe("Java (Maven)", "mvn", [f"{_MAVEN} dependency:go-offline"], decides)
    test = f"{_MAVEN} -Dmaven.test.failure.ignore=true test"
    return make_recipe("Java (Maven)", "mvn", [test], decides, otherwise=fetched)


def list_maven_checks(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    """Return Maven's tests, which leave reports in each module's `target/surefire-reports`."""
    if "pom.xml" not in files.paths:
        return ()
    options = "--batch-mode --no-transfer-progress --offline --fail-at-end test"
    wrapped = _HAS_WRAPPED.format(script="mvnw", at=".m2", program="mvn")
    return (
        suggest("maven tests", f"mvn {options}", "command -v mvn"),
        suggest("maven tests", f"./mvnw {options}", wrapped),
    )


def make_gradle_recipe(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to fetch what a Gradle build needs."""
    if not _is_gradle(files):
        return None
    decides = files.match_paths(
        r"(.*/)?((build|settings)\.gradle(\.kts)?|gradle\.(properties|lockfile))"
        r"|gradle/.*\.(toml|properties|lockfile|gradle|kts)|buildSrc/.*"
    )
    name, compiles = "Java (Gradle)", f"{_GRADLE} --continue testClasses"
    fetched = make_recipe(name, "gradle", [compiles], decides)
    test = f"{_GRADLE} --continue test"  # what tests need to run is fetched as they begin
    return make_recipe(name, "gradle", [test], decides, otherwise=fetched)


def list_gradle_checks(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    """Return Gradle's tests, which leave reports in each project's `build/test-results`."""
    if not _is_gradle(files):
        return ()
    options = "--no-daemon --console=plain --offline --continue test"
    wrapped = _HAS_WRAPPED.format(script="gradlew", at=".gradle", program="gradle")
    return (
        suggest("gradle tests", f"gradle {options}", "command -v gradle"),
        suggest("gradle tests", f"./gradlew {options}", wrapped),
    )


def _is_gradle(files: RepositoryFiles) -> bool:
    return bool(files.paths & {"build.gradle", "build.gradle.kts", *_SETTINGS})


def _covers_module(files: RepositoryFiles, folder: str) -> bool:
    modules = list_modules(files.texts.get("pom.xml", ""))
    return folder in {each.removeprefix("./").rstrip("/") for each in modules}


def _covers_project(files: RepositoryFiles, folder: str) -> bool:
    """Return whether the folder has no settings of its own below one that has."""
    own = {f"{folder}/{name}" for name in _SETTINGS}
    return bool(files.paths & {*_SETTINGS}) and not files.paths & own


MAVEN = Language("Maven", r"pom\.xml", "", make_maven_recipe, list_maven_checks, _covers_module)
GRADLE = Language(
    "Gradle",
    r"(build|settings)\.gradle(\.kts)?",
    "",
    make_gradle_recipe,
    list_gradle_checks,
    _covers_project,
)
