"""Pull requests of other people's bots, and how one learns who pushed to their branches."""

from tests.app.simulator.github.alerting import install_listener


async def test_dependabot_opens_a_pull_request(scene, aiohttp_server):
    github, repository = scene.github, scene.repository
    _, told = await install_listener(
        scene, aiohttp_server, "pull_request", permissions={"pull_requests": "read"}
    )
    pull = await github.bot_pull(
        repository,
        github.dependabot,
        branch="dependabot/pip/jinja2-3.1.4",
        files={"requirements.txt": "Jinja2==3.1.4\n"},
        title="Bump jinja2 from 3.1.3 to 3.1.4",
        labels=["dependencies"],
    )
    call = scene.call()
    shown = (await call("GET", f"{scene.base}/pulls/{pull.issue.number}")).json
    assert (
        shown["user"] | {"login": "dependabot[bot]", "id": 49699333, "type": "Bot"}
        == (shown["user"])
    )
    assert shown["head"]["repo"]["id"] == shown["base"]["repo"]["id"] == repository.id
    assert [each["name"] for each in shown["labels"]] == ["dependencies"]
    assert told.list_payloads("pull_request")[0]["pull_request"]["user"]["id"] == 49699333


async def test_who_committed_and_who_pushed_can_be_told_apart(scene):
    github, repository, call = scene.github, scene.repository, scene.call()
    people = {github.dependabot: ("dependabot[bot]", "web-flow")}
    people[github.renovate] = ("renovate[bot]", "renovate[bot]")
    for bot, (author, committer) in people.items():
        branch = f"{bot.login.removesuffix('[bot]')}/x"
        pull = await github.bot_pull(
            repository, bot, branch=branch, files={branch: "x\n"}, title="Bump"
        )
        await github.commit(
            repository, {"b": branch}, author=scene.ada, message="More", branch=branch
        )
        commits = await call("GET", f"{scene.base}/pulls/{pull.issue.number}/commits")
        logins = [(each["author"]["login"], each["committer"]["login"]) for each in commits.json]
        assert logins == [(author, committer), ("ada", "ada")]
        pushes = await call("GET", f"{scene.base}/activity?ref=refs/heads/{branch}")
        pushers = [(each["actor"]["login"], each["activity_type"]) for each in pushes.json]
        assert pushers == [("ada", "push"), (author, "branch_creation")]
