"""Chromium, driven by Playwright, before the pages of a server; it asks for nothing else."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from playwright.async_api import async_playwright

from app.store.pages.logins import PageLogins

CHROMIUM = shutil.which("chromium")
FLAGS = ["--disable-gpu", "--disable-quic", "--disable-dev-shm-usage"]
ABSENT = "the pages were looked at by no browser: as root, `apt-get install chromium` mends that"


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def chromium():
    """Return the browser, started once; skip where this machine has none.

    It answers on the loop that it was started on: its tests share one, and each has its own tabs.
    """
    if CHROMIUM is None:
        pytest.skip(ABSENT)
    flags = FLAGS if os.geteuid() else [*FLAGS, "--no-sandbox"]  # root may not have its sandbox
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        await browser.close()


@asynccontextmanager
async def logged_in_tab(chromium, pages, served, **settings):
    """Open a tab in which an operator has logged in by typing a code.

    `served` is what `pages.serve()` yields. All that the browser's console says against the page,
    and all that the page asked of other addresses, has to be nothing.
    """
    context = await chromium.new_context(base_url=served.url, **settings)
    complaints = []
    try:
        tab = await context.new_page()
        tab.set_default_timeout(30_000)
        tab.on("console", lambda line: _note(complaints, line))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on(
            "request",
            lambda asked: asked.url.startswith(served.url) or complaints.append(asked.url),
        )
        await tab.goto("/login")
        await tab.get_by_label("Code").fill(await PageLogins(pages.database).make_code("ada"))
        await tab.get_by_label("Code").press("Enter")
        await tab.get_by_role("heading", name="Now").wait_for()
        yield tab
    finally:
        await context.close()
    assert not complaints


def _note(complaints, line):
    """Keep what is wrong; a page that says it is not there is as it should be."""
    if line.type == "error" and not re.search(r"status of 4\d\d", line.text):
        complaints.append(line.text)
