"""No proof, no pull request: a lock file that nobody here can read is accepted by its own tool."""

import pytest

from agents.pipelines.remediate.frozen_locks import (
    explain_recipe,
    find_locks,
    list_accepted,
    list_unproved,
)
from agents.pipelines.remediate.ladder import Group
from agents.ports import SetupCommand, SetupResult
from agents.remediation import result_of
from tests.agents.pipelines.remediate.conftest import alert

YARN = "yarn install --frozen-lockfile --ignore-scripts --non-interactive"
OLD = 'jinja2@^3.1.3:\n  version "3.1.3"\n  integrity sha512-old\n'
INVENTED = 'jinja2@^3.1.3:\n  version "3.1.4"\n  integrity sha512-invented\n'


def make_setup(*commands, problems=()):
    made = tuple(
        SetupCommand(command=command, exit_code=code, seconds=1, output="")
        for command, code in commands
    )
    return SetupResult(source="found", commands=made, problems=problems)


@pytest.fixture
def yarned(scene, acts):
    """A repository with a lock of yarn, whose set-up ends as it is told, before and after."""

    def make(*ends):
        answers = [acts.write("yarn.lock", INVENTED), acts.change(), acts.stands(), acts.sums_up()]
        place = scene(
            answers,
            advisories=[alert(ecosystem="npm", manifest="yarn.lock")],
            files={"yarn.lock": OLD, "package.json": "{}"},
            known=False,
        )
        results = iter(ends)
        last = ends[-1]

        async def set_up(base, policy, image=None):
            place.world.source.bases.append(base)
            return next(results, last)

        place.world.source.set_up = set_up
        return place

    return make


async def test_where_no_tool_runs_no_model_is_asked_and_people_get_the_recipe(yarned):
    place = yarned(make_setup())

    outcome = await place.run(ecosystem="npm")

    assert result_of(outcome.rule) != "fixed"
    assert (
        "`yarn up -R jinja2` (with yarn 1 `yarn upgrade jinja2`) in the repository's root"
        in outcome.text
    )
    assert "its tool did not run here" in outcome.text
    assert place.world.model.asked == []
    assert not place.pushed


async def test_a_lock_that_its_tool_refused_before_is_left_to_people(yarned):
    place = yarned(make_setup((YARN, 1), problems=("yarn could not install.",)))

    outcome = await place.run(ecosystem="npm")

    assert "ended with exit code 1" in outcome.text
    assert not place.pushed


async def test_hashes_that_a_model_made_up_are_refused_by_the_tool(yarned):
    place = yarned(make_setup((YARN, 0)), make_setup((YARN, 1), ("yarn install", 0)))

    outcome = await place.run(ecosystem="npm", max_iterations=1)

    assert result_of(outcome.rule) == "verify_failed"
    assert not place.pushed


async def test_what_the_tool_accepted_is_published_with_the_command_that_did(yarned):
    place = yarned(make_setup((YARN, 0)))

    outcome = await place.run(ecosystem="npm")

    assert result_of(outcome.rule) == "fixed", outcome.text
    assert f"`{YARN}` accepted `yarn.lock` as it is (exit code 0)." in place.told


GROUP = Group(
    repository="o/s", ecosystem="npm", package="left", directory="web/ui", advisories=(alert(),)
)


def test_the_nearest_lock_of_the_ecosystem_holds():
    paths = ("yarn.lock", "web/yarn.lock", "web/Pipfile.lock", "api/yarn.lock")
    assert find_locks(paths, GROUP) == ("web/yarn.lock",)
    assert find_locks(("yarn.lock",), GROUP) == ("yarn.lock",)
    assert find_locks(("Pipfile.lock", "other/yarn.lock"), GROUP) == ()


@pytest.mark.parametrize(
    ("lock", "accepted", "refused"),
    [
        ("yarn.lock", YARN, "yarn install --no-lockfile"),
        ("yarn.lock", "yarn install --immutable --mode=skip-build", "yarn install"),
        ("bun.lock", "bun install --frozen-lockfile --ignore-scripts", "bun install"),
        (
            "pnpm-lock.yaml",
            "pnpm install --frozen-lockfile --ignore-scripts",
            "pnpm install --no-frozen-lockfile",
        ),
        ("package-lock.json", "npm ci --ignore-scripts", "npm install"),
        ("go.sum", "go mod download", "go build"),
        ("Pipfile.lock", "pipenv sync --dev", "pipenv install"),
        ("pdm.lock", "pdm install --frozen-lockfile -G :all", "pdm install"),
        ("uv.lock", "uv sync --frozen --all-extras", "uv sync"),
        ("Cargo.lock", "cargo fetch --locked", "cargo fetch"),
        ("Gemfile.lock", "BUNDLE_FROZEN=true bundle install", "bundle install"),
        ("composer.lock", "composer install --no-interaction", "composer update"),
    ],
)
def test_only_an_install_that_holds_to_the_lock_is_a_proof(lock, accepted, refused):
    good, other = make_setup((accepted, 0)), make_setup((refused, 0))
    assert list_unproved([lock], good) == []
    assert len(list_accepted([lock], good)) == 1
    assert len(list_unproved([lock], other)) == 1
    assert list_accepted([lock], other) == []
    assert list_accepted([lock], make_setup((accepted, 1))) == []
    assert lock in explain_recipe([lock], other, GROUP)
    assert explain_recipe([lock], good, GROUP) == ""
