"""Who is at a package already: other bots, and Fettle before; never a stranger who says so."""

from __future__ import annotations

import pytest

from agents.requests import RemediateAlert
from app.github.transport.idempotent_comments import make_marker
from app.simulator.github.state.world import Actor

BRANCH = "dependabot/pip/jinja2-3.1.4"
FILES = {"requirements.txt": "jinja2==3.1.4\n"}


@pytest.fixture
def bot_pull(alerted):
    async def open_(branch=BRANCH, bot=None, **more):
        about = {"files": FILES, "title": "Bump jinja2 from 3.1.3 to 3.1.4", **more}
        bot = bot or alerted.server.dependabot
        return await alerted.server.bot_pull(alerted.repository, bot, branch=branch, **about)

    return open_


async def find_others(alerted, name="5e3f", directory="", **changes):
    return await (await alerted.run(name, **changes)).find_open_pulls("pip", "jinja2", directory)


async def test_another_bots_pull_request_is_found_with_what_is_to_be_proved(alerted, bot_pull):
    pull = await bot_pull()
    [found] = await find_others(alerted)
    assert (found.number, found.branch, found.base, found.head) == (
        pull.issue.number,
        BRANCH,
        "main",
        pull.head_sha,
    )
    assert (found.author, found.own, found.foreign, found.pushed_by) == (
        "dependabot[bot]",
        False,
        False,
        (),
    )


async def test_renovates_is_found_and_the_newest_comes_first(alerted, bot_pull):
    await bot_pull()
    await bot_pull("renovate/pypi-jinja2-vulnerability", alerted.server.renovate)
    assert [each.author for each in await find_others(alerted)] == [
        "renovate[bot]",
        "dependabot[bot]",
    ]


async def test_folders_are_told_apart(alerted, bot_pull):
    await bot_pull("dependabot/pip/api/jinja2-3.1.4")
    assert await find_others(alerted) == ()
    assert len(await find_others(alerted, directory="api/")) == 1


async def test_who_else_has_pushed_is_named(alerted, bot_pull):
    await bot_pull()
    bob = alerted.scene.people["bob"]
    await alerted.server.commit(
        alerted.repository, {"a.py": "1\n"}, author=bob, message="More", branch=BRANCH
    )
    [found] = await find_others(alerted)
    assert found.pushed_by == ("bob",)


async def test_without_a_record_of_pushes_the_commits_tell(alerted, bot_pull):
    await bot_pull()
    alerted.server.faults.status("GET", "/activity$", 404, times=2)
    [found] = await find_others(alerted)
    assert found.pushed_by == ()
    bob = alerted.scene.people["bob"]
    await alerted.server.commit(
        alerted.repository, {"a.py": "1\n"}, author=bob, message="More", branch=BRANCH
    )
    [found] = await find_others(alerted)
    assert found.pushed_by == ("bob",)


async def test_a_person_with_a_bots_branch_name_is_nobody(alerted):
    mallory = alerted.scene.people["mallory"]
    await alerted.server.commit(
        alerted.repository, FILES, author=mallory, message="Bump", branch=BRANCH
    )
    await alerted.server.open_pull(
        alerted.repository, mallory, title="Bump jinja2 from 3.1.3 to 3.1.4", head=BRANCH
    )
    assert await find_others(alerted) == ()


async def test_a_fork_is_nobody_whoever_it_says_it_is(alerted):
    bot = alerted.server.dependabot
    fork = await alerted.server.fork_repository(alerted.repository, alerted.scene.people["eve"])
    await alerted.server.commit(fork, FILES, author=bot, message="Bump", branch=BRANCH)
    await alerted.server.open_pull(
        alerted.repository,
        bot,
        title="Bump jinja2 from 3.1.3 to 3.1.4",
        head=BRANCH,
        head_repository=fork,
    )
    assert await find_others(alerted) == ()


async def opened_by_us(alerted, branch, body, **more):
    scene = alerted.scene
    await alerted.server.commit(
        alerted.repository, FILES, author=scene.people["ada"], message="Update", branch=branch
    )
    app = alerted.server.world.apps[scene.app.app_id]
    return await alerted.server.parts.pulls.open(
        alerted.repository,
        Actor(app.bot, app),
        title="Update",
        body=body,
        head=branch,
        base="main",
        **more,
    )


@pytest.mark.parametrize("branch", ["bot/deps-jinja2-0a1b2c", "bot/fettle/deps-jinja2-0a1b2c"])
async def test_ours_is_known_by_its_branch(alerted, branch):
    await opened_by_us(alerted, branch, "")
    [found] = await find_others(alerted)
    assert (found.own, found.pushed_by) == (True, ("ada",))


@pytest.mark.parametrize(
    "branch", ["bot/deps-jinja2-time-0a1b2c", "bot/deps-jinja2-abcd-0a1b2c", "bot/5-jinja2-0a1b2c"]
)
async def test_ours_for_something_else_is_not(alerted, branch):
    await opened_by_us(alerted, branch, "")
    assert await find_others(alerted) == ()


async def test_ours_on_a_branch_that_the_operator_named_is_known_by_its_run(alerted):
    run_id, _ = await alerted.create_run("1111")
    await opened_by_us(
        alerted, "bot/as-you-like", f"Moved.\n\n{make_marker(run_id, 'pull-request')}"
    )
    [found] = await find_others(alerted, "2222")
    assert found.own
    run_id, other = await alerted.create_run("3333", package="flask")
    assert isinstance(other, RemediateAlert)
    await opened_by_us(
        alerted, "bot/deps-jinja2-0a1b2c", f"Moved.\n\n{make_marker(run_id, 'pull-request')}"
    )
    found = await find_others(alerted, "4444")
    assert [(each.of_package, each.alerts) for each in found] == [(False, ()), (True, ())]
    assert await find_others(alerted, "5555", directory="api") == ()


async def test_whether_ours_is_a_draft_is_told(alerted):
    await opened_by_us(alerted, "bot/deps-jinja2-0a1b2c", "", draft=True)
    [found] = await find_others(alerted)
    assert found.draft


async def test_many_of_ours_about_other_packages_do_not_hide_the_one_about_this(alerted):
    await opened_by_us(alerted, "bot/deps-jinja2-0a1b2c", "")
    run_id, _ = await alerted.create_run("3333", package="flask")
    marker = make_marker(run_id, "pull-request")
    for number in range(11):
        await opened_by_us(alerted, f"bot/deps-flask-{number:06x}", f"Moved.\n\n{marker}")

    found = await find_others(alerted)

    assert [each.of_package for each in found] == [False] * 11 + [True]
