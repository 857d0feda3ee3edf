"""Other bots' pull requests: proved instead of competed with, left to people, or done better."""

import pytest

from agents.errors import RunError
from agents.remediation import result_of
from tests.agents.pipelines.remediate.conftest import GHSA, alert, lock, make_other_pull

MENDS = {"lock.json": lock(flask="3.0.3", jinja2="3.1.4")}


@pytest.fixture
def beside(scene):
    """A scene with an open pull request whose branch has these files."""

    def make(files, *, pull=None, **more):
        place = scene(**more)
        pull = pull or make_other_pull()
        place.head = place.branch(pull.branch, files)
        place.world.alerts.pulls = (pull,)
        return place

    return make


async def test_one_that_mends_it_is_proved_and_not_competed_with(beside):
    place = beside(MENDS)

    outcome = await place.run()

    assert (outcome.kind, result_of(outcome.rule)) == ("comment", "fixed")
    said = place.world.alerts.said[12, "remediate"]
    assert "Every copy of jinja2 (3.1.4) is outside of the ranges" in said
    assert "| `tests` | passed | passed |" in said
    assert not place.pushed
    assert place.world.model.asked == []


async def test_one_that_comes_while_a_fix_is_made_is_named_beside_it(scene):
    """Dependabot opens its own within minutes, when the run has looked already."""
    place = scene()
    looked = place.world.alerts.find_open_pulls

    async def come_later(*package):
        found = await looked(*package)
        place.world.alerts.pulls = (make_other_pull(),)
        return found

    place.world.alerts.find_open_pulls = come_later
    outcome = await place.run()

    assert result_of(outcome.rule) == "fixed"
    assert "#12 of `dependabot[bot]` for the same package came while" in place.pull.body


async def test_nothing_is_said_there_where_nothing_is_to_be_published(beside):
    place = beside(MENDS)

    outcome = await place.run(no_pr=True)

    assert result_of(outcome.rule) == "fixed"
    assert place.world.alerts.said == {}


async def test_what_is_said_there_is_neutral_where_it_has_to_be(beside):
    place = beside(MENDS, advisories=[alert(undisclosed=True)])

    await place.run()

    said = place.world.alerts.said[12, "remediate"]
    assert GHSA not in said
    assert "ulnerab" not in said


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"lock.json": lock(flask="3.0.3", jinja2="3.1.3", x="1")}, "still in a vulnerable range"),
        (MENDS | {"app.py": "evil = 1\n"}, "Files other than manifests and lock files changed"),
        ({"lock.json": lock(flask="4.0.0", jinja2="3.1.4")}, "another major version"),
        (
            {"lock.json": MENDS["lock.json"][:-1] + ', "source": {"jinja2": "evil.example"}}'},
            "would come from evil",
        ),
    ],
)
async def test_one_that_does_not_mend_it_is_done_better(beside, files, why):
    place = beside(files)

    outcome = await place.run()

    assert (outcome.kind, result_of(outcome.rule)) == ("pull_request", "fixed")
    assert "Made instead of #12." in place.pull.body
    assert why in place.pull.body
    assert place.history.commits[place.pull.head][1] == place.base, "nothing of theirs is in it"


@pytest.mark.parametrize(
    ("majors", "advisories", "taken"),
    [
        ("draft", "< 4.0.0", True),
        ("ask", "< 4.0.0", True),
        ("never", "< 4.0.0", False),
        ("draft", "< 3.1.4", False),
    ],
    ids=[
        "nothing else is safe",
        "and it is asked about",
        "the policy wants none",
        "a smaller step is safe",
    ],
)
async def test_another_major_version_is_taken_up_where_nothing_else_is_safe(
    beside, majors, advisories, taken
):
    place = beside(
        {"lock.json": lock(flask="3.0.3", jinja2="4.0.0")},
        policy=f"remediation: {{majors: {majors}}}\n",
        advisories=[alert(advisories)],
        wants={"flask": ["3.0.3"], "jinja2": ["3.1.3", "3.1.4", "4.0.0"]},
    )

    outcome = await place.run(skip_verify=True)

    assert ((12, "remediate") in place.world.alerts.said) is taken
    if taken:
        assert (outcome.kind, place.pushed) == ("comment", {})
        said = place.world.alerts.said[12, "remediate"]
        assert "Version `4.0.0` is another major version" in said


async def test_one_with_which_checks_fail_is_done_anew_from_the_base(beside, acts):
    def check(files):
        return (1, "red") if "9" in files["lock.json"] else (0, "ok")

    mends = {"lock.json": lock(flask="3.0.3", jinja2="3.1.5", other="9")}
    place = beside(mends, check=check)

    outcome = await place.run()

    assert outcome.kind == "pull_request", outcome.text
    assert "checks that passed before fail with it" in place.pull.body
    assert place.history.commits[place.pull.head][1] == place.base


async def test_where_people_are_at_it_they_are_left_alone(beside):
    place = beside(MENDS, pull=make_other_pull(pushed_by=("mara",)))

    outcome = await place.run()

    assert (outcome.kind, result_of(outcome.rule)) == ("covered", "nothing_to_do")
    assert "mara has pushed to #12" in outcome.text
    assert (place.pushed, place.world.alerts.said) == ({}, {})


async def test_fettles_own_that_still_waits_is_not_made_twice(beside):
    place = beside(MENDS, pull=make_other_pull(own=True, author="fettle[bot]"))

    outcome = await place.run()

    assert (outcome.kind, result_of(outcome.rule)) == ("covered", "nothing_to_do")
    assert "it waits for somebody to merge it" in outcome.text


@pytest.mark.parametrize(
    "pull",
    [
        make_other_pull(base="release"),
        make_other_pull(foreign=True),
        make_other_pull(pushed_by=("evil",), foreign=True),
    ],
)
async def test_what_is_for_elsewhere_or_from_a_fork_counts_for_nothing(beside, pull):
    place = beside(MENDS, pull=pull)

    outcome = await place.run()

    assert outcome.kind == "pull_request"
    assert "instead" not in place.pull.body


async def test_one_whose_branch_is_gone_is_no_help(beside):
    place = beside(MENDS)
    place.world.source.branches.clear()

    outcome = await place.run()

    assert outcome.kind == "pull_request"
    assert "its branch is gone" in place.pull.body


async def test_nothing_of_theirs_is_kept_under_our_name_when_a_run_breaks_off(beside):
    def check(files):
        if "3.1.4" in files["lock.json"]:
            raise RunError("The sandbox is gone.")
        return 0, "ok"

    place = beside(MENDS, check=check)

    outcome = await place.run()

    assert (outcome.kind, result_of(outcome.rule)) == ("failed", "infra_error")
    assert not place.pushed
