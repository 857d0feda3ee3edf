"""package.json without a lock file: the requirement itself decides, and begins at the fix."""

import json

import pytest

from agents.pipelines.remediate.ladder import Fix, Level, Refusal, ecosystem_of
from agents.pipelines.remediate.ladder.npm import specs
from agents.pipelines.remediate.ladder.npm.unlocked import UnlockedNpm
from tests.agents.pipelines.remediate.ladder.conftest import TERMS
from tests.agents.pipelines.remediate.ladder.npm.test_npm_real import (
    alerts,
    climb_from,
    has_npm,
    real,
)

__all__ = ["has_npm", "real"]  # fixtures


@pytest.mark.parametrize(
    ("spec", "lowest", "raised", "widened"),
    [
        ("1.2.3", "1.2.3", "1.2.6", "1.2.6"),
        ("v1.2.3", "1.2.3", "v1.2.6", "v1.2.6"),
        ("^1.2.0", "1.2.0", "^1.2.6", "^1.2.6"),
        ("^ 1.2.0", "1.2.0", "^1.2.6", "^1.2.6"),
        ("~1.2.0", "1.2.0", "~1.2.6", "~1.2.6"),
        ("~1.1.0", "1.1.0", None, "~1.2.6"),
        ("~1.1", "1.1.0", None, "~1.2.6"),
        ("1.1.x", "1.1.0", None, "~1.2.6"),
        ("=1.1.*", "1.1.0", None, "~1.2.6"),
        ("^0.9.0", "0.9.0", None, "^1.2.6"),
        (">=1.0.0 <2.0.0", "1.0.0", ">=1.2.6 <2.0.0", ">=1.2.6 <2.0.0"),
        (">= 1.0.0", "1.0.0", ">=1.2.6", ">=1.2.6"),
        (">1.0.0 <=1.9", "1.0.0", ">=1.2.6 <=1.9", ">=1.2.6 <=1.9"),
        (">=1.0.0 <1.2.0", "1.0.0", None, "^1.2.6"),
        ("1.0.0 - 2.0.0", "1.0.0", "1.2.6 - 2.0.0", "1.2.6 - 2.0.0"),
        ("1", "1.0.0", "^1.2.6", "^1.2.6"),
        ("1.x", "1.0.0", "^1.2.6", "^1.2.6"),
        ("1.2.x", "1.2.0", "~1.2.6", "~1.2.6"),
        ("=1.2.*", "1.2.0", "~1.2.6", "~1.2.6"),
        ("0.2 || ^1.0.0", "0.2.0", None, None),
        ("<2.0.0", "", None, None),
        ("*", "", None, None),
        ("", "", None, None),
        ("latest", "", None, None),
        ("git+https://example.com/1.0.0.git", "", None, None),
        ("1.2.3-beta.1", "1.2.3-beta.1", "1.2.6", "1.2.6"),
    ],
)
def test_a_range_names_its_lowest_version_and_moves_to_another(spec, lowest, raised, widened):
    assert specs.floor(spec) == lowest
    assert specs.raise_floor(spec, "1.2.6") == raised
    assert specs.widen_and_raise(spec, "1.2.6") == widened
    for made in filter(None, (raised, widened)):
        assert specs.admits(made, "1.2.6")
        assert not specs.admits(made, "1.2.5")


async def test_the_floor_of_a_range_moves_and_the_file_keeps_its_looks(real):
    text = '{\n    "name": "shop",\n    "dependencies": {"minimist": "^1.2.0", "semver": "*"}\n}\n'
    real.lay({"package.json": text})

    fix = await climb_from(real, alerts("minimist", ">= 1.0.0, < 1.2.6", file="package.json"))

    assert isinstance(fix, Fix), fix.reason
    assert (fix.level, fix.files) == (Level.BUMP, ("package.json",))
    assert (real.folder / "package.json").read_text() == text.replace("^1.2.0", "^1.2.6")
    ran = "`npm install --package-lock-only` accepted the files as they are (exit code 0)."
    assert ran in fix.evidence


@pytest.mark.parametrize("days", [1, 365 * 50])
async def test_nothing_younger_than_the_policy_wants_is_taken(real, days):
    real.lay({"package.json": '{"dependencies": {"minimist": "^1.2.0"}}'})
    about = alerts("minimist", ">= 1.0.0, < 1.2.6", file="package.json")

    fix = await climb_from(real, about, TERMS.model_copy(update={"min_days": days}))

    if days == 1:
        assert isinstance(fix, Fix), fix.reason
    else:
        assert "1.2.6 was published after 1976-" in fix.reason


async def test_what_cannot_be_installed_together_is_no_fix(real):
    """chai-as-promised 7.1.1 asks for chai below 5 as its peer."""
    wanted = {"chai": "^4.3.0", "chai-as-promised": "7.1.1"}
    real.lay({"package.json": json.dumps({"name": "shop", "dependencies": wanted})})

    about = alerts("chai", "< 5.1.0", file="package.json")
    refused = await climb_from(real, about, TERMS.model_copy(update={"majors": True}))

    assert isinstance(refused, Refusal)
    said = "\n".join(step.why for step in refused.steps)
    assert "cannot be installed together any more: " in said
    assert "chai-as-promised" in said


@pytest.mark.parametrize(
    ("files", "known"),
    [
        ({"package.json": "{}"}, True),
        ({"package.json": "{}", "web/package-lock.json": "{}"}, True),
        ({"package.json": "{}", "yarn.lock": ""}, False),
        ({"package.json": "{}", "bun.lockb": ""}, False),
        ({"package.json": "{}", "pnpm-lock.yaml": ""}, False),
    ],
)
def test_it_is_asked_only_where_no_lock_file_holds(tree, files, known):
    tree.lay(files)
    found = ecosystem_of(tree.paths, alerts("minimist", "< 2", file="package.json"))
    assert isinstance(found, UnlockedNpm) is known
