"""What moves along with a fix: how much of it is too much."""

import pytest

from agents.pipelines.remediate.ladder import PYPI, Entry, Fix, Level, Locked, climb
from agents.pipelines.remediate.ladder.checked import list_moves
from tests.agents.pipelines.remediate.ladder.conftest import (
    TERMS,
    MadeUpEcosystem,
    group,
    lay_index,
)

BUILDS = [f"build-{number}" for number in range(30)]
ALERTS = group("bundler", "< 1.1")


async def climb_with_builds(tree, *, also_needed_by=(), wanted=()):
    """Move a package that has a build of the same version for each of many platforms."""
    both = ["1.0", "1.1"]
    needs = {("bundler", version): dict.fromkeys(BUILDS, both) for version in both}
    needs |= {(name, "1.0"): dict.fromkeys(BUILDS, both) for name in also_needed_by}
    names = ["bundler", *BUILDS, *also_needed_by]
    lay_index(tree, dict.fromkeys(names, "1.0"), dict.fromkeys(wanted, both))
    ecosystem = MadeUpEcosystem(
        {"bundler": both},
        needs,
        sabotage=lambda files: files["lock.json"]["versions"].update(dict.fromkeys(BUILDS, "1.1")),
    )
    return await climb(tree, ecosystem, ALERTS, TERMS)


async def test_a_packages_own_builds_for_each_platform_are_no_other_packages(tree):
    fix = await climb_with_builds(tree)

    assert isinstance(fix, Fix)
    assert fix.level is Level.FLOAT
    assert len(fix.forced) == len(BUILDS), "what moved is told all the same"


@pytest.mark.parametrize("more", [{"also_needed_by": ["other"]}, {"wanted": BUILDS}])
async def test_what_others_need_as_well_counts_as_moved(tree, more):
    refusal = await climb_with_builds(tree, **more)

    assert "30 other packages would move" in refusal.steps[0].why


@pytest.mark.parametrize(
    ("old", "new", "delta"),
    [
        (("1.26.18", "2.0.4"), ("2.0.7",), "major"),
        (("1.26.18", "2.0.4"), ("1.26.18", "2.0.7"), "patch"),
        (("1.26.18", "2.0.4"), ("1.26.19", "2.1.0"), "minor"),
        (("1.26.18", "2.0.4"), ("2.0.4",), None),
    ],
)
def test_a_line_of_versions_that_ends_is_no_small_step(old, new, delta):
    before, after = (
        Locked(entries=tuple(Entry(key=each, name="urllib3", version=each) for each in versions))
        for versions in (old, new)
    )

    [move] = list_moves(PYPI, before, after, {"urllib3"})

    assert move.delta == delta
