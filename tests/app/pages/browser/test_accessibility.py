"""Every page before axe-core, light and dark, on phones and on wide screens; and by keyboard."""

from __future__ import annotations

import pytest

from agents.policy import MissingPolicy
from tests.app.pages.browser.conftest import logged_in_tab
from tests.app.pages.conftest import TURNS
from tests.app.pages.test_retries import store_steps
from tests.referees.packages import axe_script

pytestmark = pytest.mark.asyncio(loop_scope="package")
LOOKS = (("light", 360), ("light", 1_600), ("dark", 1_600))
WIDTHS = (360, 720, 1_600)
FOUND = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
    .map(each => `${each.id}: ${each.nodes.map(node => node.html).slice(0, 3).join(" ")}`)"""
UNFOLD = "() => document.querySelectorAll('details').forEach(each => each.open = true)"
OVERFLOWS = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
STAGE = "/runs/0001-a/stages/implement/1"
PROOF = "/runs/0001-a/stages/prove/1"


async def store_everything(pages):
    """Store runs of each kind; return the paths of all pages."""
    await pages.run("0001-a", *TURNS, title="Add well " + "wide" * 60)
    await pages.run("0002-b", *TURNS, state="parked", title="Install it")
    await pages.run("0003-c", *TURNS, state="failed", text="x" * 3_000)
    asked = await pages.ask("0002-b", arguments={"command": "pip install " + "x" * 400})
    denied = await pages.ask("0003-c", arguments={"command": "curl"})
    proved = {"output": {"command": "x" * 300, "runs": [{"exit_code": 1, "output": "a\n" * 9}]}}
    await store_steps(pages, "access", **{"stage/prove/1": proved, "stage/implement/1": proved})
    await pages.approvals.decide(denied.id, verdict="denied", by="eve", by_id=1, via="page")
    return (
        *("/", "/?words=nothing+fits", "/spend", "/audit", "/r/ada/parse", "/runs/0001-a"),
        *("/runs/0003-c", STAGE, PROOF, f"/approvals/{asked.id}", f"/approvals/{denied.id}"),
        *("/runs/0009-z", "/login"),
    )


async def read_defaults(_repository_id):
    """Return the policy of a repository that has no file."""
    return MissingPolicy()


async def test_axe_finds_nothing_on_any_page(pages, chromium):
    paths, axe = await store_everything(pages), axe_script()
    found = {}
    async with (
        pages.serve(policy=read_defaults) as served,
        # The policy of the pages lets no script in; the referee comes in beside it.
        logged_in_tab(chromium, pages, served, bypass_csp=True) as tab,
    ):
        for path in paths:
            await tab.goto(path)
            await tab.evaluate(UNFOLD)
            await tab.evaluate(axe)
            for scheme, width in LOOKS:
                await tab.emulate_media(color_scheme=scheme)
                await tab.set_viewport_size({"width": width, "height": 900})
                if told := await tab.evaluate(FOUND):
                    found[path, scheme, width] = told
            for width in WIDTHS:
                await tab.set_viewport_size({"width": width, "height": 900})
                if await tab.evaluate(OVERFLOWS):
                    found[path, width] = "it is wider than the window"

    assert not found


async def test_everything_is_done_by_keyboard_alone(pages, chromium):
    await pages.run("0001-a", *TURNS, state="parked")
    asked = await pages.ask("0001-a")
    async with pages.serve() as served, logged_in_tab(chromium, pages, served) as tab:
        await tab.keyboard.press("Tab")
        await tab.keyboard.press("Enter")  # past the head of the page
        await tab.locator("#main:focus").wait_for()  # what is pressed before that lands elsewhere
        await tab.keyboard.press("Tab")
        await tab.keyboard.press("Enter")  # the first of what waits
        await tab.get_by_role("heading", name="Approval").wait_for()
        digest = asked.binding[:6]
        await walk_to(tab, "digest")
        await tab.keyboard.type(digest)
        await tab.keyboard.press("Enter")
        await tab.get_by_role("heading", name="What was decided").wait_for()
        stored = await pages.approvals.get(asked.id)

    assert (stored.state, stored.decided_by, stored.decided_via) == ("approved", "ada", "page")


async def walk_to(tab, name):
    """Press Tab until the field of this name has the focus."""
    for _ in range(40):
        await tab.keyboard.press("Tab")
        if await tab.evaluate("() => document.activeElement.name") == name:
            return
    raise AssertionError(name)
