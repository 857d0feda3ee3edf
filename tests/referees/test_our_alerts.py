"""GitHub's own description judges what is asked of it about alerts, and where people are asked."""

from __future__ import annotations

import time

from agents.policy import MissingPolicy
from agents.ports import Alerts
from agents.requests import RemediateAlert
from agents.run import Outcome
from app.alerts.earlier_runs import StoredEarlierRuns
from app.github.alerts.adapter import GitHubAlerts
from app.github.alerts.tracking_issue import TrackingIssue
from app.simulator.github.state.alerts import Affected
from app.store.database import Database
from app.store.runs.runs import Runs
from tests.fakes.requests import build_remediate_alert
from tests.referees.our_client import REDACTOR, open_client, request_for

RUN = f"{int(time.time() * 1e6):016x}-5e3f"
UNFIXED = Outcome(kind="failed", text="None.", rule="remediate/fix_failed")


async def test_what_is_asked_about_alerts_fits_githubs_description(scene, rest_referee, tmp_path):
    github, repository = scene.github, scene.repository
    affected = Affected("pip", "jinja2", "< 3.1.4", "3.1.4")
    advisory = github.publish_advisory("GHSA-h5c8-rqwp-cp95", [affected], summary="Jinja")
    for number in range(102):
        await github.raise_alert(repository, advisory, manifest_path=f"{number}/requirements.txt")
    pull = await github.bot_pull(
        repository,
        github.dependabot,
        branch="dependabot/pip/jinja2-3.1.4",
        files={"requirements.txt": "jinja2==3.1.4\n"},
        title="Bump jinja2 from 3.1.3 to 3.1.4",
    )
    database = Database(f"sqlite:///{tmp_path / 'fettle.db'}")
    database.migrate()
    runs, request = Runs(database), _request(scene)
    await runs.create(RUN, request)
    before = len(github.requests)
    async with open_client(scene) as us:
        alerts = GitHubAlerts(
            us, request, RUN, REDACTOR, earlier=StoredEarlierRuns(database), settle=0
        )
        await _ask(alerts, pull.issue.number)
        place = TrackingIssue(
            us, request, RUN, REDACTOR, runs=runs, alerts=alerts, policy=_no_policy, settle=0
        )
        assert await place.is_news(UNFIXED)
        await place.open()
        await place.leave(Outcome(kind="pull_request", text="Opened."))
    database.close()

    asked = [each for each in github.requests[before:] if each.path.startswith("/api/")]
    assert {each.status for each in asked} <= {200, 201, 304}
    assert len(asked) > 15
    problems = rest_referee.problems(asked)
    assert not problems, "\n".join(problems)


async def _ask(alerts: Alerts, pull: int) -> None:
    assert len(await alerts.open("pip", "jinja2")) == 102
    assert await alerts.state(1) == "open"
    known = await alerts.find_published("pip", [("jinja2", "3.1.3"), ("flask", "3.0.3")])
    assert (known.complete, len(known.advisories)) == (True, 1)
    [found] = await alerts.find_open_pulls("pip", "jinja2", "")
    assert found.number == pull
    assert await alerts.say(pull, "remediate", "It holds.")


async def _no_policy() -> MissingPolicy:
    return MissingPolicy()


def _request(scene) -> RemediateAlert:
    of_issue = request_for(scene, scene.repository.issues[1])
    return build_remediate_alert(
        installation_id=of_issue.installation_id,
        repository=of_issue.repository,
        url=f"{scene.github.url}/forge/anvil/security/dependabot/1",
    )
