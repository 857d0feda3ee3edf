"""What Fettle made to stand on another bot's update: found, and closed with a word."""

from __future__ import annotations

from app.simulator.github.accounts import Actor


async def test_what_stands_on_an_update_is_found_and_knows_where_that_wants_to_go(pulled, scene):
    server, repository = scene.server, scene.repository
    app = server.world.apps[scene.app.app_id]
    below = await server.bot_pull(
        repository, server.renovate, branch="renovate/x", files={"x": "2\n"}, title="Update x"
    )
    number, made = below.issue.number, []
    names = [f"bot/{number}-adapt-{each}" for each in "abc"]
    for name in (*names, "bot/9-adapt-d"):
        await server.push(repository, name, below.head_sha, app.bot)
        await server.commit(repository, {name: "y"}, author=app.bot, message="m", branch=name)
        about = {"title": "Adapt", "body": "", "head": name, "base": "renovate/x"}
        made.append(await server.parts.pulls.open(repository, Actor(app.bot, app), **about))
    first, second, theirs, _ = made
    ada = scene.people["ada"]
    await server.commit(repository, {"mine": "x"}, author=ada, message="m", branch=names[2])

    request = pulled.request.model_copy(update={"number": number})
    reviewing = await pulled.run(request=request)
    every = (first.issue.number, second.issue.number, theirs.issue.number)
    assert await reviewing.list_stacked() == every
    assert (await reviewing.pull()).update_base == ""
    for _ in range(2):
        await reviewing.replace_stacked(second.issue.number)
    assert [each.issue.state for each in made] == ["closed", *["open"] * 3]
    [said] = [remark.body for remark in first.issue.comments]
    assert f"#{second.issue.number} takes the place of this one" in said
    every = (first.issue.number, second.issue.number, theirs.issue.number)
    assert await reviewing.list_stacked() == every

    above = request.model_copy(update={"number": second.issue.number})
    assert (await (await pulled.run("b", request=above)).pull()).update_base == "main"
    await server.close_issue(repository, number, server.renovate)
    assert (await (await pulled.run("b", request=above)).pull()).update_base == ""


async def test_on_peoples_branch_nothing_stands_on_an_update(pulled, scene):
    server, repository = scene.server, scene.repository
    app = server.world.apps[scene.app.app_id]
    await server.push(repository, "bot/2-x", pulled.pull.head_sha, app.bot)
    await server.commit(repository, {"z": "y"}, author=app.bot, message="m", branch="bot/2-x")
    about = {"title": "Adapt", "body": "", "head": "bot/2-x", "base": "feature"}
    above = await server.parts.pulls.open(repository, Actor(app.bot, app), **about)
    request = pulled.request.model_copy(update={"number": above.issue.number})
    assert (await (await pulled.run(request=request)).pull()).update_base == ""
