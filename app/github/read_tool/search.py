"""The verb `search` of the model's `gh` tool, confined to the run's own repository."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agents.ports import Json
from app.github.access.run_reader import RunReader
from app.github.transport import clean_line, describe_left_out

MOST = 20
KINDS = {"issues": "is:issue", "pull_requests": "is:pull-request"}

_WORD = re.compile(r"[^\s\"\\]+")


async def search(reading: RunReader, arguments: Mapping[str, Json]) -> str:
    """Return issues, pull requests or files that hold all of the words, as text.

    https://docs.github.com/rest/search/search
    """
    of = arguments["of"]
    # Quoted, nothing is a qualifier: `repo:` and `OR` are looked for as words.
    words = [f'"{word}"' for word in _WORD.findall(arguments["query"])]
    name = await reading.github.installed.full_name(reading.request.repository)
    scope = [f"repo:{name}", *filter(None, [KINDS.get(of)])]
    path = "/search/code{?q,per_page}" if of == "code" else "/search/issues{?q,per_page}"
    client = await reading.client()
    asked = {"q": " ".join([*words, *scope]), "per_page": str(MOST)}
    found = (await client.getitem(path, asked))["items"]
    own = [each for each in found if _is_of_repository(reading, name, each)]
    lines, hidden = [], 0
    for each in own:
        if of == "code":
            lines.append(f"- {clean_line(each['path'])}")
        elif await reading.may_show(each):
            lines.append(f"- #{each['number']} ({each['state']}) {clean_line(each['title'])}")
        else:
            hidden += 1
    notes = describe_left_out([(hidden, "by people without write access")])
    return "\n".join([f"# Found ({of}): {len(own)}", *lines, *([notes] if notes else [])])


def _is_of_repository(reading: RunReader, name: str, item: Mapping[str, Any]) -> bool:
    """Tell whether it is of this repository: the search might have a mind of its own."""
    if "repository" in item:
        return bool(item["repository"]["id"] == reading.request.repository.id)
    return str(item["repository_url"]).lower().endswith(f"/repos/{name}".lower())
