"""PHP: packages by Composer without scripts or plugins; PHPUnit, and Composer's own scripts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agents.analysis.languages.recipe import (
    InstallRecipe,
    Language,
    SuggestedCheck,
    make_recipe,
    suggest,
)
from agents.analysis.repository_files import RepositoryFiles, table

_INSTALL = "composer install --no-interaction --no-scripts --no-plugins --no-progress"
_LOAD = "composer dump-autoload --no-interaction --no-scripts --no-plugins"
_OF_PHP = re.compile(r"php(?:-\w+)?|(?:ext|lib)-[\w.-]+|composer(?:-\w+)*-api")
"""Names of what comes with PHP and with Composer, and with no package."""
_SCRIPTS = {"test": "php tests", "tests": "php tests", "lint": "php lint", "phpstan": "php types"}


def make_php_recipe(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to install the packages of a PHP project."""
    if "composer.json" not in files.paths:
        return None
    decides = files.match_paths(r"composer\.(json|lock)")
    locked = "composer.lock" in files.paths
    anyway = make_recipe("PHP", "composer", [f"{_INSTALL} --ignore-platform-reqs"], decides)
    if all(map(_OF_PHP.fullmatch, table(files.json("composer.json"), "require"))):
        # Only what checks it is a package, and may be on the machine: PHPUnit often is.
        loading = make_recipe("PHP", "composer", [_LOAD], decides)
        anyway = replace(anyway, otherwise=loading)
    return make_recipe("PHP", "composer", [_INSTALL], decides, locked=locked, otherwise=anyway)


def list_php_checks(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    """Return the tests of a PHP project: PHPUnit itself, which says more, before a script."""
    found = []
    if files.paths & {"phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"}:
        run = "vendor/bin/phpunit"
        found.append(suggest("php tests", run, f"test -e {run} && command -v php"))
        found.append(suggest("php tests", "phpunit", "command -v phpunit"))
    if files.paths & {"phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"}:
        run = "vendor/bin/phpstan"
        found.append(suggest("php types", f"{run} analyse --no-progress", f"test -e {run}"))
    scripts = table(files.json("composer.json"), "scripts")
    return [
        *found,
        *(
            suggest(subject, f"composer run-script {name}", "command -v composer")
            for name, subject in _SCRIPTS.items()
            if name in scripts
        ),
    ]


PHP = Language("PHP", r"composer\.json", "", make_php_recipe, list_php_checks)
