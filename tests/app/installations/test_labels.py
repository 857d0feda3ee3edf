"""Labels are made where there are none, slowly, and people's own are left alone."""

from __future__ import annotations

import asyncio

from app.installations.labels import A_PASS, LABELS
from app.store.tables import repositories
from tests.app.github.conftest import LABEL
from tests.patience import PATIENCE

NAMES = {name for name, _, _ in LABELS}


async def problem(kept, ident):
    query = repositories.select().where(repositories.c.id == ident)
    return (await kept.database.read(lambda c: c.execute(query).one())).policy_problem


def count_created(kept):
    return len(kept.scene.calls("POST", "/labels"))


async def test_each_has_its_colour_and_its_words(kept, scene):
    await kept.follow()
    await kept.life.labels.run_pass()
    assert scene.repository.labels.keys() >= NAMES
    for name, colour, description in LABELS[1:]:
        label = scene.repository.labels[name]
        assert (label.color, label.description) == (colour, description)
        assert len(description) <= 100
    assert await kept.due() == []


async def test_what_people_have_made_stays_as_it_is(kept, scene):
    theirs = scene.repository.labels[LABEL]
    await kept.follow()
    await kept.life.labels.run_pass()
    assert scene.repository.labels[LABEL] is theirs
    assert theirs.color == "ededed"
    assert count_created(kept) == 2
    await kept.follow()
    await kept.life.labels.run_pass()
    assert count_created(kept) == 2


async def test_hundreds_of_repositories_are_no_storm(kept, scene):
    many = [await kept.server.create_repository(scene.people["ada"], f"r{n}") for n in range(40)]
    await kept.server.add_repositories(scene.installation, many)
    await kept.follow()
    await kept.life.labels.run_pass()
    await kept.life.labels.run_pass()  # within the same minute
    assert 0 < count_created(kept) <= A_PASS
    left = len(await kept.due())
    assert left >= 41 - A_PASS // len(LABELS)
    await an_hour_ago(kept, 61)
    await kept.life.labels.run_pass()
    assert len(await kept.due()) < left


async def test_an_hour_has_its_limit_as_well(kept, scene):
    many = [await kept.server.create_repository(scene.people["ada"], f"r{n}") for n in range(6)]
    await kept.server.add_repositories(scene.installation, many)
    await kept.follow()
    await kept.life.labels.run_pass()
    before = count_created(kept)
    assert await kept.due() == []
    more = await kept.server.create_repository(scene.people["ada"], "more")
    await kept.server.add_repositories(scene.installation, [more])
    await kept.follow()
    await an_hour_ago(kept, 61, made=40)
    await kept.life.labels.run_pass()
    assert count_created(kept) == before
    await an_hour_ago(kept, 3600)
    await kept.life.labels.run_pass()
    assert count_created(kept) == before + len(LABELS)


async def an_hour_ago(kept, seconds, **values):
    """Have what was made been made so long before."""
    change = repositories.update().where(repositories.c.labels_at.is_not(None))
    moved = {"labels_at": repositories.c.labels_at - seconds}
    moved |= {"labels_made": values["made"]} if values else {}
    await kept.database.write(lambda c: c.execute(change.values(**moved)))


async def test_one_that_is_out_of_reach_does_not_keep_the_others_from_theirs(kept, scene):
    other = await kept.server.create_repository(scene.people["ada"], "other")
    await kept.server.add_repositories(scene.installation, [other])
    await kept.follow()
    await kept.server.remove_repositories(scene.installation, [scene.repository])
    await kept.life.labels.run_pass()
    assert other.labels.keys() >= NAMES
    assert await kept.due() == []  # until tomorrow


async def test_a_policy_that_cannot_be_read_is_noted_and_nobody_is_bothered(kept, scene):
    ada, files = scene.people["ada"], {".github/fettle.yml": "quality: [\n"}
    await kept.server.commit(scene.repository, files, author=ada, message="Set it up")
    await kept.follow()
    await kept.life.labels.run_pass()
    assert "1" in await problem(kept, scene.repository.id)
    assert len(scene.repository.issues) == 1
    assert not scene.issue.comments


async def test_it_works_as_soon_as_it_is_poked(kept, scene):
    await kept.follow()
    working = asyncio.create_task(kept.life.labels.run())
    kept.life.labels.poke()
    async with asyncio.timeout(PATIENCE):
        while not scene.repository.labels.keys() >= NAMES:
            await asyncio.sleep(0.02)
    working.cancel()
    await asyncio.wait({working})  # what it was at must not outlive the database


async def test_what_a_suspension_has_put_off_is_made_after_it(kept, scene):
    await kept.follow()
    await kept.server.suspend(scene.installation, scene.people["ada"])
    await kept.life.labels.run_pass()  # nobody has told yet: GitHub refuses
    assert await kept.due() == []
    await kept.follow()
    await kept.server.unsuspend(scene.installation)
    await kept.follow()
    await kept.life.labels.run_pass()
    assert scene.repository.labels.keys() >= NAMES
