"""The verbs `issue` and `pull_request` of the model's `gh` tool.

https://docs.github.com/rest/issues/issues#get-an-issue
https://docs.github.com/rest/pulls/pulls#list-pull-requests-files
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.ports import Json
from agents.requests import ResolveIssue
from agents.text import truncate
from app.github.access.run_reader import REPOSITORY, RunReader
from app.github.transport import clean_body, clean_line, describe_left_out, join_sections

HIDDEN = "(by somebody without write access: not shown)"
MOST_FILES = 100
DIFF = 12_000  # characters


async def read_issue(reading: RunReader, arguments: Mapping[str, Json]) -> str:
    """Return an issue and its comments, as text."""
    number = arguments["number"]
    client = await reading.client()
    issue = await client.getitem(
        f"{REPOSITORY}/issues/{{number}}", reading.url_variables(number=number)
    )
    if "pull_request" in issue:
        return f"#{number} is a pull request: read it with the verb pull_request."
    labels = ", ".join(clean_line(label["name"]) for label in issue["labels"])
    facts = f"{issue['state']}; labels: {labels or 'none'}"
    return join_sections(
        [
            f"# Issue #{number} ({facts})",
            await _format_opening(reading, issue),
            await reading.comments(number),
        ]
    )


async def read_pull_request(reading: RunReader, arguments: Mapping[str, Json]) -> str:
    """Return a pull request with its description, comments and changed files, as text."""
    number = arguments["number"]
    client, where = await reading.client(), reading.url_variables(number=number)
    pull = await client.getitem(f"{REPOSITORY}/pulls/{{number}}", where)
    state = "merged" if pull["merged"] else pull["state"]
    head = clean_line(pull["head"]["label"]) if await _by_us(reading, pull) else "a fork"
    facts = f"{state}; {head} into {clean_line(pull['base']['ref'])}"
    return join_sections(
        [
            f"# Pull request #{number} ({facts}; head {pull['head']['sha']})",
            await _format_opening(reading, pull),
            await _reviews(reading, number),
            await reading.comments(number),
            await _files(reading, pull, diff=arguments["diff"]),
        ]
    )


async def _format_opening(reading: RunReader, thing: Mapping[str, Any]) -> str:
    """Return title and description: the run's own issue as it was when the run was asked for."""
    request = reading.request
    if isinstance(request, ResolveIssue) and thing["number"] == request.number:
        return f"{clean_line(request.title)}\n\n{await clean_body(request.body)}"
    if not await reading.may_show(thing):
        return f"Title and description: {HIDDEN}"
    author = thing["user"]["login"]
    return f"{clean_line(thing['title'])} (by {author})\n\n{await clean_body(thing['body'])}"


async def _reviews(reading: RunReader, number: int) -> str:
    client, where = await reading.client(), reading.url_variables(number=number)
    reviews = [
        each async for each in client.getiter(f"{REPOSITORY}/pulls/{{number}}/reviews", where)
    ]
    remarks = [
        each async for each in client.getiter(f"{REPOSITORY}/pulls/{{number}}/comments", where)
    ]
    said, hidden = [], 0
    for each in (*reviews, *remarks):
        if not await reading.may_show(each):
            hidden += 1
        elif "path" in each:
            place = f"{each['path']}:{each.get('line') or each.get('original_line') or ''}"
            words = await clean_body(each["body"])
            said.append(f"## {each['user']['login']} on {clean_line(place)}\n{words}")
        else:
            words = await clean_body(each["body"]) if each["body"] else ""
            said.append(f"## {each['user']['login']}: {each['state'].lower()}\n{words}".rstrip())
    return join_sections(
        [*said, describe_left_out([(hidden, "reviews by people without write access")])]
    )


async def _files(reading: RunReader, pull: Mapping[str, Any], *, diff: bool) -> str:
    """Return the names of what it changes; a fork's files are an outsider's words, too."""
    if not await _by_us(reading, pull):
        return f"{pull['changed_files']} changed files: {HIDDEN}"
    client, where = await reading.client(), reading.url_variables(number=pull["number"])
    path = f"{REPOSITORY}/pulls/{{number}}/files"
    files = [each async for each in client.getiter(path, where)]
    names = [
        f"- {clean_line(each['filename'])}"
        f" ({each['status']}, +{each['additions']} -{each['deletions']})"
        for each in files[:MOST_FILES]
    ]
    more = len(files) - len(names)
    listing = "\n".join(["# Changed files", *names, *([f"- {more} more"] if more else [])])
    if not diff:
        return listing
    patches = [f"--- {each['filename']}\n{each.get('patch', '(no text)')}" for each in files]
    whole = truncate("\n".join(patches), DIFF, "read the branch's files for the rest")
    return f"{listing}\n\n{whole}"


async def _by_us(reading: RunReader, pull: Mapping[str, Any]) -> bool:
    """Tell whether those who may write named its branch and wrote what it changes."""
    home = (pull["head"]["repo"] or {}).get("id") == reading.request.repository.id
    return home or await reading.may_show(pull)
