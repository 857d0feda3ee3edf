"""Answers of GitHub that are wrong for a moment: nothing is ended by them, lost, or made twice."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from tests.flows.resolve.test_asking import ASKING, wait_for_questions
from tests.patience import PATIENCE


async def test_an_answer_that_nobody_can_read_though_it_was_done(make_place):
    async with make_place() as place:

        async def garble(_, go_on):
            await go_on()
            return web.Response(text="<html>Maintenance</html>", content_type="text/html")

        place.github.faults.add("POST", "/calc/pulls$", garble)
        await place.label()
        await place.all_done(1)
        [pull] = place.pulls()
        assert not pull.draft


@pytest.mark.parametrize("path", [r"/app/installations/\d+$", "/installation/repositories$"])
async def test_one_look_at_the_installation_ends_no_run_that_waits(make_place, path):
    async with make_place(script=ASKING) as place:
        await wait_for_questions(place)

        asked = asyncio.Event()

        async def lack(*_):
            asked.set()
            if "repositories" in path:
                return web.json_response({"total_count": 0, "repositories": []})
            return web.json_response({"message": "Not Found"}, status=404)

        place.github.faults.add("GET", path, lack)
        [installation] = place.github.world.installations.values()
        other = await place.github.create_repository(place.repository.owner, "other")
        await place.github.add_repositories(installation, [other], place.people["mara"])
        await asyncio.wait_for(asked.wait(), PATIENCE)
        await asyncio.sleep(2)  # it is asked for again meanwhile
        assert [run.state for run in await place.runs()] == ["parked"]
        await place.say("mara", "No, it is exact.")
        await place.all_done(1)
