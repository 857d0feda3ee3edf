"""The comments of the demo's reviewer, and the lines they stand on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from agents.text.markdown import block
from app.simulator.github.patches import parse_diff
from app.simulator.github.state.reviews import Inline


class ReviewPoint(BaseModel):
    """One thing that a reviewer has to say, wherever in the pull request it belongs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["suggestion", "wish", "question"]
    path: str
    """Pattern of the files that it may be about."""
    line: str
    """What a new line holds that it is about."""
    words: str
    """For a suggestion: what should stand there, with `{line}` for what does."""

    def to_inline(self, path: str, number: int, line: str) -> Inline:
        """Return the point as a comment on that line."""
        text = block(f"{self.words.format(line=line)}\n") if self.kind == "suggestion" else ""
        return Inline(path, number, text or self.words)


def read_points(path: Path) -> tuple[ReviewPoint, ...]:
    """Return the points in this file."""
    return TypeAdapter(tuple[ReviewPoint, ...]).validate_python(
        yaml.safe_load(path.read_text("utf-8"))
    )


def inlines(points: Sequence[ReviewPoint], diff: str) -> Iterator[Inline]:
    """Yield each point on the first new line that fits; else on the first one of its files.

    Nobody knows what a real model writes: a wish or a question that fits nowhere is asked at the
    first new line of all, where a suggestion would make no sense.
    """
    new = list(_new_lines(diff))
    for point in points:
        here = [each for each in new if fnmatch(each[0], point.path)]
        fitting = [each for each in here if point.line in each[2]]
        places = fitting if point.kind == "suggestion" else fitting or here or new
        if places:
            yield point.to_inline(*places[0])


def _new_lines(diff: str) -> Iterator[tuple[str, int, str]]:
    """Yield path, number and text of each line that the diff adds."""
    for change in parse_diff(diff):
        for hunk in change.parsed:
            for line in hunk:
                if line.is_added and line.target_line_no is not None:
                    yield change.path, line.target_line_no, line.value.rstrip("\n")
