"""An override whose day has come: taken out if nothing speaks for it, usually without a token."""

import json
from datetime import date

import pytest

from agents.remediation import result_of
from agents.requests import Retire
from tests.agents.pipelines.remediate.conftest import GHSA, RELEASES, alert, make_other_pull

REASON = f"{GHSA}: overrules other packages; look at it again by 2026-11-20"
MADE = Retire(
    versions=(("3.1.3", "3.1.4"),), reason=REASON, until=date(2026, 11, 20), run_id="0", days=30
)
ADMITS = {("flask", version): {"jinja2": ["3.1.3", "3.1.4"]} for version in RELEASES["flask"]}
MENDED = {("flask", version): {"jinja2": ["3.1.4"]} for version in RELEASES["flask"][1:]}
MENDED |= {("flask", "3.0.3"): {"jinja2": ["3.1.3"]}}
WANTS = {"flask": RELEASES["flask"]}
NEEDS = {("flask", version): {"jinja2": ["3.1.3"]} for version in RELEASES["flask"]}


@pytest.fixture
def aged(scene):
    def make(answers=(), *, needs, over=REASON, closed=None, **more):
        lock = {"versions": {"flask": "3.0.3", "jinja2": "3.1.4"}, "over": {"jinja2": over}}
        lock |= {} if over else {"over": {}}
        files = {"lock.json": json.dumps(lock)} | more.pop("files", {})
        place = scene(answers, needs=needs, advisories=(), files=files, **more)
        place.index.back = {"jinja2": "3.1.3"}
        alerts = place.world.alerts if hasattr(place.world, "alerts") else None
        alerts = alerts or place.world.ports().alerts
        alerts.numbers = tuple([alert()] if closed is None else closed)
        alerts.closed = {each.alert: "fixed" for each in alerts.numbers}
        place.alerts = alerts
        title = "Do without the override of jinja2"
        place.request = place.request.model_copy(
            update={"retire": MADE, "alerts": (5,), "via": "schedule", "title": title}
        )
        return place

    return make


async def test_one_that_nobody_needs_is_removed_without_a_token(aged):
    place = aged(needs=ADMITS)
    outcome = await place.run()
    assert (outcome.kind, result_of(outcome.rule)) == ("pull_request", "fixed")
    assert place.world.model.asked == []
    assert json.loads(place.files["lock.json"]) == {
        "versions": {"flask": "3.0.3", "jinja2": "3.1.4"}
    }
    assert place.pull.title == "Remove the override of jinja2"
    [message] = place.messages
    assert message.startswith(
        "Remove the override of jinja2\n\nWithout it every copy is outside of the vulnerable ranges"
        f" of {GHSA} as well."
    )
    for line in (
        "The override of `jinja2` (`3.1.3` to `3.1.4`) was to be looked at again by 2026-11-20.",
        "It is not needed any more: every copy is safe without it.",
        "### Without it",
        "No package moved.",
        "| `tests` | passed | passed |",
        "- Every copy of jinja2 (3.1.4) is outside of the ranges of 1 alert.",
        "It cost nothing.",
        "Fettle looks again in 30 days",
    ):
        assert line in place.told
    assert len(place.pull.body.split()) < 500


async def test_one_that_is_needed_stays_without_a_word_and_without_a_check(aged):
    place = aged(needs=NEEDS)
    outcome = await place.run()
    assert (outcome.kind, result_of(outcome.rule)) == ("covered", "nothing_to_do")
    assert outcome.text.startswith("Still needed: without it flask 3.0.3 asks for jinja2")
    assert "It stays." in outcome.report
    assert place.pushed == {}
    assert place.world.model.asked == []


async def test_one_without_which_checks_fail_stays(aged):
    done = []

    def check(*_):
        done.append(1)
        return (0, "3 passed") if len(done) == 1 else (1, "1 failed")

    place = aged(needs=ADMITS, check=check)
    outcome = await place.run()
    assert (outcome.kind, result_of(outcome.rule)) == ("covered", "nothing_to_do")
    assert outcome.text.startswith("Still needed. The check `tests`")
    assert place.pushed == {}
    assert place.world.model.asked == []


@pytest.mark.parametrize(
    ("over", "said"), [("", "not there any more"), ("because", "somebody has changed the override")]
)
async def test_one_that_is_gone_or_theirs_is_let_go(aged, over, said):
    place = aged(needs=ADMITS, over=over)
    outcome = await place.run()
    assert result_of(outcome.rule) == "nothing_to_do"
    assert said in outcome.text
    assert outcome.details["let_go"] is True
    assert place.pushed == {}


async def test_open_alerts_count_as_well(aged):
    place = aged(needs=ADMITS)
    place.alerts.advisories = (alert("< 3.1.5", 6),)
    outcome = await place.run()
    assert outcome.kind == "covered"
    assert outcome.details["found"]["closed"] == [5]
    assert place.pushed == {}


async def test_alerts_that_are_gone_prove_nothing(aged):
    place = aged(needs=ADMITS, closed=())
    outcome = await place.run()
    assert "does not know the alerts about jinja2" in outcome.text
    assert outcome.details["let_go"] is False


async def test_what_is_not_public_is_not_told(aged):
    place = aged(needs=ADMITS, closed=[alert(undisclosed=True)])
    await place.run()
    assert place.pull.title == "Remove the override of jinja2"
    assert place.messages == ["Remove the override of jinja2"] or GHSA not in place.messages[0]
    assert GHSA not in place.pull.body
    assert "< 3.1.4" not in place.pull.body


@pytest.mark.parametrize("more", [{"own": True}, {"pushed_by": ("mara",)}])
async def test_whoever_is_at_the_package_comes_first(aged, more):
    place = aged(needs=ADMITS)
    place.alerts.pulls = (make_other_pull(**more),)
    outcome = await place.run()
    assert (outcome.kind, result_of(outcome.rule)) == ("covered", "nothing_to_do")
    assert "#12" in outcome.text
    assert place.pushed == {}


async def test_an_advisory_about_what_would_come_in_keeps_it(aged):
    place = aged(needs=MENDED,
                 wants=WANTS)  # fmt: skip
    place.alerts.database = (alert("= 3.0.4").model_copy(update={"package": "flask", "alert": 0}),)
    outcome = await place.run()
    assert outcome.kind == "covered"
    assert outcome.text.startswith("Still needed. With it would come flask")
    assert place.pushed == {}


async def test_where_a_release_of_others_comes_along_a_judge_looks(aged, acts):
    place = aged(
        [acts.stands(), acts.sums_up()],
        needs=MENDED,
        wants=WANTS,
    )
    outcome = await place.run()
    assert outcome.kind == "pull_request", outcome.text
    assert "Another package moves to its first release" in place.pull.body
    assert json.loads(place.files["lock.json"])["versions"] == {"flask": "3.0.4", "jinja2": "3.1.4"}
