"""The remediate pipeline on fakes: what is fixed without a model, and how every run ends."""

import json

import pytest

from agents.pipelines.registry import PIPELINES
from agents.pipelines.remediate.ladder import Unfit
from agents.remediation import result_of
from agents.requests import RemediateAlert
from tests.agents.pipelines.remediate.conftest import GHSA, URL, alert, lock
from tests.fakes.people import MemorySteering


async def test_a_small_move_is_made_and_published_without_a_token(scene):
    place = scene()

    outcome = await place.run()

    assert (outcome.kind, result_of(outcome.rule)) == ("pull_request", "fixed")
    assert place.world.model.asked == []
    assert json.loads(place.files["lock.json"])["versions"]["jinja2"] == "3.1.4"
    assert place.pull.title == "Update jinja2 from 3.1.3 to 3.1.4"
    [message] = place.messages
    assert message.startswith(
        f"{place.pull.title}\n\nMoves it out of the vulnerable ranges of {GHSA}"
    )
    [branch] = place.pushed
    assert branch.startswith("bot/deps-jinja2-")
    body = place.pull.body
    assert f"- High severity (`{GHSA}`, `CVE-2024-34064`). Affected: `< 3.1.4`." in body
    assert f"[Alert 5]({URL}/security/dependabot/5)." in body
    assert "Only the lock file changes: every requirement stays as it is." in body
    assert "Checked: `tests` passed." in body
    assert "| `tests` | passed | passed |" in place.told
    assert "It cost nothing." in place.told
    assert len(body.split()) <= 500


async def test_the_repositorys_template_stands_around_the_report(scene):
    template = "## Summary\n\nWhat is it?\n\n## Checklist\n- [ ] I ran the tests\n"
    place = scene(files={".github/pull_request_template.md": template})

    await place.run()

    body = place.pull.body
    assert body.startswith("## Summary\n\n")
    assert body.endswith("## Checklist\n\n- [ ] I ran the tests")
    assert "Checked: `tests` passed." in body
    assert "What is it?" not in body


async def test_the_dependencies_of_the_fix_are_installed_before_its_checks_run(scene):
    place = scene()
    set_up, order = place.world.source.set_up, []

    async def note_set_up(base, policy, image=None, *, own=False):
        order.append(base)
        return await set_up(base, policy)

    place.world.source.set_up = note_set_up
    await place.run()

    [head] = place.pushed.values()
    assert order == [place.base, head]


async def test_all_alerts_of_the_package_are_mended_at_once(scene):
    place = scene(advisories=[alert(), alert(">= 3.1.0, < 3.1.5", 6, severity="low")])

    await place.run()

    assert json.loads(place.files["lock.json"])["versions"]["jinja2"] == "3.1.5"


async def test_alerts_of_another_folder_are_another_runs(scene):
    place = scene(advisories=[alert(manifest="sub/lock.json")])

    outcome = await place.run()

    assert result_of(outcome.rule) == "nothing_to_do"
    assert "no open alert" in outcome.text


@pytest.mark.parametrize(
    ("policy", "alerts", "result"),
    [
        ("", [alert(severity="medium")], "nothing_to_do"),
        ("remediation: {severities: [medium]}\n", [alert(severity="medium")], "fixed"),
        ("remediation: {severities: []}\n", [alert()], "nothing_to_do"),
        ("remediation: {scope: runtime}\n", [alert(scope="development")], "nothing_to_do"),
        ("remediation: {scope: all}\n", [alert(scope="development")], "fixed"),
        ("remediation: {scope: runtime}\n", [alert(scope="runtime")], "fixed"),
    ],
)
async def test_the_policy_says_which_alerts_are_mended(scene, policy, alerts, result):
    place = scene(policy=policy, advisories=alerts)

    outcome = await place.run()

    assert result_of(outcome.rule) == result
    assert bool(place.pushed) == (result == "fixed")


async def test_where_the_age_of_a_release_cannot_be_told_the_policy_holds_it_back(scene):
    place = scene(policy="remediation: {min_release_days: 7}\n")

    outcome = await place.run()

    assert result_of(outcome.rule) == "infra_error"
    assert "`remediation.min_release_days`), and index does not say" in outcome.text
    assert not place.pushed


async def test_the_policy_says_whether_and_for_how_long_something_is_overruled(scene):
    needs = {("flask", "3.0.3"): {"jinja2": ["3.1.3"]}}
    policy = "remediation: {overrides: true, override_days: 7}\n"
    place = scene(policy=policy, needs=needs, releases={"jinja2": ["3.1.4"], "flask": ["3.0.3"]})

    await place.run(skip_verify=True)

    reason = json.loads(place.files["lock.json"])["over"]["jinja2"]
    assert reason == f"{GHSA}: overrules other packages; look at it again by 2026-01-08"


async def test_who_asks_by_number_or_severity_is_not_bound_by_the_policy(scene):
    place = scene(advisories=[alert(severity="low")])
    assert result_of((await place.run(alerts=(5,))).rule) == "fixed"

    place = scene(advisories=[alert(severity="low")])
    assert result_of((await place.run(alerts=(), severities=("low",))).rule) == "fixed"


async def test_versions_that_dependabot_is_told_to_ignore_are_not_taken(scene):
    ignores = (
        "version: 2\nupdates: [{package-ecosystem: pip, directory: /, ignore:"
        " [{dependency-name: 'jin*', versions: ['3.1.4', '>= 4'],"
        " update-types: ['version-update:semver-patch']}]}]\n"
    )
    place = scene(files={".github/dependabot.yml": ignores})
    await place.run()
    assert json.loads(place.files["lock.json"])["versions"]["jinja2"] == "3.1.5"

    place = scene(files={".github/dependabot.yml": ignores.replace("'3.1.4', '>= 4'", "3.x, 3.*")})
    outcome = await place.run()
    assert "versions that the repository says to ignore" in outcome.text
    assert not place.pushed

    place = scene(files={".github/dependabot.yml": ignores})
    await place.run(alerts=(5,))  # whoever asks for the alert itself wants it mended
    assert json.loads(place.files["lock.json"])["versions"]["jinja2"] == "3.1.4"


async def test_what_dependabot_is_told_to_ignore_is_left_alone_unless_asked_for(scene):
    ignores = (
        "version: 2\nupdates: [{package-ecosystem: pip, directory: /,"
        " ignore: [{dependency-name: jinja2}]}]\n"
    )
    place = scene(files={".github/dependabot.yml": ignores})
    outcome = await place.run()
    assert result_of(outcome.rule) == "nothing_to_do"
    assert "dependabot.yml` says to ignore" in outcome.text

    place = scene(files={".github/dependabot.yml": ignores})
    assert result_of((await place.run(alerts=(5,))).rule) == "fixed"


async def test_an_alert_that_is_no_longer_open_is_none(scene):
    outcome = await scene(advisories=[alert()]).run(alerts=(99,))

    assert result_of(outcome.rule) == "nothing_to_do"


async def test_copies_that_are_safe_already_are_left_alone(scene):
    place = scene(files={"lock.json": lock(flask="3.0.3", jinja2="3.1.4")})

    outcome = await place.run()

    assert result_of(outcome.rule) == "nothing_to_do"
    assert "outside of the vulnerable ranges already" in outcome.text
    assert not place.pushed


async def test_a_dry_run_looks_and_touches_nothing(scene):
    place = scene()

    outcome = await place.run(dry_run=True)

    assert result_of(outcome.rule) == "scanned"
    assert "`app.py:1`" in outcome.report
    assert (place.pushed, place.world.source.bases, place.world.model.asked) == ({}, [], [])


async def test_a_scan_that_is_handed_in_stands_for_the_scan(scene):
    first = await scene().run(dry_run=True)
    found = {name: value for name, value in first.details.items() if name != "result"}
    place = scene(advisories=[])

    outcome = await place.run(scan=found)

    assert result_of(outcome.rule) == "fixed"
    assert ("open", "pip", "jinja2") not in place.world.alerts.asked


@pytest.mark.parametrize("change", [{"commit": 7}, {"group": {}}, {"evil": 1}])
async def test_a_scan_that_cannot_be_read_ends_the_run_in_words(scene, change):
    first = await scene().run(dry_run=True)
    found = {name: value for name, value in first.details.items() if name != "result"}

    outcome = await scene().run(scan=found | change)

    assert result_of(outcome.rule) == "infra_error"
    assert "cannot be read" in outcome.text


async def test_a_scan_of_another_repository_is_refused(scene):
    first = await scene().run(dry_run=True)
    found = {name: value for name, value in first.details.items() if name != "result"}
    group = found["group"] | {"repository": "evil/shop"}

    outcome = await scene().run(scan=found | {"group": group})

    assert "is about jinja2 in evil/shop" in outcome.text
    assert result_of(outcome.rule) == "infra_error"


async def test_what_no_index_answers_for_is_no_failed_fix(scene):
    place = scene()

    async def refuse_index(tree, package):
        raise Unfit("no_tool", "No way leads to the indexes.")

    place.index.available = refuse_index
    outcome = await place.run()

    assert (outcome.kind, result_of(outcome.rule)) == ("failed", "infra_error")
    assert "No way leads" in outcome.text


async def test_where_no_release_is_safe_that_is_said(scene):
    place = scene(advisories=[alert("< 99")])

    outcome = await place.run()

    assert (outcome.kind, result_of(outcome.rule)) == ("failed", "fix_failed")
    assert "Wait for one, replace the package" in outcome.text
    assert place.world.model.asked == [], "no engineer makes a release"


async def test_nothing_is_published_where_that_was_asked(scene):
    place = scene()

    outcome = await place.run(no_pr=True)

    assert result_of(outcome.rule) == "fixed"
    assert not place.pushed
    assert "### What changes" in outcome.report


async def test_alerts_that_were_closed_meanwhile_need_no_pull_request(scene):
    place = scene()
    place.world.alerts.closed[5] = "fixed"

    outcome = await place.run()

    assert result_of(outcome.rule) == "nothing_to_do"
    assert not place.pushed


@pytest.mark.parametrize(("via", "kept"), [("alert", 0), ("page", 1)])
async def test_a_fix_that_nobody_needs_any_more_is_not_kept(scene, via, kept):
    place = scene()
    place.world.steering = MemorySteering()
    step = place.world.steps.step

    async def cancel_then(name, *work):
        if name.startswith("stage/verify/"):  # the fix is made and committed
            place.world.steering.say("cancel", via=via)
        return await step(name, *work)

    place.world.steps.step = cancel_then
    outcome = await place.run()

    assert outcome.kind == "cancelled"
    assert len(place.pushed) == kept


async def test_the_branch_and_its_base_are_as_asked(scene):
    place = scene()
    base = place.branch("release/1", {"more.txt": "1"})

    await place.run(base_branch="release/1", branch="fix/jinja2")

    [(name, head)] = place.pushed.items()
    assert name == "fix/jinja2"
    assert place.history.commits[head][1] == base


async def test_a_base_that_is_not_there_is_said(scene):
    outcome = await scene().run(base_branch="gone")

    assert "There is no branch `gone`" in outcome.text
    assert result_of(outcome.rule) == "infra_error"


async def test_a_scan_of_a_commit_that_is_not_the_newest_is_refused(scene):
    first = await scene().run(dry_run=True)
    found = {name: value for name, value in first.details.items() if name != "result"}

    outcome = await scene().run(scan=found | {"commit": "b" * 40})

    assert result_of(outcome.rule) == "infra_error"
    assert "looked at bbbbbbbbbbbb, and the branch is at" in outcome.text


async def test_without_github_a_scan_has_to_be_handed_in(scene):
    place = scene()
    place.world.alerts = None

    outcome = await place.run()

    assert "--from-scan" in outcome.text


# --- what advisories say of what comes in ---------------------------------------------------------


async def test_a_release_with_an_advisory_of_its_own_is_passed_over(scene):
    place = scene()
    place.world.alerts.database = (alert("= 3.1.4", 0, ghsa="GHSA-new1-new1-new1"),)

    outcome = await place.run()

    assert json.loads(place.files["lock.json"])["versions"]["jinja2"] == "3.1.5"
    assert "GitHub knows of no advisory that affects what came in (1 version)" in outcome.report


async def test_a_fix_that_brings_in_another_vulnerable_package_is_taken_back(scene):
    needs = {
        ("flask", "3.0.3"): {"jinja2": ["3.1.3"]},
        **{("flask", v): {"jinja2": ["3.1.4", "3.1.5"]} for v in ("3.0.4", "3.1.0")},
    }
    place = scene([], needs=needs)
    new = alert("< 3.1.0, > 3.0.3", 0, ghsa="GHSA-new1-new1-new1")
    place.world.alerts.database = (new.model_copy(update={"package": "flask"}),)
    place.world.model.answers[:] = [RuntimeError("the engineer is asked")]

    with pytest.raises(RuntimeError, match="the engineer"):
        await place.run()

    [tree] = place.world.source.opened
    assert json.loads(tree.files["lock.json"])["versions"] == {"flask": "3.0.3", "jinja2": "3.1.3"}


async def test_an_advisory_that_held_before_is_not_held_against_the_fix(scene):
    place = scene()
    place.world.alerts.database = (alert("< 9", 0, ghsa="GHSA-old1-old1-old1"),)

    assert result_of((await place.run()).rule) == "fixed"


async def test_where_github_cannot_be_asked_the_report_says_so(scene):
    place = scene()
    place.world.alerts.complete = False

    outcome = await place.run()

    assert "Not proved: Whether new advisories affect what came in" in outcome.report
    assert place.pull.draft
    assert "Look whether new advisories affect what comes in, mark it as ready" in place.pull.body


@pytest.mark.parametrize("affected", [{"3.1.4"}, {"3.1.3", "3.1.4"}])
async def test_an_advisory_that_cannot_be_read_affects_what_github_says(scene, affected):
    place = scene()
    alerts = place.world.alerts
    ask = alerts.find_published
    strange = alert("somewhere", 0, ghsa="GHSA-new1-new1-new1")

    async def find_published(ecosystem, versions):
        known = await ask(ecosystem, versions)
        hit = any(("jinja2", each) in versions for each in affected)
        return known.model_copy(update={"advisories": (strange,) if hit else ()})

    alerts.find_published = find_published
    outcome = await place.run()

    is_new = "3.1.3" not in affected
    assert bool(place.pushed) is not is_new
    assert ("is not one that Fettle can read" in outcome.report) is is_new


# --- replay ---------------------------------------------------------------------------------------


async def test_a_run_that_dies_after_any_stage_ends_the_same(scene, talk):
    place = scene()
    whole = await place.run()
    names = [name for name in place.world.steps.names if name.startswith("stage/")]
    expected = (whole.text, place.pushed, place.files)
    assert len(names) >= 8

    for number in range(len(names)):
        again = scene()
        step, left = again.world.steps.step, [number]

        async def run_and_die(name, work, step=step, left=left):
            if left[0] == 0:
                left[0] = -1
                await work()  # it was done, but nobody has kept what came of it
                raise talk.Killed
            left[0] -= 1
            return await step(name, work)

        again.world.steps.step = run_and_die
        with pytest.raises(talk.Killed):
            await again.run()
        again.world.source.bases.clear()  # another process sets up what this one has not
        outcome = await again.run()

        assert (outcome.text, again.pushed, again.files) == expected, names[number]
        assert len(again.world.publisher.pulls) == 1


def test_its_sessions_are_all_fresh_so_nobody_judges_their_own_work():
    conversations = PIPELINES[RemediateAlert].conversations

    assert all(each.resumes is None for each in conversations)
    reading = {each.name for each in conversations if each.capability.value == "read-only"}
    assert reading == {"assess", "verify", "summarize", "second_look"}


def test_one_lane_for_each_package_of_each_folder(scene):
    request = scene().request.model_copy(update={"directory": "/sub/"})

    assert request.lane == f"{request.repository.id}!pip!sub!jinja2"
    assert request.reference == "jinja2 in octo/shop/sub"
    assert request.repository_url == URL
