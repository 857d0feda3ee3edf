"""Which open pull requests are beside a run's own, and what of strangers' is taken."""

import pytest

from app.simulator.github.state.world import Actor


@pytest.fixture
def opens(scene):
    """Open a pull request that changes these files; return its number."""

    async def open_pull(who, branch, files, *, title="Another", body="", app=None):
        server, repository = scene.server, scene.repository
        author = scene.people[who] if app is None else app.bot
        writer = scene.people["ada"]
        await server.commit(repository, files, author=writer, message="x", branch=branch)
        pull = await server.parts.pulls.open(
            repository, Actor(author, app), title=title, body=body, head=branch, base="main"
        )
        return pull.issue.number

    return open_pull


async def test_they_come_with_their_files_the_run_s_own_left_out(scene, tracker, opens):
    app = scene.server.world.apps[scene.app.app_id]
    number = scene.request.number
    first = await opens("bob", "one", {"a.py": "1", "b.py": "2"})
    await opens("bob", f"bot/{number}-six-digits-abc123", {"a.py": "1"}, app=app)
    other = await opens("bob", "bot/99-else-abc123", {"c.py": "1"}, app=app)

    found = {each.number: each for each in await tracker.neighbours()}
    assert sorted(found) == [first, other]
    assert set(found[first].files) == {"a.py", "b.py"}
    assert (found[first].author, found[first].by_writer, found[first].title) == (
        "bob",
        True,
        "Another",
    )
    assert found[other].by_writer


@pytest.mark.parametrize(
    ("body", "names"),
    [("Fixes #{n}.", True), ("`#{n}`", False), ("#{n}0", False), ("octo/other#{n}", False)],
)
async def test_one_that_refers_to_the_issue_is_told_apart(scene, tracker, opens, body, names):
    await opens("bob", "one", {"a.py": "1"}, body=body.format(n=scene.request.number))
    before = len(scene.server.requests)
    found = await tracker.neighbours(on_issue=True)
    assert bool(found) is names
    asked = [each.path for each in scene.server.requests[before:]]
    assert any("/files" in path for path in asked) is names, "of others nothing is read"
    assert len(await tracker.neighbours()) == 1


async def test_strangers_are_known_as_such(scene, tracker, opens):
    await opens("mallory", "one", {"a.py": "1"}, title=f"Fix #{scene.request.number}")
    [found] = await tracker.neighbours(on_issue=True)
    assert not found.by_writer


async def test_closed_ones_are_none(scene, tracker, opens):
    number = await opens("bob", "one", {"a.py": "1"})
    scene.repository.issues[number].state = "closed"
    assert await tracker.neighbours() == ()
