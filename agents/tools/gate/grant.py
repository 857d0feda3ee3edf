"""What people granted a run with its plan: packages and protected paths that take no other yes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from agents.analysis.python_packages import normalize
from agents.policy import is_for_people_alone, matches_path
from agents.requests import Frozen
from agents.tools.gate.rules import Finding

if TYPE_CHECKING:
    from agents.analysis.known_packages import KnownPackages

PROTECTED = "path/protected"
PACKAGE = re.compile(
    r"pip:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
    r"|npm:(?:@[a-z0-9][\w.-]{0,99}/)?[a-z0-9][\w.-]{0,99}",
    re.ASCII,
)


class PlanGrant(Frozen):
    """A bounded permission for one run, bound to the plan that it was asked for with."""

    run: str = ""
    """The run that may use it: one that takes up its work may not."""
    packages: tuple[str, ...] = ()
    """Each as `pip:NAME` or `npm:NAME`."""
    paths: tuple[str, ...] = ()
    """Patterns of protected paths, as in .gitignore."""
    approval: str = ""
    by: str = ""

    def widen(self, known: KnownPackages) -> KnownPackages:
        """Return the known packages with those that were granted."""
        named = (each.split(":", 1) for each in self.packages)
        granted = {(tool, normalize(tool, name)) for tool, name in named}
        return replace(known, names=known.names | granted)

    def covers(self, finding: Finding) -> bool:
        """Return whether the finding is about protected paths that were granted, and no others."""
        return finding.rule == PROTECTED and all(map(self.admits, finding.paths or ("",)))

    def admits(self, path: str) -> bool:
        """Return whether this protected path was granted; what only people change never is."""
        fits = any(matches_path(each, path) for each in self.paths) if path else False
        return fits and not is_for_people_alone(path)

    def list_uses(
        self, installed: Iterable[str], changed: Collection[str]
    ) -> list[tuple[str, bool]]:
        """Return each part of it, and whether it was used.

        `installed`: the commands that installed something; `changed`: the paths of the change.
        """
        commands = " ".join(installed).casefold()
        packages = [
            (each, re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", commands) is not None)
            for each in self.packages
            for name in [each.split(":", 1)[1].casefold()]
        ]
        return [*packages, *((p, any(matches_path(p, c) for c in changed)) for p in self.paths)]


def is_bounded(pattern: str) -> bool:
    """Return whether the pattern names a file or folder, and not all of them."""
    return bool(re.search(r"[A-Za-z0-9_]", pattern)) and not pattern.startswith(("!", "#"))
