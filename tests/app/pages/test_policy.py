"""The policy in force on a repository's page: each key with where it comes from."""

from __future__ import annotations

import json
import re

import pytest

from agents.errors import TransientError
from agents.policy import InvalidPolicy, MissingPolicy, PolicyFault, PolicyOrigin, found_in
from app.store.pages.logins import PageLogins
from app.views.policy import describe_policy

PAGE = "/r/ada/parse"
ORIGIN = PolicyOrigin(repository="ada/.github", url="https://github.com/ada/.github", owners=True)
SECRET = ORIGIN.model_copy(update={"secret": True})
TEXT = b"budget: {usd: 3.5}\nask: [{command: '<b>x*', reason: '<i>y'}]\n"


async def show(pages, answer):
    """Return the page, and the same as JSON, where the policy is read so."""

    async def read(_repository_id):
        if isinstance(answer, Exception):
            raise answer
        return answer

    await pages.run("0001-a")
    async with pages.serve(policy=read) as browser:
        code = await PageLogins(pages.database).make_code("ada")
        await browser.post("/login", code=code, next="/")
        _, html = await browser.get(PAGE)
        _, told = await browser.get(PAGE, Accept="application/json")
    return html, json.loads(told)["policy"]


async def test_each_key_says_where_it_comes_from(pages):
    html, told = await show(pages, found_in(TEXT, ORIGIN))
    keys = {each["name"]: (each["value"], each["from"]) for each in told["keys"]}

    assert keys["budget.usd"] == ("3.5", "ada/.github")
    assert keys["budget.turns"][1] == "default"
    assert keys["dashboard"] == ('"none"', "default")
    row = r"<code>budget.usd</code></td><td data-label=\"Value\"><code>3.5</code>.*?ada/.github"
    assert re.search(row, html)
    assert "<b>x" not in html
    assert "&lt;i&gt;y" in html


async def test_without_a_file_all_is_as_by_default(pages):
    html, told = await show(pages, MissingPolicy())

    assert "There is no file" in html
    assert {each["from"] for each in told["keys"]} == {"default"}


async def test_a_file_that_cannot_be_read_is_told_with_its_lines(pages):
    html, told = await show(pages, InvalidPolicy((PolicyFault(3, 1, "no <key>"),), ORIGIN))

    assert "nothing is done here" in html
    assert "line 3, column 1: no &lt;key&gt;" in html
    assert told["keys"] == []


@pytest.mark.parametrize("answer", [None, TransientError("GitHub is away.")])
async def test_where_nobody_can_say_the_page_is_there_all_the_same(pages, answer):
    html, told = await show(pages, answer)

    assert told is None
    assert "The newest runs" in html


def test_the_owners_private_file_is_for_operators_alone():
    found = found_in(TEXT, SECRET)

    assert describe_policy(found, operator=True)["keys"]
    hidden = describe_policy(found, operator=False)
    assert (hidden["keys"], hidden["url"]) == ([], None)
    assert "ada/.github" not in str(hidden)
