"""The description of a pull request says what it cost over all its runs."""

from __future__ import annotations

import pytest

from agents.requests import AddressReview, Person
from agents.run import Outcome
from app.github.pulls.cost import PullRequestCost, PullRequestSpending, with_cost
from app.github.transport.idempotent_comments import make_marker
from app.simulator.github.accounts import Actor

MARK = make_marker("run-1", "pull-request")
BODY = f"### Why\n\n### Cost\n\nNothing.\n\n### Cost\n\n$0.10 for 3 model answers.\n\n{MARK}"
DONE = Outcome(kind="comment", text="Addressed.")


def test_the_total_takes_the_place_of_what_the_first_run_cost():
    said = with_cost(BODY, PullRequestSpending(0.345, 9, 2))
    assert "### Cost\n\nNothing.\n\n" in said, "the model's own words stay"
    assert "$0.10" not in said
    assert "$0.34 for 9 model answers, in 2 runs" in said
    assert said.endswith(MARK)
    assert with_cost(said, PullRequestSpending(0.5, 12, 3)).count("### Cost") == 2
    assert with_cost(BODY, PullRequestSpending(0.1, 3, 1)) == BODY, (
        "one run alone has said it in more detail"
    )
    assert with_cost(MARK, PullRequestSpending(0.5, 3, 2)).endswith(f"since.\n\n{MARK}")


def test_one_run_is_told_where_the_description_does_not_say_what_it_cost():
    assert with_cost(MARK, PullRequestSpending(0.0, 0, 0)) == MARK
    said = with_cost(MARK, PullRequestSpending(0.5, 3, 1))
    assert said.startswith("### Cost\n\n$0.50 for 3 model answers, in 1 run: what led to this")
    again = with_cost(said, PullRequestSpending(0.75, 5, 2))
    assert (again.count("### Cost"), "$0.75" in again) == (1, True)


@pytest.fixture
async def pull(scene):
    """Fettle's own pull request, as an earlier run left it."""
    server, repository = scene.server, scene.repository
    app = server.world.apps[scene.app.app_id]
    await server.commit(
        repository, {"a.py": "1\n"}, author=app.bot, message="Fix", branch="bot/9-fix"
    )
    return await server.parts.pulls.open(
        repository, Actor(app.bot, app), title="Fix", body=BODY, head="bot/9-fix", base="main"
    )


async def test_it_is_kept_current_until_somebody_edits_the_description(scene, pull):
    request = AddressReview(
        installation_id=scene.request.installation_id,
        repository=scene.request.repository,
        number=pull.issue.number,
        title="Fix",
        author=Person(id=1, login="whoever"),
        asked_by=Person(id=2, login="bob"),
        url=f"{scene.server.url}/ada/parse/pull/{pull.issue.number}",
        via="command",
    )
    asked = []

    async def total(run_id, lane):
        asked.append((run_id, lane))
        return PullRequestSpending(0.5, 12, 3)

    cost = PullRequestCost(scene.github, request, total)
    await cost.update(DONE)
    assert "$0.50 for 12 model answers, in 3 runs" in pull.issue.body
    assert asked == [("run-1", f"{scene.repository.id}#{pull.issue.number}")]

    scene.server.parts.issues.edit(
        pull.issue, Actor(scene.people["ada"]), body=pull.issue.body.replace("$0.50", "$9")
    )
    await cost.update(DONE)
    assert "$9 for 12" in pull.issue.body

    on_issue = PullRequestCost(scene.github, scene.request, total)
    await on_issue.update(DONE)
    assert len(asked) == 2, "a run that opened no pull request has nothing to say"
