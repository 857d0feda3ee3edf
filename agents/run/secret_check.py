"""Keep what has the form of a secret out of commits, unless people say that it may go in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from agents.analysis.exposure import find_secrets
from agents.analysis.weakening import Finding, make_finding
from agents.loop import Submission
from agents.loop.session import Objection
from agents.ports import Json, WorkTree
from agents.text.child_process import Exhausted, run_in_child

S = TypeVar("S", bound=Submission)
ListSecrets = Callable[[], Awaitable[Sequence[Finding]]]

RULE = "change/secret"
WHAT = "commit what looks like a secret"
REASON = (
    "Lines that the change adds have the form of a key or a token. Once pushed, everybody who can"
    " read the repository has it, and its history keeps it. With a yes it is committed as it is;"
    " with a no nothing of this step is."
)
REFUSED = (
    "Nothing of this step was committed: {places}, and {why}. What was committed before is kept. If"
    " it is a real one that reached the run, change it where it is valid; if a test needs something"
    " of this form, have the test make it up. Then ask again."
)
UNREAD = "so much was changed that it could not be looked through"
SHOWN = 20  # places that a text names one by one

_OBJECTION = """\
What you added looks like a secret:
{places}
A commit shows it to everybody who reads the repository, for good. Take it out and read it from \
where the program gets its settings. If a test only needs something of this form, have it put \
together when the test runs, out of parts. If it has to stand there as it is, submit again \
unchanged: people are asked then."""


async def list_secrets(tree: WorkTree, old: str, new: str) -> tuple[Finding, ...]:
    """Return where the change between two commits or trees adds what looks like a secret."""
    diff = await tree.diff(old, new, context=0)
    try:
        return await run_in_child(diff, find_secrets, diff)
    except Exhausted:
        return (make_finding("the whole change", 0, "secret", UNREAD),)


@dataclass
class SecretCheck(Generic[S]):
    """Speaks against a submission of files with secrets, once for the same places."""

    look: ListSecrets
    """Returns where the files have some as they are now."""
    otherwise: Objection[S] | None = None
    """What the stage itself has to say against a submission comes first."""
    _told: frozenset[Finding] = field(default=frozenset())

    async def __call__(self, submission: S) -> str | None:
        """Return what speaks against it, for the model."""
        if self.otherwise is not None:
            fault = self.otherwise(submission)
            if fault := await fault if isinstance(fault, Awaitable) else fault:
                return fault
        found = frozenset(await self.look())
        if found <= self._told:
            return None
        self._told |= found
        return _OBJECTION.format(places=name_places(sorted(found, key=lambda each: each.place)))


def name_places(places: Sequence[Finding]) -> str:
    """Return the places as a list, without the secrets."""
    lines = [f"- {each.place}: {each.text}" for each in places[:SHOWN]]
    rest = len(places) - len(lines)
    return "\n".join([*lines, *([f"- and {rest} more"] if rest else [])])


def make_question(places: Sequence[Finding], files: str) -> Json:
    """Return what people are asked: each place, and the tree that they would let in."""
    return {"places": name_places(places), "files": files}
