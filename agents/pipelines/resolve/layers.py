"""Stages plan_layers, check_layer: divide a change that is too large to be read at a time.

It is divided between its commits, in the order in which they were made, and only where what is
below passes the repository's checks by itself.
"""

from __future__ import annotations

import asyncio
import re
from itertools import pairwise
from typing import Self

from agents.analysis.change_size import count_changed_lines, list_generated_patterns
from agents.pipelines.stages.quality import Baseline, CheckComparison, compare_checks, headline
from agents.requests import Frozen
from agents.run import StageContext, stage

ATTRIBUTES = ".gitattributes"
MOST_LAYERS = 6
UNREADABLE = "nobody can say how large it is: its diff cannot be read"
ONE_COMMIT = "it is one commit, and only between commits it could be"
NOT_READY = "it is a draft, and what is above a draft waits with it"
GOES_ON = "it goes on with a pull request that people may be reading"
SWITCHED_OFF = "`pull_requests.stack` is off"
_STEP = re.compile(r"\bstep \d+/\d+: ", re.IGNORECASE)
"""In the first line of a commit that is a step of a plan: parts are numbered themselves."""
NOT_GREEN = "what stands below {commit} does not pass by itself. {headline}"


class Layer(Frozen):
    """A part of a change that is read, checked and merged by itself, on top of those below it."""

    commit: str
    """Its last one."""
    titles: tuple[str, ...]
    """First lines of its commits, oldest first: untrusted."""
    lines: int
    """Changed ones, without lock files and what is generated."""
    quality: CheckComparison | None = None
    """What the checks say of it; None for the topmost, of which they said it before."""


class LayeredChange(Frozen):
    """How large a change is, and what it is divided into."""

    lines: int | None = None
    """Changed ones, without lock files and what is generated; None: nobody counted them."""
    most: int = 0
    """How many people want to read at a time; 0: any number."""
    layers: tuple[Layer, ...] = ()
    """From the bottom up; none, or at least two."""
    why_whole: str = ""
    """Why it is not divided though it is larger: Markdown that is safe to publish."""

    @property
    def lower(self) -> tuple[Layer, ...]:
        """Return those that others stand on."""
        return self.layers[:-1]

    @property
    def size_note(self) -> str:
        """Return the note to reviewers of a large change that was not divided; empty otherwise."""
        if self.layers or not self.why_whole:
            return ""
        size = "An unknown number of" if self.lines is None else f"{self.lines:,}"
        return (
            f"{size} lines change here, lock files and generated ones not counted;"
            f" `pull_requests.max_lines` asks for {self.most:,} at most. It was not divided,"
            f" because {self.why_whole}. To have it in parts, divide the issue into sub-issues and"
            " write `/bot retry` on it."
        )

    def with_check(self, layer: Layer, quality: CheckComparison) -> Self:
        """Return the change with what the checks say of a lower layer.

        One that is not known to be green by itself becomes part of the one above it.
        """
        layers = list(self.layers)
        at = [each.commit for each in layers].index(layer.commit)
        layer = layers[at]
        if quality.verdict == "no worse":
            layers[at] = layer.model_copy(update={"quality": quality})
            return self.model_copy(update={"layers": tuple(layers)})
        above = layers[at + 1]
        titles, lines = (*layer.titles, *above.titles), layer.lines + above.lines
        layers[at : at + 2] = [above.model_copy(update={"titles": titles, "lines": lines})]
        if len(layers) > 1:
            return self.model_copy(update={"layers": tuple(layers)})
        why = NOT_GREEN.format(commit=above.commit[:10], headline=headline(quality).rstrip("."))
        return self.model_copy(update={"layers": (), "why_whole": why})


@stage
async def plan_layers(run: StageContext, *, ready: bool) -> LayeredChange:
    """See how large the change is."""
    terms = (await run.policy()).pull_requests
    if not terms.max_lines or run.ports.tracker is None:
        return LayeredChange()
    commits = await run.ports.source.commits(run.base, run.head)
    whole = await _count(run, run.base, run.head)
    change = LayeredChange(lines=whole, most=terms.max_lines)
    run.summarize("nobody can say" if whole is None else f"{whole} lines")
    if whole is not None and whole <= terms.max_lines:
        return change
    why = "" if terms.stack else SWITCHED_OFF
    why = why or ("" if ready else NOT_READY) or (GOES_ON if run.branch else "")
    why = why or (UNREADABLE if whole is None else ONE_COMMIT if len(commits) < 2 else "")
    if why:
        return change.model_copy(update={"why_whole": why})
    layers = await _divide(run, commits, terms.max_lines)
    run.summarize(f"{whole} lines in {len(layers)} parts")
    return change.model_copy(update={"layers": tuple(layers)})


@stage
async def check_layer(run: StageContext, baseline: Baseline, layer: Layer) -> CheckComparison:
    """Run the checks on one part by itself."""
    return await compare_checks(run, baseline, layer.commit)


async def _divide(run: StageContext, commits: list[tuple[str, str]], most: int) -> list[Layer]:
    """Return layers of as many commits as fit; one commit that is larger stands alone."""
    layers: list[Layer] = []
    start, titles = run.base, [_STEP.sub("", commits[0][1])]
    lines = await _count(run, start, commits[0][0]) or 0
    for (before, _), (commit, title) in pairwise(commits):
        together = await _count(run, start, commit) or 0
        if together > most and len(layers) < MOST_LAYERS - 1:
            layers.append(Layer(commit=before, titles=tuple(titles), lines=lines))
            start, titles, together = before, [], await _count(run, before, commit) or 0
        titles.append(_STEP.sub("", title))
        lines = together
    return [*layers, Layer(commit=commits[-1][0], titles=tuple(titles), lines=lines)]


async def _count(run: StageContext, old: str, new: str) -> int | None:
    attributes = await run.ports.source.show(run.trunk, ATTRIBUTES) or b""
    generated = list_generated_patterns(attributes.decode("utf-8", "replace"))
    diff = await (await run.tree()).diff(old, new, context=0)
    return await asyncio.to_thread(count_changed_lines, diff, generated)
