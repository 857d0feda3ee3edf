"""Post changes as one review of suggestions that people commit with a click."""

from __future__ import annotations

import base64
import binascii
import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agents.ports import Suggested
from agents.text import code_span
from agents.text.markdown import block
from agents.text.outgoing import LIMIT
from app.github.access.run_reader import REPOSITORY, RunReader
from app.github.pulls.head_branch import PULL
from app.github.transport import (
    InstallationClient,
    NotFound,
    OutgoingText,
    Profile,
    Unprocessable,
    made_once,
    make_marker,
)

REVIEWS = f"{REPOSITORY}/pulls/{{number}}/reviews"
FILES = f"{REPOSITORY}/pulls/{{number}}/files"
CONTENT = f"{REPOSITORY}/contents{{/parts*}}{{?ref}}"  # `#` in a name would end the path
MOST = 60
"""Suggestions of one review; the rest stands in its text."""

BESIDE = "These lines are not in the changes shown here, so GitHub takes no suggestion for them:"
SECRET = "A change of {path} is left out, because it seems to hold a secret."  # noqa: S105 - words
NO_ROOM = "There is no room here for the changes of {paths}."

_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)

Hunks = Mapping[str, Sequence[range]]


class ReviewSuggestions:
    """Posts the reviews of one run that suggest changes."""

    def __init__(
        self,
        reading: RunReader,
        run_id: str,
        wording: OutgoingText,
        *,
        conceal: Callable[[str], str],
        settle: float,
    ) -> None:
        self._reading = reading
        self._run_id = run_id
        self._wording = wording
        self._conceal = conceal
        self._settle = settle

    async def post(self, key: str, body: str, suggested: Sequence[Suggested]) -> str:
        """Post the review unless the run has posted it; return its URL.

        https://docs.github.com/rest/pulls/reviews#create-a-review-for-a-pull-request
        """
        mark = make_marker(self._run_id, key)
        return await made_once(
            lambda: self._find(mark),
            lambda: self._make(mark, body, suggested),
            settle=self._settle,
        )

    async def _find(self, mark: str) -> str | None:
        client = await self._reading.client()
        own = await self._reading.github.identity(client)
        async for review in client.getiter(REVIEWS, self._url_variables()):
            if (review["body"] or "").startswith(mark) and own.is_author(review):
                return str(review["html_url"])
        return None

    async def _make(self, mark: str, body: str, suggested: Sequence[Suggested]) -> str:
        client = await self._reading.client()
        head = (await client.getitem(PULL, self._url_variables()))["head"]["sha"]
        clean = [each for each in suggested if self._conceal(each.lines) == each.lines]
        hunks = await self._hunks(client)
        fitting = [each for each in clean if _fits(each, hunks)][:MOST]
        beside = [each for each in clean if each not in fitting]
        secret = sorted({each.path for each in suggested if each not in clean})
        notes = [SECRET.format(path=code_span(path)) for path in secret]
        try:
            return await self._send(client, head, (mark, body, notes), fitting, beside)
        except Unprocessable:  # somebody pushed meanwhile, or GitHub counts lines in another way
            if not fitting:
                raise
        return await self._send(client, head, (mark, body, notes), [], clean)

    async def _send(
        self,
        client: InstallationClient,
        head: str,
        text: tuple[str, str, Sequence[str]],
        fitting: Sequence[Suggested],
        beside: Sequence[Suggested],
    ) -> str:
        mark, body, notes = text
        paths = dict.fromkeys(each.path for each in beside)
        texts = {path: await self._text(client, head, path) for path in paths}
        diffs = [self._diff(each, texts[each.path]) for each in beside]
        writing = await self._reading.client(Profile.REPORT)
        data = {
            "commit_id": head,
            "event": "COMMENT",
            "body": await self._whole(mark, body, notes, list(zip(beside, diffs, strict=True))),
            "comments": [_comment(each) for each in fitting],
        }
        return str((await writing.post(REVIEWS, self._url_variables(), data=data))["html_url"])

    async def _whole(
        self,
        mark: str,
        body: str,
        notes: Sequence[str],
        beside: Sequence[tuple[Suggested, str]],
    ) -> str:
        """Return the review's text: what does not fit into it is named."""
        ours = "\n\n".join(notes)
        words = await self._wording.publish(body, limit=LIMIT // 2)
        room = LIMIT - len(mark) - len(words) - len(ours) - 1_000
        shown, missing = [], []
        for each, diff in beside:
            if len(diff) + 2 <= room:
                shown.append(diff)
                room -= len(diff) + 2
            else:
                missing.append(each.path)
        parts = [words, ours, *([BESIDE, *shown] if shown else [])]
        if missing:
            named = ", ".join(code_span(path) for path in list(dict.fromkeys(missing))[:10])
            parts.append(NO_ROOM.format(paths=named[:800]))
        return "\n\n".join([mark, *(part for part in parts if part)])

    async def _hunks(self, client: InstallationClient) -> Hunks:
        """Return which lines of the head's files stand in the diff, hunk by hunk."""
        found: dict[str, list[range]] = {}
        async for file in client.getiter(FILES, self._url_variables()):
            found[file["filename"]] = list(_ranges(file.get("patch") or ""))
        return found

    async def _text(self, client: InstallationClient, head: str, path: str) -> str:
        """Return the file as it is at the head; nothing where it cannot be had."""
        try:
            where = {**self._reading.url_variables(ref=head), "parts": path.split("/")}
            found = await client.getitem(CONTENT, where)
            return base64.b64decode(found["content"]).decode()
        except (NotFound, Unprocessable, binascii.Error, UnicodeDecodeError, KeyError, TypeError):
            return ""

    def _diff(self, change: Suggested, text: str) -> str:
        """Return the change as a block of diff; without the old lines where there is no text."""
        old = text.splitlines(keepends=True)[change.start - 1 : change.end]
        new = change.lines.splitlines(keepends=True)
        if not text:
            lines = [f"@@ lines {change.start} to {change.end} become @@\n", *new]
        else:
            lines = list(difflib.unified_diff(old, new, n=3))[3:]
            lines.insert(0, f"@@ from line {change.start} on @@\n")
        body = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
        fence = _fence(body)
        return f"{code_span(change.path)}\n\n{fence}diff\n{self._conceal(body)}{fence}"

    def _url_variables(self) -> dict[str, str]:
        return self._reading.url_variables(number=self._reading.request.number)


def _ranges(patch: str) -> Iterable[range]:
    for found in _HUNK.finditer(patch):
        start, count = int(found[1]), int(found[2] or 1)
        yield range(start, start + count)


def _fits(change: Suggested, hunks: Hunks) -> bool:
    """Tell whether all its lines stand in one hunk."""
    if not 1 <= change.start <= change.end:
        return False
    places = hunks.get(change.path, ())
    return any(change.start in lines and change.end in lines for lines in places)


def _comment(change: Suggested) -> dict[str, Any]:
    place: dict[str, Any] = {"path": change.path, "line": change.end, "side": "RIGHT"}
    if change.start != change.end:
        place |= {"start_line": change.start, "start_side": "RIGHT"}
    return {**place, "body": block(change.lines)}


def _fence(text: str) -> str:
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    return "`" * (longest + 1)
