"""The registry of ecosystems that the ladder supports."""

from __future__ import annotations

from agents.pipelines.remediate.ladder.ecosystem import Ecosystem, Find
from agents.pipelines.remediate.ladder.npm import adapter as npm
from agents.pipelines.remediate.ladder.pnpm import adapter as pnpm
from agents.pipelines.remediate.ladder.python import pip, poetry, uv
from agents.pipelines.remediate.ladder.values import Group

FINDERS: tuple[Find, ...] = (
    uv.find,
    poetry.find,
    pip.find,
    npm.find,
    pnpm.find,
)
"""Asked in turn; the first that knows the files has them."""


def ecosystem_of(paths: frozenset[str], group: Group) -> Ecosystem | None:
    """Return what knows the files that the alerts are about, or None: then it is for a model."""
    found = (find(paths, group) for find in FINDERS)
    return next((each for each in found if each is not None), None)
