"""What another major version breaks, for people who are to have the code follow: untrusted."""

from __future__ import annotations

from collections.abc import Iterator

from agents.analysis.check_failures.causes import find_output_cause, find_test_causes
from agents.pipelines.remediate.work import Work
from agents.pipelines.stages.quality import CheckResult, some_names, to_code
from agents.text import fence_all, one_line, publish, without_hidden

CHECKS, TESTS = 3, 4  # that are shown; of the others is said how many there are
NAME, CAUSE = 120, 160  # characters of a test's name, and of a line of why it failed
COMMAND = 80
WROTE = 1_200  # characters of all of it
REASON = 280

_DRAFT = (
    "Version {version} is the only way out of the alerts that was found, and the code does not"
    " follow it yet: with it {checks}."
)
_NEUTRAL = "The code does not follow version {version} yet: with it {checks}."
"""While nobody may learn what it is for."""
_SO = " So this is a draft."
_FAILS = "{name} ({command}) fails, which passed before"
_FAILS_MORE = "{name} ({command}) fails in more places than before"
_UNTRIED = "No model had the code follow"
_ENDED = "Then nobody tried again"
_TRIED = (
    "A model tried to have the code follow, {times}. What it made did not stand and is not here:"
    " the change is the move alone."
)
_FOLLOW = (
    "Somebody has to have the code follow on this branch until nothing fails that passed before,"
    " mark it as ready, then merge it"
)
_FOLLOW_THERE = (
    "Somebody has to have the code follow on this branch until nothing fails that passed before,"
    " then merge it"
)
_THEIRS = "Once anybody has pushed there, Fettle leaves the branch alone."
_TIMES = ("once", "twice")


def describe_broken(work: Work, repository_url: str) -> str:
    """Return which checks fail newly and how, and what was tried; nothing of other fixes."""
    if not work.handed_over or work.quality is None or work.bump is None:
        return ""
    told = _NEUTRAL if work.found.group.undisclosed else _DRAFT
    said = told.format(version=to_code(one_line(work.bump.major, 30)), checks=_name_checks(work))
    said += "" if work.is_there else _SO
    return "\n\n".join((said, _quote_causes(work), _describe_tries(work, repository_url)))


def say_next(work: Work, then: str = "") -> str:
    """Return what somebody has to do; `then`: what comes of that, in a sentence."""
    do = _FOLLOW_THERE if work.is_there else _FOLLOW
    said = f"{do}; {then}" if then else f"{do}."
    return said if work.is_there else f"{said} {_THEIRS}"


def list_broken(work: Work) -> str:
    """Return the names of the checks that fail newly, as they are."""
    failing = work.quality.failing if work.quality is not None else ()
    return ", ".join(one_line(each.name, NAME) for each in failing[:CHECKS])


def name_broken(work: Work) -> str:
    """Return the checks that fail newly, each with the tests that do, in a sentence."""
    failing = work.quality.failing[:CHECKS] if work.quality is not None else ()
    named = [
        f"{to_code(each.name)}{f' ({some_names(each.new)})' if each.new else ''}"
        for each in failing
    ]
    return f"{', '.join(named)}."


def _name_checks(work: Work) -> str:
    assert work.quality is not None, "the checks were run"
    failing = work.quality.failing
    named = [_name_check(work, each) for each in failing[:CHECKS]]
    more = [f"{len(failing) - CHECKS} more fail"] if len(failing) > CHECKS else []
    return ", and ".join([*named, *more])


def _name_check(work: Work, check: CheckResult) -> str:
    assert work.quality is not None, "the checks were run"
    text = _FAILS_MORE if work.quality.red_before(check) else _FAILS
    command = to_code(one_line(check.command, COMMAND), COMMAND)
    return text.format(name=to_code(check.name), command=command)


def _quote_causes(work: Work) -> str:
    """Return the tests that fail newly, each with the first lines of why, as a block of code."""
    assert work.quality is not None, "the checks were run"
    lines = [line for each in work.quality.failing[:CHECKS] for line in _list_causes(each)]
    text = without_hidden("\n".join(lines), joiner=False)[0]
    return fence_all(text, limit=WROTE)


def _list_causes(check: CheckResult) -> Iterator[str]:
    if not check.new:
        yield one_line(check.name, NAME)
        yield from (f"    {one_line(line, CAUSE)}" for line in find_output_cause(check.output))
        return
    for name, lines in find_test_causes(check.output, check.new[:TESTS]).items():
        yield one_line(name, NAME)
        yield from (f"    {one_line(line, CAUSE)}" for line in lines)
    if (more := len(check.new) - TESTS) > 0:
        yield f"and {more} more"


def _describe_tries(work: Work, repository_url: str) -> str:
    count = len(work.failed)
    times = f"{count} times" if count > len(_TIMES) else ("", *_TIMES)[count]
    tried = _TRIED.format(times=times) if count else ""
    if not work.unfollowed:
        return tried
    said = f"{tried} {_ENDED if tried else _UNTRIED}".strip()
    if work.found.group.undisclosed:  # the reason may name what the change is for
        return f"{said}."
    why = publish(one_line(work.unfollowed, REASON), repository_url=repository_url)
    return f"{said}: {why}"
