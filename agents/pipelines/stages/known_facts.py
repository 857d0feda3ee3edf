"""What is known before a change is made, for whoever makes it or judges it.

The checks were run and the discussion was read before: a session that begins fresh would find out
the one again, and cannot find out the other at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.pipelines.stages.onboarding import PLACE, KnownPlace, describe_linked
from agents.pipelines.stages.quality import Baseline, CheckResult
from agents.policy import WorkPath
from agents.ports import Block, LinkedIssue
from agents.requests import Frozen, ResolveIssue
from agents.run import StageContext
from agents.text import clean_in_child, one_line

CHECKS_LIMIT = 4_000  # characters of the checks
DISCUSSION_LIMIT = 20_000  # and of what people said
NAMES_SHOWN, NAME = 12, 160
COMMAND = 300
EXCERPT_LINES = 120
LINE = 400
EXCERPTS_LIMIT = 16_000  # characters of all of them


_CHECKS = """The repository's own checks ({source}), as they ended without any change; they run \
again on it:

{checks}"""
_NO_CHECKS = "No check of the repository was found that can run here: what you run yourself counts."
_SAID = """What people with write access had said on the issue when they asked for this. Where \
they decide between ways, that is the way; where they differ from the issue or each other, the \
later word counts:

{said}"""
_EXCERPTS = """Lines that were found to matter before the change was begun, by file and line \
number, in files that are as they were then:

{excerpts}"""


class KnownFacts(Frozen):
    """What a run has found out before it changes anything."""

    baseline: Baseline
    discussion: str = ""
    """What people with write access had said on the issue: untrusted."""
    excerpts: tuple[KnownPlace, ...] = ()
    """Lines of the files as the run found them."""
    linked: tuple[LinkedIssue, ...] = ()
    """What the issue's text refers to in this repository: untrusted."""
    path: WorkPath = "whole"
    """How the issue becomes a change."""


async def describe_facts(run: StageContext, facts: KnownFacts, *, measured: bool = False) -> str:
    """Return the facts for a prompt; other people's words are fenced.

    `measured`: the prompt holds how the checks ended on the change as well. Those that passed
    before are told there.
    """
    parts = [] if measured and facts.baseline.is_green else [_describe_checks(run, facts.baseline)]
    said = (await clean_in_child(facts.discussion)).text
    if said.strip():
        parts.append(_SAID.format(said=run.fence(said, limit=DISCUSSION_LIMIT)))
    parts += await describe_linked(run, facts.linked)
    if excerpts := await _read_excerpts(run, facts.excerpts):
        parts.append(_EXCERPTS.format(excerpts=run.fence(excerpts, limit=EXCERPTS_LIMIT)))
    return "\n\n".join(parts)


async def read_pictures(run: StageContext) -> list[Block]:
    """Return the pictures of the issue that the run resolves, for a prompt."""
    if run.ports.tracker is None or not isinstance(run.request, ResolveIssue):
        return []
    return [each.block for each in (await run.ports.tracker.pictures(run.request.body)).shown]


async def _read_excerpts(run: StageContext, places: Sequence[str]) -> str:
    """Return the lines of those files that the run has not changed since it began."""
    if not places:
        return ""
    changed = set(await (await run.tree()).list_changed_paths(run.start, run.head))
    found = [each for each in map(PLACE.fullmatch, dict.fromkeys(places)) if each]
    texts = [await _read_lines(run, each) for each in found if each["path"] not in changed]
    return "\n\n".join(text for text in texts if text)


async def _read_lines(run: StageContext, place: re.Match[str]) -> str:
    data = await run.ports.source.show(run.start, place["path"])
    if data is None or b"\0" in data:
        return ""
    first = int(place["first"])
    last = min(int(place["last"] or first), first + EXCERPT_LINES - 1)
    lines = data.decode("utf-8", "replace").split("\n")[first - 1 : last]
    numbered = "\n".join(f"{number}\t{line[:LINE]}" for number, line in enumerate(lines, first))
    return f"{place['path']}\n{numbered}" if lines else ""


def _describe_checks(run: StageContext, baseline: Baseline) -> str:
    lines = [_describe(check) for check in baseline.runs]
    lines += [f"{one_line(command, COMMAND)}: cannot run here" for command in baseline.unavailable]
    if not lines:
        return _NO_CHECKS
    fenced = run.fence("\n".join(f"- {line}" for line in lines), limit=CHECKS_LIMIT)
    return _CHECKS.format(source=baseline.source, checks=fenced)


def _describe(check: CheckResult) -> str:
    command = one_line(check.command, COMMAND)
    if not check.failed:
        return f"{command}: passed, in {check.seconds:.0f} s"
    names = sorted(check.failures.names)
    if not names:
        return f"{command}: failed, with exit code {check.exit_code}"
    shown = ", ".join(one_line(name, NAME) for name in names[:NAMES_SHOWN])
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"{command}: failed, with exit code {check.exit_code}: {shown}{more}"
