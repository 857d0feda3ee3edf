"""Answers of GitHub that are wrong for a moment: nothing is ended by them, lost, or made twice."""

from __future__ import annotations

import asyncio

from aiohttp import web

from tests.flows.conftest import CHECKED
from tests.flows.resolve.test_asking import ASKING, wait_for_questions
from tests.patience import PATIENCE

REPOSITORIES = "/installation/repositories$"


async def garble(_, go_on):
    """Do as asked, and answer what says nothing of it."""
    await go_on()
    return web.json_response({}, status=201)


async def lack_once(place, path, name):
    """Have GitHub lack the installation, or all of its repositories, when it is looked at next."""
    asked = asyncio.Event()

    async def lack(*_):
        asked.set()
        if "repositories" in path:
            return web.json_response({"total_count": 0, "repositories": []})
        return web.json_response({"message": "Not Found"}, status=404)

    place.github.faults.add("GET", path, lack)
    [installation] = place.github.world.installations.values()
    other = await place.github.create_repository(place.repository.owner, name)
    await place.github.add_repositories(installation, [other], place.people["mara"])
    await asyncio.wait_for(asked.wait(), PATIENCE)
    await asyncio.sleep(2)  # it is asked for again meanwhile


async def test_one_look_ends_no_run_that_waits_and_what_was_done_unreadably_is_done_once(
    make_place,
):
    """Looks at the issue and the policy; at the installation, at its repositories; then an answer
    to what was done."""
    async with make_place(CHECKED, script=ASKING) as place:
        place.github.faults.status("POST", "/graphql$", 404)
        place.github.faults.status("GET", r"/contents/\.github$", 403)
        await wait_for_questions(place)
        for name, path in (("one", r"/app/installations/\d+$"), ("two", REPOSITORIES)):
            await lack_once(place, path, name)
            assert [run.state for run in await place.runs()] == ["parked"]

        place.github.faults.add("POST", "/calc/pulls$", garble)
        await place.say("mara", "No, it is exact.")
        await place.all_done(1)
        [pull] = place.pulls()
        assert not pull.draft
