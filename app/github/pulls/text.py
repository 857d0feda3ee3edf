"""Title and description of a pull request, cleaned and bounded; Fettle adds the closing words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agents.ports.publishing import EVIDENCE
from agents.text.lines import quiet_in_commits
from agents.text.outgoing import LIMIT
from app.github.transport import OutgoingText, make_marker

KEY = "pull-request"
LOWER_KEY = "pull-request-part"
"""Of the pull requests that the one with `KEY` stands on."""
LONGEST_TITLE = 200
EDITED = """Somebody has edited the description of this pull request, so Fettle leaves it as it is.
This is what it would say of the newest commits:

**{title}**"""
EVIDENCE_ROOM = 20_000  # characters
FOLD = "<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"
CLOSES = "To have the merge close what they resolve, the description has to say {closing}."


class PullRequestBody:
    """Title and description of a run's pull request; `closes` are numbers of issues."""

    def __init__(
        self,
        wording: OutgoingText,
        title: str,
        body: str,
        closes: Iterable[int],
        evidence: str = "",
        *,
        key: str = KEY,
    ) -> None:
        self._key = key
        self.title = wording.title(title, LONGEST_TITLE)
        self._wording = wording
        self._body = body
        self._evidence = evidence
        self._closing = [f"Resolves #{number}" for number in dict.fromkeys(closes)]

    async def write_whole(self, caution: str, run_id: str) -> str:
        """Return the description; a hidden marker at its end lets later runs find it."""
        folded = await self._fold_evidence()
        return await self._wrap_body(
            (), (folded, "\n".join(self._closing), caution, make_marker(run_id, self._key))
        )

    async def write_beside(self) -> str:
        """Return a comment with the same text, for a description that people have edited."""
        head = EDITED.format(title=self._wording.line(self.title, LONGEST_TITLE))
        closing = " and ".join(f"`{line}`" for line in self._closing)
        return await self._wrap_body((head,), (CLOSES.format(closing=closing) if closing else "",))

    async def _fold_evidence(self) -> str:
        """Return the evidence, which opens at a click: nothing but the fold itself is HTML."""
        if not self._evidence:
            return ""
        safe = quiet_in_commits(
            await self._wording.publish(quiet_in_commits(self._evidence), limit=EVIDENCE_ROOM)
        )
        return FOLD.format(title=EVIDENCE, text=safe)

    async def _wrap_body(self, before: Sequence[str], after: Sequence[str]) -> str:
        """Return the model's text between ours: only the model's is shortened."""
        room = LIMIT - sum(len(part) + 2 for part in (*before, *after))
        # Twice: first it counts into the limit, then nothing is left that publishing uncovered.
        body = await self._wording.publish(quiet_in_commits(self._body), limit=room)
        body = quiet_in_commits(body)
        return "\n\n".join(part for part in (*before, body, *after) if part)
