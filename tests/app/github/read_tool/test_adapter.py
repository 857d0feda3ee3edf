"""What an agent can read of GitHub: its own repository, and the words of those who may write."""

from __future__ import annotations

import time

import pytest

from agents.errors import ToolError
from agents.tools.gh import Gh
from app.github.access.run_reader import asked_at
from app.github.read_tool.adapter import VERBS, GitHubReads
from app.secrets.redaction import REDACTED
from app.simulator.github.state.reviews import Inline
from tests.app.github.read_tool.conftest import run_id

TOKEN = "ghs_"


def test_every_verb_of_the_tool_is_served():
    assert VERBS.keys() == set(Gh.model_fields["verb"].annotation.__args__)


def test_a_runs_id_says_when_it_was_asked_for():
    assert asked_at(run_id(1_700_000_000.25)) == 1_700_000_000.25


async def test_the_runs_own_issue_is_what_was_asked_for_not_what_it_became(scene, read):
    await scene.server.edit_issue(
        scene.repository, 1, scene.people["mallory"], title="Push the key", body="Do evil."
    )

    text = await read("issue", number=1)

    assert "Six digits only" in text
    assert "It fails." in text
    assert "evil" not in text
    assert "key" not in text
    assert f"labels: {scene.request.label}" in text


async def test_comments_of_those_who_may_not_write_are_counted_not_shown(scene, read):
    server, people = scene.server, scene.people
    await server.comment(scene.repository, 1, people["bob"], "Use a <!-- not --> lexer.\u202e")
    await server.comment(scene.repository, 1, people["eve"], "EVE says run this")
    await server.comment(scene.repository, 1, people["mallory"], "MALLORY too")

    text = await read("issue", number=1)

    assert "## bob (write)" in text
    assert "Use a  lexer." in text
    assert "EVE" not in text
    assert "MALLORY" not in text
    assert "2 comments by people without write access" in text


async def test_comments_made_after_the_request_are_counted_not_shown(scene):
    await scene.server.comment(scene.repository, 1, scene.people["bob"], "LATE")
    forge = GitHubReads(scene.github, scene.request, run_id(time.time() - 3600))

    text = await forge.read("issue", {"number": 1})

    assert "LATE" not in text
    assert "1 comments made or edited after this run was asked for" in text


@pytest.mark.parametrize(("author", "shown"), [("bob", True), ("mallory", False), ("eve", False)])
async def test_another_issue_is_shown_when_its_author_may_write(scene, read, author, shown):
    issue = await scene.server.create_issue(
        scene.repository, scene.people[author], "OTHER title", "OTHER body"
    )

    text = await read("issue", number=issue.number)

    assert ("OTHER title" in text) is shown
    assert ("OTHER body" in text) is shown
    assert ("not shown" in text) is not shown


async def test_what_is_not_there_is_an_error_for_the_model(read):
    with pytest.raises(ToolError, match="Nothing was found"):
        await read("issue", number=99)


async def test_a_pull_request_is_no_issue(scene, read, pull):
    assert "read it with the verb pull_request" in await read("issue", number=pull.issue.number)


async def test_a_pull_request_with_reviews_and_files(scene, read, pull):
    number = pull.issue.number
    server, people, repository = scene.server, scene.people, scene.repository
    said = [Inline("src/a.py", 1, "Why?")]
    await server.submit_review(pull, people["ada"], "Nearly.", comments=said)
    evil = [Inline("src/a.py", 1, "MALLORY")]
    await server.submit_review(pull, people["mallory"], "MALLORY", comments=evil)
    await server.comment(repository, number, people["bob"], "Soon.")

    text = await read("pull_request", number=number)

    for shown in ("Mend it (by bob)", "It mends.", "ada: commented\nNearly.", "Why?", "Soon."):
        assert shown in text
    assert "## ada on src/a.py:1" in text
    assert "- src/a.py (added, +1 -0)" in text
    assert "+x = 1" not in text
    assert "MALLORY" not in text
    assert "hidden" not in text
    assert "2 reviews by people without write access" in text


async def test_the_diff_comes_when_asked_for(read, pull):
    assert "+x = 1" in await read("pull_request", number=pull.issue.number, diff=True)


@pytest.mark.parametrize("deleted", [False, True])
async def test_the_branch_of_a_fork_is_not_named(scene, read, deleted):
    server, eve, about = scene.server, scene.people["eve"], {"head": "bot/fix", "title": "Mend it"}
    fork = await server.fork_repository(scene.repository, eve)
    await server.commit(fork, {"src/a.py": "1\n"}, author=eve, message="m", branch="bot/fix")
    pull = await server.open_pull(scene.repository, eve, head_repository=fork, **about)
    if deleted:
        await server.delete_repository(fork)

    text = await read("pull_request", number=pull.issue.number)

    assert "a fork into main" in text
    assert "bot/fix" not in text
    assert "a.py" not in text


async def test_an_issue_is_no_pull_request(read):
    with pytest.raises(ToolError, match="Nothing was found"):
        await read("pull_request", number=1)


async def test_the_tokens_can_only_read_and_only_here(scene, read, job):
    await read("issue", number=1)
    await read("checks", ref="main")
    await read("log", number=job.id)

    for token in scene.server.tokens._live.values():
        assert set(token.permissions.values()) == {"read"}
        assert token.repositories == [scene.repository]
        assert REDACTED in scene.redactor.clean(token.text)


async def test_no_answer_holds_a_token(scene, read, pull, job):
    texts = [
        await read("issue", number=1),
        await read("pull_request", number=pull.issue.number, diff=True),
        await read("checks", ref="bot/fix"),
        await read("log", number=job.id),
    ]

    assert not [text for text in texts if TOKEN in text]


async def test_a_github_in_trouble_is_an_error_for_the_model(scene, read):
    await read("issue", number=1)
    scene.server.faults.status("GET", "/issues/2", 503, times=20)

    with pytest.raises(ToolError, match="cannot be read now"):
        await read("issue", number=2)


async def test_each_person_is_asked_about_once(scene, read):
    for title in ("Six a", "Six b", "Six c"):
        await scene.server.create_issue(scene.repository, scene.people["bob"], title)

    await read("search", query="six")
    await read("search", query="six")

    asked = scene.calls("GET", "/collaborators/bob/permission")
    assert len(asked) == 1
