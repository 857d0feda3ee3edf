"""Whether a run about alerts may begin, at a whole GitHub: its cost, and that none is lost."""

from __future__ import annotations

from functools import partial

import pytest

from agents.requests import AlertSummary, Person
from agents.run import Outcome
from app.alerts.admission import AlertAdmission, RecentPolicies
from app.github.policy.file import read_policy
from app.policies.gate import PolicyGate
from app.simulator.github.state.alerts import Affected
from app.store.alerts.remediations import Remediations
from app.store.alerts.runs import AlertRuns
from tests.app.github.conftest import alerted, key, scene, signer

__all__ = ["alerted", "key", "scene", "signer"]  # fixtures
NOBODY = Person(id=0, login="an open alert")


@pytest.fixture
def access(alerted):
    """Return the way in, as one process has it."""
    database = alerted.database
    return AlertAdmission(
        alerted.scene.github, AlertRuns(database), Remediations(database), RecentPolicies()
    )


@pytest.fixture
def judged(alerted, access):
    """Have a run about these alerts judged; return its admission."""

    async def judge_run(*told, name="5e3f", read=None, **changes):
        run_id, request = await alerted.create_run(name, told=told, asked_by=NOBODY, **changes)
        place = (request.installation_id, request.repository)
        read = read or partial(read_policy, alerted.scene.github, *place)
        gate = PolicyGate(request, read, frozenset())
        return await access.admit(run_id, request, gate, alerted.alerts(run_id, request))

    return judge_run


def make_told(alert=1, severity="high", scope="runtime"):
    return AlertSummary(alert=alert, severity=severity, scope=scope)


async def policy(alerted, text):
    files, ada = {".github/fettle.yml": text}, alerted.scene.people["ada"]
    await alerted.server.commit(alerted.repository, files, author=ada, message="Say", branch="main")


def rule(admission):
    assert admission.refusal is None or admission.refusal.silent
    return admission.refusal and admission.refusal.rule


async def test_an_open_alert_that_the_policy_wants_begins_as_a_strangers_wish(alerted, judged):
    await alerted.alert()
    admission = await judged(make_told())
    assert admission.refusal is None
    assert admission.policy is not None
    assert admission.tainted


async def test_what_nobody_wants_costs_a_look_at_the_policy_and_then_nothing(alerted, judged):
    before = len(alerted.server.requests)
    assert rule(await judged(make_told(severity="low"))) == "policy-wants"
    asked = [each.path for each in alerted.server.requests[before:]]
    assert not any("alerts" in path for path in asked)
    for number in range(2, 40):
        assert rule(await judged(make_told(number, "medium"), name=f"n{number}")) == "policy-wants"
    assert len(alerted.server.requests) - before == len(asked)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("remediation: {severities: [low]}\n", None),
        ("remediation: {severities: []}\n", "policy-wants"),
        ("triggers: {alerts: false}\nremediation: {severities: [low]}\n", "trigger-on"),
        ("remediation: {severities: [terrible]}\n", "policy-valid"),
    ],
)
async def test_the_repositorys_own_policy_decides(alerted, judged, text, found):
    await alerted.alert(severity="low")
    await policy(alerted, text)
    assert rule(await judged(make_told(severity="low"))) == found


async def test_the_clock_is_switched_off_by_never(alerted, judged):
    await alerted.alert()
    await policy(alerted, "remediation: {schedule: never}\n")
    assert rule(await judged(make_told(), via="schedule")) == "policy-wants"
    assert rule(await judged(make_told(), name="other")) is None


async def test_nothing_is_done_where_nothing_can_be_pushed(alerted, judged):
    await alerted.alert()
    await alerted.server.archive_repository(alerted.repository)
    assert rule(await judged(make_told())) == "repository-writable"


async def test_nothing_is_done_while_the_installation_is_suspended(alerted, judged):
    await alerted.alert()
    await alerted.server.suspend(alerted.scene.installation, alerted.scene.people["ada"])
    assert rule(await judged(make_told())) == "installation-active"


async def test_nothing_is_done_about_what_was_dismissed_meanwhile(alerted, judged):
    alert = await alerted.alert()
    await alerted.server.dismiss_alert(alert, alerted.scene.people["ada"])
    assert rule(await judged(make_told())) == "alerts-open"


async def test_an_alert_of_another_folder_is_another_runs(alerted, judged):
    await alerted.alert("web/requirements.txt")
    assert rule(await judged(make_told())) == "alerts-open"
    assert rule(await judged(make_told(), name="web", directory="web")) is None


async def test_what_another_run_has_read_meanwhile_asks_nothing_of_github(alerted, judged):
    """As when alerts came while a run was at work that had found them open already."""
    database = alerted.database
    first, request = await alerted.create_run("first", told=(make_told(1),))
    await alerted.create_run("second", told=(make_told(2),))
    await alerted.runs.record_end(first, Outcome(kind="failed", text="No fix was found."))
    kept = {"number": 0, "cancelled": False, "commit": "c" * 40}
    await Remediations(database).remember(first, request, found={1: "a", 2: "b"}, **kept)
    before = len(alerted.server.requests)
    assert rule(await judged(make_told(2), name="second")) == "not-covered"
    assert len(alerted.server.requests) == before


async def test_what_another_packages_pull_request_took_along_asks_nothing_of_github(
    alerted, judged
):
    first, request = await alerted.create_run("first", package="flask", told=(make_told(1),))
    await alerted.create_run("second", told=(make_told(2),))
    kept = {"number": 31, "cancelled": False, "commit": "c" * 40}
    await Remediations(alerted.database).remember(first, request, found={1: "a", 2: "b"}, **kept)
    before = len(alerted.server.requests)
    assert rule(await judged(make_told(2), name="second")) == "not-covered"
    assert len(alerted.server.requests) == before


async def test_what_was_mended_elsewhere_is_not_mended_here(alerted, judged):
    """A run for another branch reads the same alerts."""
    database = alerted.database
    await alerted.alert()
    first, request = await alerted.create_run("first", via="terminal", base_branch="release")
    await alerted.create_run("second", told=(make_told(1),))
    kept = {"number": 31, "cancelled": False, "commit": "c" * 40}
    await Remediations(database).remember(first, request, found={1: "a"}, **kept)
    assert rule(await judged(make_told(1), name="second")) is None


async def test_an_alert_left_to_a_run_that_is_not_to_be_is_not_lost(alerted, access, judged):
    """One nobody wants is judged, and at that very moment one comes that somebody does."""
    await alerted.alert(severity="critical")
    place = (alerted.request.installation_id, alerted.request.repository)
    worse = alerted.request.model_copy(update={"told": (make_told(2, "critical"),), "via": "alert"})
    left = []

    async def read():
        if not left:
            left.append(await access.runs.cover("later", worse))
        return await read_policy(alerted.scene.github, *place)

    admission = await judged(make_told(1, "low"), read=read)
    assert left[0]
    assert admission.refusal is None
    assert await access.runs.cover("later still", worse) == left[0]


async def test_a_run_that_is_not_to_be_is_left_nothing_any_more(access, judged, alerted):
    assert rule(await judged(make_told(1, "low"))) == "policy-wants"
    worse = alerted.request.model_copy(update={"told": (make_told(2, "critical"),)})
    assert await access.runs.cover("later", worse) == ""


async def test_alerts_that_are_switched_off_are_an_error_that_says_so(alerted, judged):
    alerted.repository.alerts_enabled = False
    with pytest.raises(Exception, match="switched off"):
        await judged(make_told())


@pytest.mark.parametrize("package", ["n" * 300, "@a/b"])
@pytest.mark.parametrize("folder", ["c#", "пакеты", "x" * 300])
async def test_odd_names_are_asked_about_as_they_are(alerted, judged, package, folder):
    affected = Affected("npm", package, "< 2", "2.0.0")
    await alerted.alert(f"{folder}/package-lock.json", affected=affected)
    named = {"ecosystem": "npm", "package": package, "directory": folder}
    assert rule(await judged(make_told(), **named)) is None
