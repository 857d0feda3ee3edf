"""Which ecosystem knows the files that a group of alerts is about.

A new one is a module with a function `find`, and a line here.
"""

from __future__ import annotations

from typing import Protocol

from agents.pipelines.remediate.ladder.actions import adapter as actions
from agents.pipelines.remediate.ladder.bundler import adapter as bundler
from agents.pipelines.remediate.ladder.cargo import adapter as cargo
from agents.pipelines.remediate.ladder.composer import adapter as composer
from agents.pipelines.remediate.ladder.ecosystem import Ecosystem
from agents.pipelines.remediate.ladder.go import adapter as go
from agents.pipelines.remediate.ladder.npm import adapter as npm
from agents.pipelines.remediate.ladder.npm import unlocked as unlocked_npm
from agents.pipelines.remediate.ladder.pnpm import adapter as pnpm
from agents.pipelines.remediate.ladder.python import pdm, pip, pipenv, poetry, uv
from agents.pipelines.remediate.ladder.python import unlocked as unlocked_python
from agents.pipelines.remediate.ladder.values import Group
from agents.pipelines.remediate.ladder.yarn import adapter as yarn
from agents.ports import ActionReleases


class Find(Protocol):
    """Finds out whether an ecosystem knows the files that a group of alerts is about."""

    def __call__(self, paths: frozenset[str], group: Group) -> Ecosystem | None:
        """Return the ecosystem for that place, or None; the paths are all files of the commit."""
        ...


FINDERS: tuple[Find, ...] = (
    uv.find,
    poetry.find,
    pdm.find,
    pipenv.find,
    pip.find,
    npm.find,
    pnpm.find,
    yarn.find,
    go.find,
    cargo.find,
    composer.find,
    bundler.find,
    unlocked_python.find,
    unlocked_npm.find,
    actions.find,
)
"""Asked in turn; the first that knows the files has them."""


def ecosystem_of(
    paths: frozenset[str], group: Group, releases: ActionReleases | None = None
) -> Ecosystem | None:
    """Return what knows the files that the alerts are about, or None: then it is for a model.

    `releases`: the way to those that lie on GitHub alone; None: there is none.
    """
    found = (find(paths, group) for find in FINDERS)
    ecosystem = next((each for each in found if each is not None), None)
    return ecosystem.read_from(releases) if isinstance(ecosystem, actions.Actions) else ecosystem
