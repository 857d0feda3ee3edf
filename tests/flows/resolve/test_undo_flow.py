"""`/bot undo` before and after the merge, through the front door."""

from __future__ import annotations

from app.simulator.github.gitdir import GitDir
from tests.flows.conftest import CALC
from tests.flows.forked import call_fettle
from tests.flows.keeping import ONE_LOOP

pytestmark = ONE_LOOP


async def fettle(place, *arguments):
    """Run the command as the server's operator; return its exit code and what it printed."""
    return await call_fettle(*arguments, environment=place.server.environment(place.app))


async def wait_for(place, issue, text):
    """Wait until Fettle says this there; return the comment."""

    def find():
        return [each.body for each in issue.comments if text in each.body]

    await place.wait_until(find)
    return find()[0]


async def test_what_is_merged_is_taken_back_by_a_checked_pull_request(share_place, rest_referee):
    """A power cut meanwhile leaves one pull request, and one word about it."""
    async with share_place() as place:
        await place.label()
        await place.ends("pull_request")
        [pull] = place.pulls()
        await place.github.merge_pull(pull, place.people["mara"])
        later = {"other.py": "OTHER = 1\n"}
        await place.github.commit(
            place.repository, later, author=place.people["mara"], message="Later"
        )
        asked, killed = len(place.model.requests), []

        async def cut_power(_request):
            killed.append(await place.server.kill())

        place.github.faults.call_after("POST", "git-receive-pack", cut_power)
        await place.say("mara", "/bot undo")
        await place.wait_until(lambda: killed)
        await place.server.start(place.app)
        await wait_for(place, place.issue, f"@mara, #{pull.issue.number} is merged")
        _, reverted = await place.all_done(2)

        assert len(place.model.requests) == asked, "no model is asked"
        _, undoing = place.pulls()
        assert undoing.issue.title == 'Revert "Add without one too many"'
        assert not undoing.draft
        assert undoing.issue.body.startswith(f"Takes back #{pull.issue.number}, as @mara asked")
        assert "| passed" in undoing.issue.body, "the repository's checks ran on it"
        assert await place.show(undoing.head_sha, "calc.py") == CALC["calc.py"]
        assert await place.show(undoing.head_sha, "other.py") == "OTHER = 1\n"
        await wait_for(place, pull.issue, "takes this back")
        [told] = [each.body for each in pull.issue.comments if "takes this back" in each.body]
        assert f"#{undoing.issue.number} takes this back." in told
        [(_, message)] = await place.commits(undoing)
        assert message.startswith('Revert "Add without one too many"\n')
        assert reverted.number == pull.issue.number

        await place.say("mara", "/bot undo", issue=pull.issue)
        await wait_for(
            place, pull.issue, f"#{undoing.issue.number} takes #{pull.issue.number} back"
        )

        await place.say("mara", "/bot undo", issue=undoing.issue)
        await wait_for(place, undoing.issue, "what the last run did is taken back")
        assert undoing.issue.state == "closed"
        refs = await GitDir(place.repository.gitdir).refs("refs/heads/bot/")
        assert f"refs/heads/{undoing.head}" not in refs
        called = [each for each in place.github.requests if each.path.startswith("/api/v3/")]
        assert rest_referee.problems(called) == []
        await take_back_without_a_server(place, pull)


async def take_back_without_a_server(place, pull):
    """Have the operator take back what is merged, now that people's pull request is closed."""
    await place.server.stop()
    before = place.pulls()

    code, out, err = await fettle(place, "undo", place.repository.full_name, str(pull.issue.number))

    assert code == 0, err
    [undoing] = [each for each in place.pulls() if each not in before]
    told = f"Takes back #{pull.issue.number}, as the operator of Fettle asked"
    assert undoing.issue.body.startswith(told)
    assert await place.show(undoing.head_sha, "calc.py") == CALC["calc.py"]
    assert f"/pull/{undoing.issue.number}" in out


async def test_an_operator_takes_back_what_is_open_and_before_and_then_nothing(share_place):
    async with share_place() as place:
        code, out, err = await fettle(
            place, "undo", f"{place.repository.full_name}#{place.issue.number}"
        )
        assert code == 2, err
        assert "no run has worked on this yet" in out
        assert place.comments() == []
        await place.label()
        await place.ends("pull_request")
        [pull] = place.pulls()
        named = f"{place.repository.full_name}#{place.issue.number}"

        code, out, err = await fettle(place, "undo", named)

        assert code == 0, err
        assert out.startswith("As the operator of Fettle asked, what the last run did")
        assert pull.issue.state == "closed"
        assert await GitDir(place.repository.gitdir).refs("refs/heads/bot/") == {}
        told = await wait_for(place, place.issue, "As the operator of Fettle asked")
        assert f"#{pull.issue.number} is closed" in told
        assert "as the operator of Fettle asked" in place.progress()
        assert "@root" not in "\n".join(place.comments())

        code, out, _ = await fettle(
            place, "undo", f"{place.repository.full_name}#{pull.issue.number}"
        )
        assert code == 0, "what is taken back already is no mistake"
        code, out, err = await fettle(place, "undo", f"{place.repository.full_name}#99")
        assert (code, out) == (2, "")
        assert f"{place.repository.full_name}#99 cannot be worked on" in err
