"""Alerts about GitHub Actions: code changes workflows and proves it, and a model never does."""

import pytest

from agents.pipelines.remediate.ladder import Refusal
from agents.pipelines.remediate.work import Work
from agents.policy import POLICY_PATH
from agents.remediation import result_of
from agents.text.actions import AllowedEffects
from agents.text.rendered import find_effects
from tests.agents.pipelines.remediate.conftest import (
    QUALITY,
    AlertedRepository,
    alert,
    make_other_pull,
)
from tests.fakes.alerts import MemoryActionReleases
from tests.fakes.requests import build_remediate_alert, build_repository

CI = ".github/workflows/ci.yml"
TEXT = "jobs: {a: {steps: [{uses: actions/checkout@v4.1.2}]}}\n"
FIXED = TEXT.replace("4.1.2", "4.1.3")
TAGS = {"v4.1.2": "2" * 40, "v4.1.3": "3" * 40, "v4": "3" * 40, "v5.0.0": "5" * 40}


@pytest.fixture
def acting(make_world, talk):
    def make(answers=(), *, text=TEXT, policy="", patched="4.1.3", check=None, **more):
        about = {
            "package": "actions/checkout",
            "ecosystem": "actions",
            "manifest": CI,
            "first_patched": patched,
        }
        told = alert(f"< {patched}").model_copy(update=about)
        world = make_world(
            {CI: text, POLICY_PATH: QUALITY + policy, "app.py": "x = 1\n"},
            answers,
            alerts=talk.Alerts(advisories=(told,)),
            actions=MemoryActionReleases(TAGS, **more),
            commands={"check": check or (0, "3 passed")},
        )
        request = build_remediate_alert(
            repository=build_repository(name="shop"), ecosystem="actions",
            package="actions/checkout", directory="",
        )  # fmt: skip
        return AlertedRepository(world, request, None)

    return make


async def test_a_fix_by_code_says_to_the_commit_which_action_it_moves(acting):
    place = acting()

    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed", outcome.text
    assert place.files[CI] == FIXED
    [tree, *_] = [each for each in place.world.source.opened if each.moved_actions]
    assert tree.moved_actions == ["actions/checkout"]
    assert "The repository's own requirement names the new version." in place.pull.body
    assert "GitHub has each new ref at the commit of its release" in place.told
    assert place.world.model.asked == []


async def test_other_actions_go_along_each_in_a_commit_that_moves_it_alone(acting):
    place = acting(text=f"{TEXT[:-4]}, {{uses: Actions/Cache/save@{'2' * 40}}}]}}}}\n")
    alerts = place.world.alerts
    [told] = alerts.advisories
    other = {"package": "actions/cache", "ghsa_id": "GHSA-2222-3333-4444", "alert": 6}
    alerts.others = (told.model_copy(update=other),)

    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed", outcome.text
    assert place.files[CI] == f"{FIXED[:-4]}, {{uses: Actions/Cache/save@{'3' * 40}}}]}}}}\n"
    moved = [each for tree in place.world.source.opened for each in tree.moved_actions]
    assert moved == ["actions/checkout", "actions/cache"]
    assert [each.partition("\n")[0] for each in place.messages] == [
        "Update actions/checkout from 4.1.2 to 4.1.3",
        "Update actions/cache from 4.1.2 to 4.1.3",
    ]
    assert place.world.model.asked == []


async def test_a_run_that_was_asked_for_before_goes_on(acting):
    place = acting()
    assert result_of((await place.run(directory=".github/workflows")).rule) == "fixed"


async def test_a_tag_that_stands_at_the_fix_by_now_is_told(acting):
    place = acting(text=TEXT.replace("v4.1.2", "v4"))

    outcome = await place.run()

    assert result_of(outcome.rule) == "nothing_to_do"
    assert f"`actions/checkout` at `v4` in `{CI}:1` stands at 4.1.3 by now." in outcome.text
    assert not place.pushed


@pytest.mark.parametrize(
    "more",
    [
        {"text": "on: push\n"},
        {"text": TEXT.replace("v4.1.2", "main")},
        {"name": ""},
        {"name": "evil/checkout"},
        {"permitted": False},
        {"policy": "remediation: {majors: never}\n", "patched": "5.0.0"},
        {"patched": "6.0.0"},
    ],
)
async def test_where_code_finds_no_way_no_model_is_asked(acting, more):
    place = acting(**more)

    outcome = await place.run()

    assert result_of(outcome.rule) in ("fix_failed", "infra_error", "nothing_to_do")
    assert place.world.model.asked == []
    assert not place.pushed


async def test_another_major_version_is_a_draft_with_the_checks(acting, acts):
    place = acting([acts.stands(), acts.sums_up()], patched="5.0.0")

    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed", outcome.text
    assert place.files[CI] == TEXT.replace("v4.1.2", "v5.0.0")
    assert place.pull.draft


async def test_a_bots_own_pull_request_is_proved(acting):
    place = acting(permitted=False)
    pull = make_other_pull(branch="dependabot/github_actions/actions/checkout-4.1.3")
    place.world.alerts.pulls = (pull,)
    place.branch(pull.branch, {CI: FIXED})

    outcome = await place.run()

    assert (outcome.kind, result_of(outcome.rule)) == ("comment", "fixed"), outcome.text


async def test_one_that_changes_more_than_the_ref_is_not_taken_up(acting):
    place = acting()
    pull = make_other_pull(branch="dependabot/github_actions/actions/checkout-4.1.3")
    place.world.alerts.pulls = (pull,)
    place.branch(pull.branch, {CI: f"{FIXED}on: pull_request_target\n"})

    outcome = await place.run()

    assert outcome.kind == "pull_request"
    assert "does not differ in refs of the action alone" in place.pull.body


def test_whatever_stands_in_the_way_it_is_for_no_model(acting):
    refusal = Refusal(cause="no_rung", reason="Every rung was tried.")
    found = {"commit": "c", "group": {"repository": "o/n", "package": "a/b", "advisories": ()}}
    for ecosystem, wanted in (("actions", False), ("npm", True)):
        group = {**found["group"], "ecosystem": ecosystem}
        work = Work.model_validate({"found": {**found, "group": group}, "refusal": refusal})
        assert work.wants_engineer is wanted


NOTES = "Checks hosts.\r\nSee ![x](https://evil.example/p.png) and @octocat.\n\nFixes #1\n"


async def test_the_releases_in_between_say_what_changed_newest_first(acting):
    tags = {**TAGS, "v4.1.1": "1" * 40, "v4.1.5": "9" * 40, "v4.2.0": "8" * 40}
    notes = {"v4.1.1": "Long ago.", "v4.1.3": "Checks hosts.", "v4.2.0": "Not yet."}
    place = acting(patched="4.1.5", notes=notes | {"v4.1.5": "Mends it."})
    place.world.actions.tags = tags

    await place.run()

    assert "v4.1.5\n\nMends it.\n\nv4.1.3\n\nChecks hosts." in place.told
    assert "Long ago" not in place.told
    assert "Not yet" not in place.told
    asked = [each[2] for each in place.world.actions.asked if each[0] == "notes"]
    assert asked == [("v4.1.5", "v4.1.3")]


async def test_a_releases_words_neither_act_nor_end_their_block(acting):
    marker = "<!-- fettle run=x key=pull-request -->"
    hostile = f"{NOTES}```\n<script>x</script></details>\n{marker}\u202e"
    place = acting(notes={"v4.1.3": hostile + "\n" + "y" * 5_000 + "\n" * 90 + "last line"})

    await place.run()

    assert "Checks hosts." in place.told
    assert "<!-- fettle run=x" not in place.told
    assert "\u202e" not in place.told
    assert "last line" not in place.told
    alive = find_effects(place.told, AllowedEffects(place.request.repository_url))
    assert not [each for each in alive if "octocat" in str(each) or "evil" in str(each)]
    assert "y" * 301 not in place.told


async def test_without_words_of_its_authors_the_pull_request_claims_none(acting):
    place = acting()
    await place.run()
    assert "release notes" not in place.told.lower()
