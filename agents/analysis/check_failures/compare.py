"""Compare two outcomes of a check: no worse, worse, or it could not be told."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agents.analysis.check_failures.findings import FINDINGS
from agents.analysis.check_failures.members import list_programs
from agents.analysis.check_failures.named_tests import RemovedNames, find_lost
from agents.analysis.check_failures.other_tools import HOOKS
from agents.analysis.check_failures.reported import FailuresByProgram, ReportedFailures
from agents.analysis.failure_cause import shorten_cause
from agents.text import code_span, one_line

ComparisonVerdict = Literal["no worse", "worse", "unknown"]

SILENT = "{name} no longer says which tests fail"

_STARTERS = frozenset(("Automake", "CTest", "Meson"))
"""They start programs, each of which may have many tests."""
_OF_ONE_TEST = {
    "CTest": re.compile(r"\w(?:\.|::|/)\w"),  # as `gtest_discover_tests` calls them
    "Automake": re.compile(r"\S \d+(?: |$)"),  # of a program that speaks TAP
}
_SILENCE = SILENT.format(name="")
_NOT_STARTED = (126, 127)  # bash(1), EXIT STATUS
_SHOWN, _NAME_LIMIT, _END = 3, 90, 24  # names in a reason, and characters of each
_CAUSE_LIMIT = 160  # characters of what a command says is wrong

_NOTHING_RAN = "it ran no test"
_FEWER = (
    "with the change {who} ran {ran} tests, of {earlier} before, and the change {removes}: look for"
    " what is skipped now, or no longer found, and have it run or remove it"
)
_REMOVES, _REMOVES_NONE = "removes {removed} of them", "removes none"
_LOST = "{count} fewer ran ({earlier} → {ran})"
_LOST_BY_NAME = "{count} of {earlier} tests did not run again ({names})"
_GONE = (
    "with the change {count} of {earlier} tests did not run again, and it removes none of these:"
    " {names}; look for what is skipped now, or no longer found, and have it run or remove it"
)
_NO_LONGER_COUNTED = "with the change it passes without saying how many tests ran, as it did before"
NEVER_COUNTED = (
    "it passes, but says nowhere that any test ran, and nobody named it as a check: `quality` in"
    " `.github/fettle.yml` can, and then its exit status counts"
)
_HIDDEN = (
    "with the change it ends as if all passed (exit code 0), and yet {names} failed in it: have it"
    " end as its tests do, such as by `set -o pipefail` in front of a pipe"
)
_CANNOT_START = "it could not be started"
_CANNOT_READ = "the tests in {names} could not be run"
_RAN_NONE = "it failed and ran no test"
_WHEN = ("before the change", "with the change")
_NO_START = "{when}, the command could not be started"
_STOPPED = "{when}, it was stopped before it had ended"
_NO_NAMES = "{when}, it failed without saying what fails in a form that Fettle reads"
_NO_TESTS = "{when}, it failed and ran no test"
_NOT_BUILT = (
    "{when}, it failed by what compilers or linters found, and no test is known to have run"
)
_STOPPED_SHORT = (
    "{when}, it stopped at what the first of its programs found, so nobody ran the others: name"
    " each of them as a check of its own under `quality` in `.github/fettle.yml`"
)
_NOT_ALL = "{when}, it did not say all that fails"
_UNREAD = "{when}, the tests in {names} could not be run"
_HOOKS = "{when}, it names the hooks that fail, but not what they found"
_NOT_INSIDE = (
    "{names} failed before the change and with it, and which of the tests in there fail nobody says"
)
_FURTHER = "with the change it got further than before, so nothing says whether what fails is new"


class CheckEnding(Protocol):
    """How a check ended."""

    @property
    def exit_code(self) -> int:
        """Return 0 where it passed."""
        ...

    @property
    def stopped(self) -> bool:
        """Return whether it was ended by somebody else, such as by a limit."""
        ...

    @property
    def named(self) -> bool:
        """Return whether people named it as a check, so that its exit status alone counts."""
        ...

    @property
    def output(self) -> str:
        """Return what it wrote: untrusted, and bounded."""
        ...

    @property
    def failures(self) -> FailuresByProgram:
        """Return what failed by name."""
        ...

    @property
    def several(self) -> bool:
        """Return whether it runs several programs, of which one that fails stops the rest."""
        ...

    @property
    def missing(self) -> Sequence[str]:
        """Return the modules that it says are not there."""
        ...


@dataclass(frozen=True)
class Comparison:
    """What a check says of a change."""

    verdict: ComparisonVerdict
    new: tuple[str, ...] = ()
    """The names of what fails in it and did not before the change, so far as that can be told."""
    why: str = ""
    """Why it could not be told."""
    fewer: str = ""
    """How many tests which ran before did not, where that is for want of them alone."""


def compare(
    before: Sequence[CheckEnding],
    now: CheckEnding,
    *,
    tolerated: Collection[str] = (),
    removed: RemovedNames | None = None,
) -> Comparison:
    """Return what this check says of the change, against the runs before it.

    What passed before and fails now is worse, whatever it writes. What failed before, too, is no
    worse only where each run told all that failed in it, test by test. `tolerated`: the names of
    what fails now and then, which is held against nobody. `removed`: what the change takes out of
    its tests.
    """
    new = tuple(name for name in find_new_failures(before, now) if name not in tolerated)
    red = any(map(has_failed, before))
    if has_failed(now) and (new or not (red or _consists_of(now, tolerated))):
        return Comparison("worse", new)
    why = _explain_untold(before, now) if red or not has_failed(now) else ""
    if why:
        return Comparison("unknown", why=why)
    fewer = _find_fewer(before, now, removed.count if removed else 0)
    return fewer or _find_lost(before, now, removed) or Comparison("no worse")


def has_failed(ending: CheckEnding) -> bool:
    """Return whether it failed: by its exit code, or by a report of tests that failed.

    Builds can be told to pass whatever their tests say, as by Maven's `testFailureIgnore`.
    """
    return bool(ending.exit_code) or any(each.names for each in ending.failures.reports.values())


def find_new_failures(before: Sequence[CheckEnding], now: CheckEnding) -> tuple[str, ...]:
    """Return what fails now and did not in any of the runs before; nothing where nobody can tell.

    A program that said before how many tests fail and has not come to that now is worse than any
    failing test: it crashed, or does not start any more.
    """
    if not has_failed(now):
        return ()
    *red, told_now = _comparable([*filter(has_failed, before), now])
    new = [
        name
        for program, told in told_now.items()
        if all(_tells(each, program, told) for each in red)
        for name, count in told.names.items()
        if all(_failed_less_often(each[program], name, count) for each in red)
    ]
    return tuple(dict.fromkeys(new)) or _silent(red, told_now)


def confirm_failures(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Return what is new in two runs of the same files: what is in one alone is flaky.

    That a program fell silent in one and names new failures in the other is worse both times.
    """
    if first and second and (_is_silence(first) or _is_silence(second)):
        return tuple(first if _is_silence(second) else second)
    return tuple(name for name in first if name in set(second))


def _consists_of(ending: CheckEnding, names: Collection[str]) -> bool:
    """Return whether the run failed by some of these names, and by nothing else."""
    [told] = _comparable([ending])
    failed = {name for each in told.values() for name in each.names}
    whole = all(_is_complete(each) for each in told.values()) and not ending.stopped
    return whole and bool(failed) and failed <= {*names}


def explain_no_start(ending: CheckEnding) -> str:
    """Return why a failed check ran only some of its tests, or none; empty where it ran them all.

    An incomplete set-up does that to checks. Empty also for one that was stopped: it may have been
    on its way to the rest.
    """
    if not ending.exit_code or ending.stopped:
        return ""
    [told] = _comparable([ending])
    unread = [name for each in told.values() for name in each.unread]
    tests = ending.failures.of_tests
    reasons = (
        (ending.exit_code in _NOT_STARTED, _CANNOT_START),
        (bool(unread), _CANNOT_READ.format(names=list_names(unread))),
        (tests and ending.failures.ran == 0, _RAN_NONE),
        (tests and list_programs(told) == {FINDINGS.name}, _RAN_NONE),
        (tests and not told and bool(ending.missing), _RAN_NONE),
    )
    return next((why for holds, why in reasons if holds), "")


Told = Mapping[str, ReportedFailures]


def _comparable(endings: Sequence[CheckEnding]) -> list[Told]:
    """Return what each of them told, of each program from the same source.

    That is its report where all of them have one; else it is the output of each.
    """
    reported = set(endings[0].failures.reports) if endings else set()
    for each in endings:
        reported &= each.failures.reports.keys()
    return [
        {**each.failures.told, **{name: each.failures.reports[name] for name in reported}}
        for each in endings
    ]


def _explain_untold(before: Sequence[CheckEnding], now: CheckEnding) -> str:
    """Return why nothing follows from these runs, of which none is known to be worse."""
    if not has_failed(now):
        return _NOTHING_RAN if now.failures.ran == 0 else _explain_green(before, now)
    red = [*filter(has_failed, before)]
    for when, ending in (*((_WHEN[0], each) for each in red), (_WHEN[1], now)):
        if why := _explain_unread(when, ending):
            return why
    *earlier, told_now = _comparable([*red, now])
    further = any(
        program not in each or not _tells(each, program, told)
        for each in earlier
        for program, told in told_now.items()
    )
    return _FURTHER if further else _explain_whole_programs(earlier, told_now)


def _explain_whole_programs(earlier: Sequence[Told], now: Told) -> str:
    """Return why nothing follows where a program of many tests failed before, and fails now.

    CMake can list each test of a program by its own name, such as `Sums.Adds`.
    """
    names = [
        name
        for program, told in now.items()
        if program in _STARTERS
        for name in told.names
        if not (program in _OF_ONE_TEST and _OF_ONE_TEST[program].search(name))
        and any(program in each and name in each[program].names for each in earlier)
    ]
    return _NOT_INSIDE.format(names=list_names(names)) if names else ""


def _explain_green(before: Sequence[CheckEnding], now: CheckEnding) -> str:
    """Return why nothing follows from a run that passed.

    What was stopped before the change, or could not start, was not measured: a run that passes now
    may have lost most of its tests, and nobody could tell.
    """
    for each in before:
        if each.stopped or each.exit_code in _NOT_STARTED:
            return (_STOPPED if each.stopped else _NO_START).format(when=_WHEN[0])
    known = {name for each in before for name in each.failures.names}
    if hidden := [name for name in now.failures.failed_tests if name not in known]:
        return _HIDDEN.format(names=list_names(hidden))
    if now.failures.counted:
        return ""
    if any(each.failures.counted for each in before):
        return _NO_LONGER_COUNTED
    return NEVER_COUNTED if now.failures.of_tests and not now.named else ""


def _find_fewer(before: Sequence[CheckEnding], now: CheckEnding, removed: int) -> Comparison | None:
    """Return what follows where nothing new fails, but tests that ran before did not run.

    That is so by program. Others that run more may run what this one did before.
    """
    for each in before:
        told, told_now = _comparable([each, now])
        ran = {name: of.ran or 0 for name, of in {**now.failures.best, **told_now}.items()}
        counts = {name: of.ran for name, of in told.items() if of.ran}
        gained = {name: max(count - counts.get(name, 0), 0) for name, count in ran.items()}
        for name, earlier in counts.items():
            if told[name].tests and name in told_now and told_now[name].tests:
                continue  # their names say more
            count = earlier - ran.get(name, 0)
            if count > removed + sum(gained.values()):
                who = code_span(name) if len(counts) > 1 else "it"
                said = {"who": who, "ran": ran.get(name, 0), "earlier": earlier}
                why = _FEWER.format(**said, removes=_say_removed(removed))
                return Comparison("unknown", why=why, fewer=_say_lost(count, said))
    return None


def _find_lost(
    before: Sequence[CheckEnding], now: CheckEnding, removed: RemovedNames | None
) -> Comparison | None:
    """Return what follows where tests did not run again that the change does not remove.

    Others may run in their number: where reports name tests, their names count.
    """
    for each in before:
        pair = _comparable([each, now])
        ran, runs = ({name: told.tests for name, told in one.items()} for one in pair)
        if lost := find_lost(ran, runs, removed):
            count = len(lost.names)
            said = {"count": count, "earlier": lost.earlier, "names": list_names(lost.names)}
            fewer = _LOST_BY_NAME.format(**said | {"names": _list_plainly(lost.names)})
            return Comparison("unknown", why=_GONE.format(**said), fewer=fewer)
    return None


def _list_plainly(names: Sequence[str]) -> str:
    """Return the first of these names as plain text, each by its end, which says most."""
    shown = [name if len(name) <= _END else f"…{name[1 - _END :]}" for name in names[:_SHOWN]]
    return ", ".join((*shown, *("…" for _ in names[_SHOWN : _SHOWN + 1])))


def _say_removed(removed: int) -> str:
    return _REMOVES.format(removed=removed) if removed else _REMOVES_NONE


def _say_lost(count: int, said: Mapping[str, object]) -> str:
    return _LOST.format(count=f"{count} test{'s' if count > 1 else ''}", **said)


def _explain_unread(when: str, ending: CheckEnding) -> str:
    """Return why it is not known what failed in this run; nothing where it is known."""
    [told] = _comparable([ending])
    unread = [name for each in told.values() for name in each.unread]
    reasons = (
        (ending.stopped, _STOPPED),
        (ending.exit_code in _NOT_STARTED, _NO_START),
        (not told, _NO_NAMES),
        (bool(unread), _UNREAD),
        (ending.failures.ran == 0, _NO_TESTS),
        (ending.failures.of_tests and list_programs(told) == {FINDINGS.name}, _NOT_BUILT),
        (ending.several and list_programs(told) == {FINDINGS.name}, _STOPPED_SHORT),
        (not all(each.whole for each in told.values()), _NOT_ALL),
        (not any(each.names for each in told.values()), _NO_NAMES),
        (list_programs(told) == {HOOKS}, _HOOKS),
    )
    why = next((why for holds, why in reasons if holds), "")
    says = _quote_cause(ending.output) if why in (_NO_NAMES, _NO_TESTS) else ""
    return why.format(when=when, names=list_names(unread)) + says


def _quote_cause(output: str) -> str:
    """Return what the command says is wrong, which others wrote, as Markdown for publication."""
    cause = one_line(shorten_cause(output), _CAUSE_LIMIT)
    return f" ({code_span(cause)})" if cause else ""


def list_names(names: Sequence[str]) -> str:
    """Return the first of these names, which others chose, as Markdown that can be published."""
    shown = ", ".join(code_span(one_line(name, _NAME_LIMIT)) for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def _tells(before: Told, program: str, now: ReportedFailures) -> bool:
    """Return whether what the program told before can be compared with what it tells now."""
    told = before.get(program)
    if told is None or not told.whole:
        return False
    return not told.sessions or now.sessions <= told.sessions  # else it got further than before


def _failed_less_often(before: ReportedFailures, name: str, count: int) -> bool:
    """Return whether it failed less often before, and not as a part of something that did."""
    if before.names.get(name, 0) >= count:
        return False
    return not any(_belongs(name, each) for each in before.unread)


def _belongs(name: str, whole: str) -> bool:
    rest = name[len(whole) :]
    return name.startswith(whole) and not (rest[:1].isalnum() or rest.startswith("_"))


def _silent(red: Sequence[Told], now: Told) -> tuple[str, ...]:
    """Return a sentence where a program that always says how it ended says that no more."""
    for program in red[0] if red else ():
        all_said = all(_is_complete(each.get(program)) for each in red)
        told = now.get(program)
        if all_said and not (told and told.ended):
            return (SILENT.format(name=program),)
    return ()


def _is_complete(told: ReportedFailures | None) -> bool:
    return bool(told and told.ended and told.whole)


def _is_silence(names: Sequence[str]) -> bool:
    return len(names) == 1 and names[0].endswith(_SILENCE)
