"""A run asks, somebody says yes on a page or the dashboard, and the same session goes on."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager

import aiohttp

from app.store.runs import Runs
from handlers.issues import BOARD
from tests.app.pages.conftest import Browser
from tests.flows.approvals.test_approval_commands import POLICY as ASKING
from tests.flows.approvals.test_approval_commands import RESET, SHIP, questions, script
from tests.flows.conftest import write_policy

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+(?=[^\n]*fettle page)")

PAGES = {"FETTLE_PAGES": "people", "FETTLE_PAGES_PORT": "0", "FETTLE_SWEEP_SECONDS": "1"}
POLICY = write_policy(f"dashboard: decide\n{ASKING}")


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
    """A cancel, another run, and a yes to what that one asks, each from there.

    To the other thing that it asks somebody says yes by a tick on the dashboard, which lists it.
    """
    async with make_place(POLICY, script=script(RESET, SHIP), **PAGES) as place:
        await place.label()
        await questions(place, 2)
        first = await place.wait_for_parked()
        async with signed_in(place, f"/runs/{first}") as (browser, _):
            await browser.get(f"/runs/{first}")
            await browser.post(f"/runs/{first}", kind="cancel", words="Another way")
            assert (await place.wait_for_end()).kind == "cancelled"
            got, words = await browser.post(f"/runs/{first}/retry", once="1", stage="implement")
            assert got.status == 303, words
            again = await place.wait_for_parked()  # at the same questions
            assert f"/runs/{again}" == got.headers["Location"]
            asked = await Runs(place.database()).request(again)
            assert (asked["asked_by"]["login"], asked["again"]["run_id"]) == ("mara", first)

            [question, ticked], [ident, other] = [each[-2:] for each in await questions(place, 2)]
            _, page = await browser.get(f"/approvals/{ident}")
            [mark] = re.findall(r"mark is <code>([0-9a-f]{6})</code>", page)
            await browser.post(f"/approvals/{ident}", verdict="approve", digest=mark)
            board = await tick_its_box(place, ticked, other)
            await place.all_over("cancelled", "done")
            _, done = await browser.get(f"/runs/{again}")

        assert RESET["bash"]["command"] in page
        assert "**Approved** by `mara` on Fettle's page" in question.body
        assert "could not" in await place.read_results("implement/1")
        assert 'class="state done"' in done
        await place.wait_until(lambda: "Nothing waits for anybody." in board.body)
        assert "**Approved** by `mara` on Fettle's dashboard issue" in ticked.body
        [pull] = place.pulls()
        assert await place.show(pull.head_sha, "shipped.txt") == "yes"
        assert find_boards(place) == [board]
        [refused] = [each.body for each in board.comments]
        assert "`eve`" in refused


def find_boards(place):
    found = place.repository.issues.values()
    return [each for each in found if BOARD in (each.body or "")]


async def tick_its_box(place, question, ident):
    """Tick a question's box, as somebody who may not and as somebody who may; return the issue."""
    await place.wait_until(lambda: any(ident in each.body for each in find_boards(place)))
    [board] = find_boards(place)
    assert f"#issuecomment-{question.id})" in board.body
    for who in ("eve", "mara"):
        ticked = board.body.replace("- [ ]", "- [x]")
        await place.github.edit_issue(
            place.repository, board.number, place.people[who], body=ticked
        )
        await place.wait_until(lambda: "[x]" not in board.body)  # it was taken up
    return board
