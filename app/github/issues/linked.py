"""Issues and pull requests of the same repository that a text refers to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agents.ports import LinkedIssue
from agents.requests import Repository
from agents.text import truncate
from agents.text.child_process import Exhausted, run_in_child
from app.github.access.run_reader import REPOSITORY, RunReader
from app.github.attachments.markdown_links import parse_links
from app.github.transport import BODY, NotFound

MOST = 20
"""Numbers that are looked up for one text at most, whatever `limit` says."""

LONGEST_TITLE = 300


def find_references(text: str, repository: Repository, web: str) -> list[int]:
    """Return the numbers in the text that GitHub would link within this repository, each once.

    References to other repositories, and numbers in code, are left out.
    https://docs.github.com/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls
    """
    name = re.escape(repository.full_name)
    pattern = re.compile(
        rf"(?<![\w./#&@-])(?:{name}\#|\#|GH-)(?P<short>[1-9]\d{{0,8}})(?![\w-])"
        rf"|(?<![\w.-]){re.escape(web)}/{name}/(?:issues|pull)/(?P<url>[1-9]\d{{0,8}})(?![\w-])",
        re.IGNORECASE | re.ASCII,
    )
    words = parse_links(text).words
    found = (each for word in words for each in pattern.finditer(word))
    return list(dict.fromkeys(int(each["short"] or each["url"]) for each in found))


async def read_linked(reading: RunReader, text: str, *, limit: int) -> tuple[LinkedIssue, ...]:
    """Return the issues and pull requests that the text refers to; unknown numbers count too.

    At most `limit` requests plus one for each author, and never more than 2 * MOST.
    """
    request, web = reading.request, reading.github.urls.web
    try:
        found = await run_in_child(text, find_references, text, request.repository, web)
    except Exhausted:
        found = []
    numbers = (number for number in found if number != request.number)
    client = await reading.client()
    linked = []
    for number in _first(numbers, min(limit, MOST)):
        try:
            thing = await client.getitem(
                f"{REPOSITORY}/issues/{{number}}", reading.url_variables(number=number)
            )
        except NotFound:
            continue
        linked.append(await _to_linked_issue(reading, thing))
    return tuple(linked)


async def _to_linked_issue(reading: RunReader, thing: Mapping[str, Any]) -> LinkedIssue:
    pull = thing.get("pull_request")
    return LinkedIssue(
        number=thing["number"],
        kind="issue" if pull is None else "pull request",
        title=thing["title"][:LONGEST_TITLE],
        body=truncate(thing["body"] or "", BODY, "the rest is on GitHub"),
        state="merged" if pull and pull.get("merged_at") else thing["state"],
        author=(thing.get("user") or {}).get("login", ""),
        author_may_write=await reading.may_show(thing),
    )


def _first(numbers: Iterator[int], most: int) -> Iterator[int]:
    return (number for number, _ in zip(numbers, range(most), strict=False))
