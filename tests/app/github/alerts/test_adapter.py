"""The alerts of a repository, and what is known of versions, as the workshop is handed them."""

from __future__ import annotations

import aiohttp.web
import pytest

from agents.errors import RunError
from app.github.alerts.adapter import PAGES
from app.github.alerts.advisories import LONGEST_QUERY, _batches
from app.github.transport.tokens import Profile
from app.simulator.github.state.alerts import Affected
from app.store.alerts.remediations import Remediations
from tests.app.github.alerts.alert_scene import ADVISORY, JINJA
from tests.app.github.pulls.test_competing import opened_by_us

OTHER = "GHSA-2222-3333-4444"
MALICIOUS = "GHSA-5555-6666-7777"


async def test_all_open_alerts_of_the_package_are_read_with_their_folders(alerted):
    root = await alerted.alert(summary="Jinja", description="Long.")
    nested = await alerted.server.raise_alert(
        alerted.repository, root.advisory, manifest_path="api/requirements.txt"
    )
    await alerted.alert(ghsa=OTHER, affected=Affected("pip", "flask", "< 3"))
    await alerted.alert(
        ghsa=MALICIOUS, affected=Affected("npm", "jinja2", "< 3"), manifest="p.json"
    )
    fixed = await alerted.server.raise_alert(
        alerted.repository, root.advisory, manifest_path="old/requirements.txt"
    )
    await alerted.server.fix_alert(fixed)

    found = await (await alerted.run()).open("pip", "jinja2")
    assert {(each.alert, each.directory) for each in found} == {
        (root.number, ""),
        (nested.number, "api"),
    }
    assert (found[-1].ghsa_id, found[-1].vulnerable, found[-1].first_patched) == (
        ADVISORY,
        JINJA.vulnerable,
        "3.1.4",
    )
    assert (found[-1].summary, found[-1].description) == ("Jinja", "Long.")
    assert not any(each.undisclosed for each in found)


async def test_people_may_call_the_ecosystem_what_they_like(alerted):
    await alerted.alert()
    run = await alerted.run()
    assert len(await run.open("PyPI", "jinja2")) == 1


async def test_they_are_read_to_the_last_page(alerted):
    advisory = alerted.publish()
    for number in range(103):
        alert = f"{number:03}/requirements.txt"
        await alerted.server.raise_alert(alerted.repository, advisory, manifest_path=alert)

    found = await (await alerted.run()).open("pip", "jinja2")
    assert len({each.directory for each in found}) == 103
    [first, second] = alerted.scene.calls("GET", "/dependabot/alerts")
    assert "after=" in second.path
    assert "after=" not in first.path


async def test_more_pages_than_anybody_has_end_the_run_and_not_the_machine(alerted):
    await alerted.alert()
    address = f"{alerted.server.world.api}/repos/ada/parse/dependabot/alerts?after=again"

    async def one_more(_request, _go_on):
        return aiohttp.web.json_response([], headers={"Link": f'<{address}>; rel="next"'})

    alerted.server.faults.add("GET", "/dependabot/alerts$", one_more, times=10_000)
    with pytest.raises(RunError, match="more open alerts about `jinja2`"):
        await (await alerted.run()).open("pip", "jinja2")
    assert len(alerted.scene.calls("GET", "/dependabot/alerts")) == PAGES


async def test_a_withdrawn_advisory_is_none(alerted):
    alert = await alerted.alert()
    alerted.server.withdraw_advisory(alert.advisory)
    assert await (await alerted.run()).open("pip", "jinja2") == ()


async def test_what_the_public_cannot_read_is_not_disclosed_to_it(alerted, alerted_privately):
    alert = await alerted.alert()
    del alerted.server.world.advisories[alert.advisory.ghsa_id.upper()]

    [found] = await (await alerted.run()).open("pip", "jinja2")
    assert found.undisclosed
    [found] = await (await alerted_privately.run()).open("pip", "jinja2")
    assert not found.undisclosed


async def test_a_name_that_is_none_is_not_even_asked_about(alerted):
    run = await alerted.run()
    for name in ("jinja2&state=fixed", "<b>", "a,b", "", "-r requirements.txt"):
        with pytest.raises(RunError, match="cannot be the name of a package"):
            await run.open("pip", name)
    assert alerted.scene.calls("GET", "/dependabot/alerts") == []


async def test_the_alerts_of_a_folder_are_those_that_nobody_declined_a_fix_for(alerted):
    await alerted.alert()
    flask = await alerted.alert(ghsa=OTHER, affected=Affected("pip", "flask", "< 2.3.2", "2.3.2"))
    await alerted.alert(
        ghsa=MALICIOUS, affected=Affected("pip", "click", "< 3"), manifest="api/requirements.txt"
    )
    run = await alerted.run()
    found = await run.open_in_folder("pip", "/")
    assert sorted(each.package for each in found) == ["flask", "jinja2"]
    assert await run.open_in_folder("npm", "") == ()

    run_id, request = await alerted.create_run("1111", package="flask")
    made = Remediations(alerted.database)
    about = {"cancelled": False, "commit": "c" * 40, "found": {flask.number: "x"}}
    await made.remember(run_id, request, number=31, **about)
    assert len(await run.open_in_folder("pip", "")) == 2
    await made.pull_closed(request.repository.id, 31, merged=False)
    assert [each.package for each in await run.open_in_folder("pip", "")] == ["jinja2"]


async def test_a_pull_request_of_ours_is_closed_with_a_word_and_once(alerted):
    run_id, request = await alerted.create_run("1111")
    pull = await opened_by_us(alerted, "bot/deps-jinja2-0a1b2c", "")
    number = pull.issue.number
    made = Remediations(alerted.database)
    found = {"cancelled": False, "commit": "c" * 40, "found": {1: "x"}}
    await made.remember(run_id, request, number=number, **found)

    run = await alerted.run("2222")
    for _ in range(2):  # the second time as after a crash
        await run.close_pull(number, "replaced", "#9 takes its place.")

    assert pull.issue.state == "closed"
    [comment] = pull.issue.comments
    assert comment.body.endswith("#9 takes its place.")
    assert (await made.find(run_id)).state == "over"


async def test_the_token_can_read_alerts_and_nothing_else(alerted):
    await alerted.alert()
    await (await alerted.run()).open("pip", "jinja2")
    [call] = alerted.scene.calls("GET", "/dependabot/alerts")
    assert Profile.ALERTS.value == (("vulnerability_alerts", "read"),)
    minted = [
        each for each in alerted.scene.server.requests if each.path.endswith("/access_tokens")
    ]
    assert any(
        b'"permissions":{"vulnerability_alerts":"read"}' in each.body.replace(b" ", b"")
        and str(alerted.repository.id).encode() in each.body
        for each in minted
    )
    assert call.status == 200


async def test_where_alerts_are_off_people_are_told_how_to_switch_them_on(alerted):
    run = await alerted.run()
    alerted.repository.alerts_enabled = False
    with pytest.raises(RunError, match="switched off for `ada/parse`") as told:
        await run.open("pip", "jinja2")
    assert "settings" in str(told.value)
    with pytest.raises(RunError, match="switched off"):
        await run.state(1)


async def test_where_the_permission_is_not_accepted_its_owner_is_told_both_steps(alerted):
    run = await alerted.run()
    alerted.scene.installation.permissions.pop("vulnerability_alerts")
    with pytest.raises(RunError, match="may not read the Dependabot alerts") as told:
        await run.open("pip", "jinja2")
    for word in ("Read-only", "Permissions & events", "an owner of `ada`", "accept"):
        assert word in str(told.value)


async def test_the_state_of_an_alert_is_what_github_says_now(alerted):
    alert, run = await alerted.alert(), await alerted.run()
    assert await run.state(alert.number) == "open"
    await alerted.server.dismiss_alert(alert, alerted.scene.people["ada"])
    assert await run.state(alert.number) == "dismissed"
    await alerted.server.reopen_alert(alert, alerted.scene.people["ada"])
    await alerted.server.fix_alert(alert)
    assert await run.state(alert.number) == "fixed"
    with pytest.raises(RunError):
        await run.state(alert.number + 1)


async def test_an_unknown_state_is_no_answer(alerted):
    alert, run = await alerted.alert(), await alerted.run()

    async def answer_gone(_request, _go_on):
        return aiohttp.web.json_response({"state": "gone"})

    alerted.server.faults.add("GET", r"/dependabot/alerts/\d+$", answer_gone)
    with pytest.raises(RunError, match="does not know"):
        await run.state(alert.number)


# --- what is known of versions --------------------------------------------------------------------


async def test_what_affects_a_version_is_found_malice_included(alerted):
    alerted.publish()
    alerted.publish(OTHER, Affected("pip", "flask", "< 2"))
    alerted.publish(MALICIOUS, Affected("pip", "flask", "= 3.0.3"), kind="malware")
    alerted.server.withdraw_advisory(
        alerted.publish("GHSA-8888-8888-8888", Affected("pip", "flask", "< 9"))
    )

    known = await (await alerted.run()).find_published(
        "pip", {("jinja2", "3.1.3"), ("flask", "3.0.3")}
    )
    assert known.complete
    assert {(each.ghsa_id, each.package) for each in known.advisories} == {
        (ADVISORY, "jinja2"),
        (MALICIOUS, "flask"),
    }
    assert await (await alerted.run()).find_published("pip", ()) == known.model_copy(
        update={"advisories": ()}
    )


async def test_many_versions_are_asked_about_in_addresses_that_fit(alerted):
    alerted.publish()
    versions = {(f"package-with-a-long-name-{n}", f"1.{n}.0") for n in range(400)}
    known = await (await alerted.run()).find_published("pip", versions | {("jinja2", "3.1.3")})
    assert known.complete
    assert [each.ghsa_id for each in known.advisories] == [ADVISORY]
    calls = alerted.scene.calls("GET", "/advisories")
    assert len(calls) > 4
    assert max(len(each.path) for each in calls) < LONGEST_QUERY + 200


@pytest.mark.parametrize(
    ("ecosystem", "version"),
    [("pip", ("jinja2", "3.1 && x")), ("pip", ("a,b@1", "2")), ("other", ("jinja2", "3.1.3"))],
)
async def test_what_cannot_be_asked_about_leaves_a_gap_that_is_told(alerted, ecosystem, version):
    known = await (await alerted.run()).find_published(ecosystem, [version])
    assert not known.complete


async def test_a_server_without_the_database_leaves_a_gap_too(alerted):
    alerted.server.faults.status("GET", "/advisories", 404, times=20)
    known = await (await alerted.run()).find_published("pip", [("jinja2", "3.1.3")])
    assert (known.complete, known.advisories) == (False, ())


def test_lists_lose_nothing():
    versions = [(f"p{n}", "1") for n in range(2500)]
    batches = list(_batches(versions))
    assert [each for batch in batches for each in batch] == versions
    assert max(map(len, batches)) <= 1000


# --- words on others' pull requests ---------------------------------------------------------------


async def test_what_is_said_is_said_once_and_replaced_by_the_next_run(alerted):
    pull = await alerted.server.bot_pull(
        alerted.repository,
        alerted.server.dependabot,
        branch="dependabot/pip/jinja2-3.1.4",
        files={"requirements.txt": "jinja2==3.1.4\n"},
        title="Bump jinja2 from 3.1.3 to 3.1.4",
    )
    number = pull.issue.number
    run = await alerted.run()
    url = await run.say(number, "remediate", "It holds. @ada <img src=x>")
    assert await run.say(number, "remediate", "It holds. @ada <img src=x>") == url
    assert await (await alerted.run("9999")).say(number, "remediate", "It holds still.") == url

    [comment] = pull.issue.comments
    assert comment.body.endswith("It holds still.")
    assert "<img" not in comment.body
    await (await alerted.run("8888", package="flask")).say(number, "remediate", "So does flask.")
    assert len(pull.issue.comments) == 2
