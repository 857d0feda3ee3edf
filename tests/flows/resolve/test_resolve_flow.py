"""From a signed webhook to a pull request, through the front door."""

import re

from app.demo.server_process import ServerProcess


async def test_a_labelled_issue_becomes_a_pull_request(make_place):
    async with make_place(kind=ServerProcess) as place:
        [delivery] = await place.label()
        outcome = await place.wait_for_end()

        assert delivery.status_code == 202
        assert outcome.kind == "pull_request"
        [pull] = place.pulls()
        assert pull.issue.title == "Add without one too many"
        assert not pull.draft
        assert "Resolves #1" in pull.issue.body
        assert "`python3 -m unittest -q` | passed (exit 0" in pull.issue.body
        subjects = [message.splitlines()[0] for _, message in await place.commits(pull)]
        assert subjects == ["Step 1/2: Add without one too many", "Step 2/2: Test the sum"]
        [comment] = place.comments()
        assert "**Done.**" in comment
        assert 'fettle_runs{state="done"} 1.0' in await place.server.metrics()
        assert [r.content for r in place.issue.reactions] == ["eyes"]


async def test_commits_are_the_bots_and_name_who_asked(make_place):
    async with make_place() as place:
        await place.label()
        await place.wait_for_end()

        [pull] = place.pulls()
        for _, message in await place.commits(pull):
            assert "Co-authored-by: mara" in message
            assert re.search(r"^Fettle-Stage: implement/\d$", message, re.MULTILINE)


async def test_who_may_not_write_is_told_why_and_nothing_is_paid(make_place):
    async with make_place() as place:
        await place.label(by="eve")
        outcome = await place.wait_for_end()

        assert outcome.kind == "refused"
        assert outcome.rule == "asker-may-write"
        [comment] = place.comments()
        assert "takes write access" in comment
        assert not place.model.requests
        assert not place.pulls()


async def test_a_redelivery_changes_nothing(make_place):
    async with make_place() as place:
        [delivery] = await place.label()
        await place.wait_for_end()
        before = await place.end_state()
        asked = len(place.model.requests)

        again = await place.redeliver(delivery)

        assert again.status_code == 202
        assert await place.end_state() == before
        assert len(place.model.requests) == asked


async def test_no_secret_is_left_in_log_database_or_on_github(make_place):
    async with make_place() as place:
        await place.label()
        await place.wait_for_end()
        await place.server.stop()

        assert len(place.tokens()) >= 3
        stored = b"".join(
            path.read_bytes()
            for path in place.server.data.rglob("*")
            if path.is_file() and path.name != "app.pem"
        )
        for secret in place.secrets():
            assert secret.encode() not in stored


async def test_every_call_and_webhook_is_one_that_github_describes(
    make_place, rest_referee, webhook_referee
):
    async with make_place() as place:
        await place.label()
        await place.wait_for_end()

        called = [e for e in place.github.requests if e.path.startswith("/api/v3/")]
        assert len(called) > 8
        assert rest_referee.problems(called) == []
        assert webhook_referee.problems(place.github.webhooks.log) == []
