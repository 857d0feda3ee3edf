"""Compare two outcomes of a check: which failures are new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agents.analysis.check_failures.reported import ALL_OF_IT, FailuresByProgram, ReportedFailures

SILENT = "{name} no longer says which tests fail"
_SILENCE = SILENT.format(name="")


class CheckEnding(Protocol):
    """How a check ended."""

    @property
    def exit_code(self) -> int:
        """Return 0 where it passed."""
        ...

    @property
    def failures(self) -> FailuresByProgram:
        """Return what failed by name."""
        ...


def find_new_failures(before: Sequence[CheckEnding], now: CheckEnding) -> tuple[str, ...]:
    """Return what fails now and did not in any of the runs before; nothing where nobody can tell.

    A program that said before how many tests fail and has not come to that now is worse than any
    failing test: it crashed, or does not start any more.
    """
    if not now.exit_code:
        return ()
    red = [each.failures for each in before if each.exit_code]
    new = [
        name
        for program, told in now.failures.told.items()
        if all(_tells(each, program, told) for each in red)
        for name, count in told.names.items()
        if all(_failed_less_often(each.told[program], name, count) for each in red)
    ]
    return tuple(dict.fromkeys(new)) or _silent(red, now.failures)


def confirm_failures(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Return what is new in two runs of the same files: what is in one alone is flaky.

    That a program fell silent in one and names new failures in the other is worse both times.
    """
    if first and second and (_is_silence(first) or _is_silence(second)):
        return tuple(first if _is_silence(second) else second)
    return tuple(name for name in first if name in set(second))


def _tells(before: FailuresByProgram, program: str, now: ReportedFailures) -> bool:
    """Return whether what the program told before can be compared with what it tells now."""
    told = before.told.get(program)
    if told is None or not told.whole:
        return False
    return not told.sessions or now.sessions <= told.sessions  # else it got further than before


def _failed_less_often(before: ReportedFailures, name: str, count: int) -> bool:
    """Return whether it failed less often before, and not as a part of something that did."""
    if before.names.get(name, 0) >= count:
        return False
    wholes = (each.removesuffix(ALL_OF_IT) for each in before.names if each.endswith(ALL_OF_IT))
    return not any(name.startswith(each) for each in wholes)


def _silent(red: Sequence[FailuresByProgram], now: FailuresByProgram) -> tuple[str, ...]:
    """Return a sentence where a program that always says how it ended says that no more."""
    for program in red[0].told if red else ():
        all_said = all(_said_all(each.told.get(program)) for each in red)
        told = now.told.get(program)
        if all_said and not (told and told.ended):
            return (SILENT.format(name=program),)
    return ()


def _said_all(told: ReportedFailures | None) -> bool:
    return bool(told and told.ended and told.whole)


def _is_silence(names: Sequence[str]) -> bool:
    return len(names) == 1 and names[0].endswith(_SILENCE)
