"""The remediate pipeline over real git: its commits, what is read of others, a tree put back."""

from __future__ import annotations

import json

import pytest

from agents.pipelines.remediate.ladder import finders
from agents.policy import POLICY_PATH
from agents.remediation import result_of
from tests.agents.pipelines.remediate.conftest import RemediateActs, alert, lock, make_other_pull
from tests.agents.pipelines.remediate.ladder.conftest import MadeUpEcosystem
from tests.app.git.conftest import git
from tests.app.git.stages.conftest import EstatePublisher, run_pipeline
from tests.app.git.stages.test_update_stage import Somebody
from tests.fakes.alerts import MemoryAlerts
from tests.fakes.model import ListModel, use
from tests.fakes.requests import build_remediate_alert, build_repository

CHECK = "grep -q 3.1.3 lock.json || grep -q template app.py\n"
FILES = {
    POLICY_PATH: "quality: [{name: unit, run: 'sh check.sh'}]\n",
    "check.sh": "test -f lock.json\n",
    "app.py": "import jinja2\n",
    "lock.json": lock(jinja2="3.1.3"),
    "wants.json": "{}",
}
RELEASES = {"jinja2": ["3.1.3", "3.1.4"]}


@pytest.fixture
def remediate(estate, make, monkeypatch):
    somebody = Somebody(estate)
    monkeypatch.setattr(finders, "FINDERS", (lambda paths, group: MadeUpEcosystem(RELEASES),))

    async def run(answers=(), files=None, pulls=None):
        somebody.commits("main", FILES | (files or {}), "Set up")
        alerts = MemoryAlerts(advisories=(alert(),), pulls=pulls(somebody) if pulls else ())
        publisher = EstatePublisher(estate=estate)
        request = build_remediate_alert(
            repository=build_repository(name="shop"),
        )
        outcome = await run_pipeline(
            request,
            run_id="0007-run",
            model=ListModel(list(answers)),
            source=make(run_id="0007-run"),
            publisher=publisher,
            alerts=alerts,
        )
        return outcome, publisher, alerts

    return run


async def test_a_fix_becomes_one_commit_on_the_base_that_touches_the_lock_file_alone(
    estate, remediate
):
    outcome, publisher, _ = await remediate()

    assert result_of(outcome.rule) == "fixed", outcome.text
    [pull] = publisher.opened
    head = git(estate.upstream, "rev-parse", f"refs/heads/{pull.branch}")
    base = git(estate.upstream, "rev-parse", "refs/heads/main")
    assert git(estate.upstream, "log", "-1", "--format=%P %s", head) == (
        f"{base} Update jinja2 from 3.1.3 to 3.1.4"
    )
    assert git(estate.upstream, "diff", "--name-only", base, head) == "lock.json"
    body = git(estate.upstream, "log", "-1", "--format=%B", head)
    assert "Fettle-Stage: fix/1" in body
    assert "Co-authored-by" not in body, "nobody asked for it"


async def test_code_that_has_to_follow_is_tried_looked_at_and_committed_by_itself(
    estate, remediate
):
    acts = RemediateActs(use)
    look = [use("bash", command="sh check.sh", timeout=30), use("read", path="app.py")]
    answers = [
        *[acts.write("app.py", "import jinja2  # template\n"), acts.adapt()],
        *[look, acts.falls("Say why."), acts.write("app.py", "# template\nimport jinja2\n")],
        *[acts.adapt(), look, acts.stands(), acts.sums_up()],
    ]

    outcome, publisher, _ = await remediate(answers, {"check.sh": CHECK})

    assert result_of(outcome.rule) == "fixed", outcome.text
    head = publisher.opened[0].head
    subjects = git(estate.upstream, "log", "--format=%s", "-2", head).splitlines()
    assert subjects == ["Adapt the code to the new jinja2", "Update jinja2 from 3.1.3 to 3.1.4"]
    assert git(estate.upstream, "show", f"{head}:app.py").startswith("# template")
    assert git(estate.upstream, "show", "--format=", "--name-only", head) == "app.py"


async def test_anothers_branch_is_proved_where_it_lies(remediate):
    def pulls(somebody):
        pull = make_other_pull()
        mends = {"lock.json": json.dumps({"versions": {"jinja2": "3.1.4"}})}
        somebody.commits(pull.branch, mends, "Bump jinja2", "main")
        return (pull,)

    outcome, publisher, alerts = await remediate(pulls=pulls)

    assert result_of(outcome.rule) == "fixed", outcome.text
    assert publisher.opened == []
    assert "| `unit` | passed | passed |" in alerts.said[12, "remediate"]
