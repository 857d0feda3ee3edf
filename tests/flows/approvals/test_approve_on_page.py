"""A run asks, somebody signs in with GitHub and says yes, and the same session goes on."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager

import aiohttp

from app.store.runs import Runs
from tests.app.pages.conftest import Browser
from tests.flows.approvals.test_approval_commands import RESET, questions, script
from tests.flows.conftest import CHECKED

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+(?=[^\n]*fettle page)")

PAGES = {"FETTLE_PAGES": "people", "FETTLE_PAGES_PORT": "0"}


@asynccontextmanager
async def signed_in(place, path):
    """Sign in as Mara; yield the browser, and the page that she wanted."""
    address = ADDRESS.search(place.server.log.read_text())[0]
    app = place.github.world.apps[place.app.app_id]
    app.callback_urls.append(f"{address}/login/github/callback")
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as session:
        browser = Browser(address, session)
        sent, _ = await browser.get(f"/login/github?next={path}")
        # To GitHub, back, and on to what was wanted.
        async with session.get(f"{sent.headers['Location']}&login=mara") as answer:
            page = await answer.text()
        yield browser, page


async def test_a_run_that_was_cancelled_on_the_page_is_done_once_more_and_goes_on_with_a_yes(
    make_place,
):
    """Each of the three from there: a cancel, another run, and a yes to what that one asks."""
    async with make_place(CHECKED, script=script(RESET), **PAGES) as place:
        await place.label()
        await questions(place)
        first = await place.wait_for_parked()
        async with signed_in(place, f"/runs/{first}") as (browser, _):
            await browser.get(f"/runs/{first}")
            await browser.post(f"/runs/{first}", kind="cancel", words="Another way")
            assert (await place.wait_for_end()).kind == "cancelled"
            got, words = await browser.post(f"/runs/{first}/retry", once="1", stage="implement")
            assert got.status == 303, words
            again = await place.wait_for_parked()  # at the same question
            assert f"/runs/{again}" == got.headers["Location"]
            asked = await Runs(place.database()).request(again)
            assert (asked["asked_by"]["login"], asked["again"]["run_id"]) == ("mara", first)

            question, ident = [each[-1] for each in await questions(place)]
            _, page = await browser.get(f"/approvals/{ident}")
            [mark] = re.findall(r"mark is <code>([0-9a-f]{6})</code>", page)
            await browser.post(f"/approvals/{ident}", verdict="approve", digest=mark)
            await place.all_over("cancelled", "done")
            _, done = await browser.get(f"/runs/{again}")

        assert RESET["bash"]["command"] in page
        assert "**Approved** by `mara` on Fettle's page" in question.body
        assert "could not" in await place.read_results("implement/1")
        assert 'class="state done"' in done
