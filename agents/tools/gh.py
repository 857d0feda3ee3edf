"""The tool `gh`, which reads issues, pull requests and checks of the run's own repository."""

from __future__ import annotations

import hashlib
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from agents.errors import ToolError
from agents.text import printable, quote
from agents.tools.base import Bench, Effect, Tool

TAKES = {
    "issue": ("number",),
    "pull_request": ("number",),
    "checks": ("ref",),
    "log": ("number",),
    "search": ("query",),
}


class Gh(Tool):
    """Read this repository on GitHub.

    `checks` are those of a commit, `log` is the end of an Actions job's. Words of people without
    write access are only counted.
    """

    name: ClassVar[str] = "gh"
    effect: ClassVar[Effect] = Effect.READ
    port: ClassVar[Literal["forge"]] = "forge"
    room: ClassVar[int] = 20_000

    verb: Literal["issue", "pull_request", "checks", "log", "search"]
    number: int | None = Field(default=None, ge=1)
    """For `issue`, `pull_request`; for `log` the job's id, which `checks` tells."""
    ref: str | None = Field(default=None, min_length=1, max_length=250)
    """For `checks`: a branch, tag or commit id."""
    query: str | None = Field(default=None, min_length=1, max_length=200)
    """For `search`: words that must all be there."""
    of: Literal["issues", "pull_requests", "code"] = "issues"
    """For `search`: among what."""
    diff: bool = False
    """For `pull_request`: with the diff."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for field in TAKES[self.verb]:
            if getattr(self, field) is None:
                raise ValueError(f"the verb {self.verb} needs `{field}`")
        return self

    def subject(self) -> str:
        """Return the verb and what it is about."""
        about = {"checks": self.ref, "search": self.query}.get(self.verb, f"#{self.number}")
        return f"{self.verb} {about}"

    async def run(self, bench: Bench) -> str:
        """Return what GitHub says, fenced."""
        if bench.forge is None:
            raise ToolError("This run has no GitHub: it works on a clone.")
        text = printable(await bench.forge.read(self.verb, self.model_dump(exclude={"verb"})))
        mark = hashlib.sha256(text.encode()).hexdigest()[:16]  # no text can hold its own hash
        return quote(text, mark, limit=self.room - 500)
