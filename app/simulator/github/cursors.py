"""Pagination by cursor, with `before` and `after`."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

from app.simulator.github.answers import Answer, ApiError
from app.simulator.github.calls import LONGEST_PAGE, Call

Json = Any
CursorKey = tuple[str, int]
"""By what a list is ordered: a time as text, and a number for what happened at the same time."""
MARK = "cursor:v2"


def cursor_page(
    call: Call, items: Sequence[tuple[CursorKey, Json]], *, root: str, descending: bool
) -> Answer:
    """Return the page that `after` or `before` asks for; Link leads on from the address `root`."""
    query = call.request.query
    if "page" in query:
        raise ApiError(400, "Pagination using the `page` parameter is not supported.")
    size = min(call.query_number("per_page", 30), LONGEST_PAGE)
    ordered = sorted(items, key=lambda item: item[0], reverse=descending)
    after, before = _key(query.get("after")), _key(query.get("before"))
    window = [
        (key, shape)
        for key, shape in ordered
        if (after is None or _follows(key, after, descending))
        and (before is None or _follows(before, key, descending))
    ]
    page = window[-size:] if before and not after else window[:size]
    links = []
    if page and page[0][0] != ordered[0][0]:
        links.append(f'<{_url(call, root, "before", page[0][0])}>; rel="prev"')
    if page and page[-1][0] != ordered[-1][0]:
        links.append(f'<{_url(call, root, "after", page[-1][0])}>; rel="next"')
    headers = {"Link": ", ".join(links)} if links else {}
    return Answer(200, [shape for _, shape in page], headers)


def _follows(key: CursorKey, place: CursorKey, descending: bool) -> bool:
    return key < place if descending else key > place


def _key(cursor: str | None) -> CursorKey | None:
    if not cursor:
        return None
    try:
        mark, at, number = base64.urlsafe_b64decode(cursor).decode().split("|")
        key = (at, int(number))
    except ValueError:
        mark = ""
    if mark != MARK:
        raise ApiError(400, "Invalid cursor")
    return key


def _url(call: Call, root: str, name: str, key: CursorKey) -> str:
    text = "|".join((MARK, key[0], str(key[1])))
    kept = [
        pair for pair in parse_qsl(call.request.query_string) if pair[0] not in ("before", "after")
    ]
    cursor = base64.urlsafe_b64encode(text.encode()).decode()
    return f"{root}?{urlencode([*kept, (name, cursor)])}"
