"""Parse what test programs of C and C++ print: each framework is a row of patterns.

A check may start many programs, one after another: their counts are added. One that begins and
does not come to its summary crashed, so its tests are unknown, whatever the others say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from agents.analysis.check_failures.lines import normalize_name
from agents.analysis.check_failures.reported import (
    ReportedFailures,
    ReportFormat,
)

_NO_NAME = "(no name)"
_SIGNAL = (
    r"(Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception|Killed"
    r"|Trace/breakpoint trap)"
)
_CRASH = re.compile(
    rf"(?:\S{{1,100}}: (?:line )?\d+: +(?:\d+ )?)?{_SIGNAL}(?: \(core dumped\))?(?: {{2,}}\S.*)?$"
    rf"|g?make(?:\[\d+\])?: (?:\*\*\* )?\[[^\]]{{1,300}}\] {_SIGNAL}"
)
_MESON = re.compile(r"Ok: +\d+$")
"""Meson counts what it starts in its report, and shows programs' output where they fail."""
_MAKE_ERROR = re.compile(r"g?make(?:\[(\d+)\])?: (?:\*\*\* )?\[[^\]]{1,300}\] Error \d+")


@dataclass(frozen=True)
class Framework:
    """How the programs of one test framework say what they ran.

    Groups of the patterns: `total` (of which `skipped` did not run) or else `passed` and `failed`
    are counts, `name`, `suite` and `file` make the name of a test that failed.
    """

    name: str
    sign: str
    """Stands in all that they write."""
    ends: re.Pattern[str]
    """The line that ends one program's run, once for each."""
    bad: re.Pattern[str]
    """A line that says that a test failed."""
    begins: re.Pattern[str] | None = None
    """The line that begins one program's run, once for each, where all of them write one."""
    also: re.Pattern[str] | None = None
    """Further lines with counts."""
    heading: re.Pattern[str] | None = None
    """The line, or it and the one above, that names the test or suite of what follows."""
    below: re.Pattern[str] | None = None
    """Counts are read below this line only: elsewhere they are repeated."""
    by_assertion: bool = False
    """Whether it counts assertions that failed, of which a test can have many."""


@dataclass
class _Tally:
    """What was read so far of the programs of one framework."""

    framework: Framework
    counts: Counter[str] = field(default_factory=Counter)
    begun: int = 0
    ended: int = 0
    open: bool = False
    below: bool = False
    heading: dict[str, str | None] = field(default_factory=dict)
    names: dict[tuple[int, str], None] = field(default_factory=dict)
    """By the program's place in the order, as two of them can have tests of one name."""
    lost: list[str] = field(default_factory=list)
    """Where programs crashed."""
    red: int = 0
    """How many programs said that tests failed."""
    said: int = 0
    """How many tests failed in those that came to their end."""

    def read(self, above: str, line: str) -> None:
        """Take what one line says."""
        kind = self.framework
        if kind.heading and (found := kind.heading.match(f"{above}\n{line}")):
            self.heading = found.groupdict()
        if kind.begins and (found := kind.begins.match(line)):
            self.close()
            self.begun, self.open, self.heading = self.begun + 1, True, {}
            self._count(found)
        elif found := kind.bad.match(line):
            at = self.begun if kind.begins else self.ended
            self.names[at, self._name(found.groupdict())] = None
        elif kind.below and not self.below:
            self.below = bool(kind.below.match(line))
        else:
            self._read_counts(line)

    @property
    def has_loose_names(self) -> bool:
        """Return whether tests failed of which no summary tells."""
        return any(at == self.ended for at, _ in self.names)

    def drop_names(self) -> None:
        """Drop the last names: they failed as it was expected, or are none of its words."""
        self.names = {key: None for key in self.names if key[0] != self.ended}

    def close(self) -> None:
        """Note the program that began and did not come to its end, if there is one."""
        if self.open:
            self.lose(_NO_NAME)

    def lose(self, otherwise: str) -> None:
        """Note a program that crashed, by the test that was running where that is known."""
        running = self.heading.get("name")
        self.lost.append(normalize_name(running) if running else otherwise)
        self.open, self.heading = False, {}

    def _read_counts(self, line: str) -> None:
        kind = self.framework
        if kind.also and (found := kind.also.match(line)):
            self._count(found)
        if not (found := kind.ends.match(line)):
            return
        self._count(found)
        failed = self.counts["failed"] + self.counts["errors"]
        if not kind.begins and failed == self.said:
            self.drop_names()
            self.counts["expected"] -= int(found.groupdict().get("expected") or 0)
        self.said, self.ended, self.heading = failed, self.ended + 1, {}
        self.open = self.below = False

    def _count(self, found: re.Match[str]) -> None:
        groups = found.groupdict().items()
        said = {key: int(value) if value.isdigit() else 1 for key, value in groups if value}
        self.counts.update(said)
        self.red += bool(said.get("failed") or said.get("errors"))

    def _name(self, about: dict[str, str | None]) -> str:
        parts = (
            about.get("file"),
            about.get("suite") or self.heading.get("suite"),
            about.get("name") or about.get("test") or self.heading.get("name"),
        )
        return normalize_name(" ".join(part.strip() for part in parts if part)) or _NO_NAME


def read_test_programs(lines: Sequence[str]) -> dict[str, ReportedFailures]:
    """Return what the programs told, by their frameworks; nothing where there are none."""
    if any(_MESON.match(line) for line in lines):
        return {}
    return _read(_FRAMEWORKS, lines) or _read((_PLAIN,), lines)


def _read(frameworks: Sequence[Framework], lines: Sequence[str]) -> dict[str, ReportedFailures]:
    text = "\n".join(lines)
    tallies = [_Tally(each) for each in frameworks if each.sign in text]
    depths = Counter[str | None]()
    crashes: list[str] = []
    for above, line in pairwise(("", *lines)):
        for each in tallies:
            each.read(above, line)
        if found := _CRASH.match(line):
            running = next((each for each in tallies if each.open), None)
            words = f"a program that crashed ({found[1] or found[2]})"
            if running:
                running.lose(words)
            else:
                crashes.append(words)
        elif found := _MAKE_ERROR.match(line):
            depths[found[1]] += 1
    cut = False
    found_any = [each for each in tallies if each.begun or each.ended]
    for each in found_any:
        each.close()
        # Where nothing tells of a beginning, names that no summary follows are of one that crashed.
        cut = cut or (not each.framework.begins and each.has_loose_names)
    for words in crashes[:1] if found_any else ():
        found_any[0].lose(words)
    # A command that failed behind programs that all passed is another one, or one that crashed.
    silent = max(depths.values(), default=0) > sum(each.red for each in found_any)
    return {each.framework.name: _report(each, early=silent or cut) for each in found_any}


def _report(tally: _Tally, *, early: bool = False) -> ReportedFailures:
    """Return what one framework's programs told; a failure without a name has one all the same."""
    counts, names = tally.counts, [name for _, name in tally.names]
    failed = counts["failed"] + counts["errors"]
    by_assertion = tally.framework.by_assertion
    named = len(names) if not by_assertion else failed * bool(names)
    missing = failed + counts["expected"] > named
    known = counts["ran"] + counts["total"] - counts["skipped"]
    early = early or missing or bool(tally.lost)
    return ReportedFailures(
        names=Counter([*names, *tally.lost, *([_NO_NAME] if missing else [])]),
        whole=not early,
        early=early,
        ended=tally.ended > 0 and not tally.lost,
        sessions=tally.ended,
        ran=max(known or counts["passed"] + failed, 0) + len(tally.lost),
    )


def _read_wrapper(framework: Framework, lines: Sequence[str]) -> ReportedFailures | None:
    """Return what was told by one that runs programs itself, and counts those that crash."""
    tally = _Tally(framework)
    for line in lines:
        tally.read("", line)
    tally.drop_names()
    return _report(tally) if tally.ended else None


_PLACE = r"(?P<file>[^\s:]{1,300}):\d+:"

_AUTOMAKE = Framework(
    "Automake",
    "Testsuite summary for",
    re.compile(r"# ERROR: +(?P<errors>\d+)$"),
    re.compile(r"(?:FAIL|XPASS|ERROR): (?P<name>\S.*)$"),
    also=re.compile(
        r"# (?:TOTAL: +(?P<total>\d+)|SKIP: +(?P<skipped>\d+)|(?:FAIL|XPASS): +(?P<failed>\d+))$"
    ),
    below=re.compile(r"Testsuite summary for"),
)

_CTEST = Framework(
    "CTest",
    " tests passed, ",
    re.compile(r"\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)$"),
    re.compile(
        r" *\d+/\d+ Test +#\d+: (?P<name>\S{1,300}) \.*\*\*\*(?!Skipped|Not Run \(Disabled\))"
    ),
    also=re.compile(r" *\d+/\d+ Test +#\d+: \S{1,300} \.*\*{3}(?P<skipped>Skipped)"),
)
_FRAMEWORKS = (
    Framework(
        "GoogleTest",
        "[==========] ",
        re.compile(r"\[={10}\] (?P<total>\d+) tests? from \d+ test (?:suite|case)s? ran\."),
        re.compile(r"\[  FAILED  \] (?P<name>[^\s.]{1,200}\.[^\s,(]{1,200})"),
        begins=re.compile(r"\[={10}\] Running \d+ tests? from "),
        also=re.compile(
            r"\[  (?:FAILED  \] (?P<failed>\d+)|SKIPPED \] (?P<skipped>\d+)) tests?, listed below"
        ),
        heading=re.compile(r".*\n\[ RUN      \] (?P<name>\S+)"),
    ),
    Framework(
        "cmocka",
        "[==========] ",
        re.compile(r"\[={10}\] (?:[^:]{1,200}: )?(?P<total>\d+) test\(s\) run\."),
        re.compile(r"\[  FAILED  \] (?P<name>[A-Za-z_]\w{0,200})$"),
        begins=re.compile(r"\[={10}\] (?:[^:]{1,200}: )?Running \d+ test\(s\)\."),
        also=re.compile(
            r"\[  (?:FAILED  \] (?:[^:]{1,200}: )?(?P<failed>\d+)"
            r"|SKIPPED \] (?:[^:]{1,200}: )?(?P<skipped>\d+)) test\(s\), listed below"
        ),
        heading=re.compile(r".*\n\[ RUN      \] (?P<name>\S+)"),
    ),
    Framework(
        "Catch2",
        "test case",
        re.compile(
            r"All tests passed \(\d+ assertions? in (?P<ran>\d+) test cases?\)$"
            r"|test cases: +(?P<total>\d+)(?: +\| +(?:\d+ passed|(?P<skipped>\d+) skipped"
            r"|(?P<expected>\d+) failed as expected|(?P<failed>\d+) failed(?! as)))*$"
        ),
        re.compile(r"[^\s:]{1,300}:\d+: FAILED:$"),
        heading=re.compile(r"-{79}\n(?!\S{1,300}:\d+$)(?P<name>\S.*)$"),
    ),
    Framework(
        "doctest",
        "[doctest] ",
        re.compile(
            r"\[doctest\] test cases: +\d+ \| +(?P<passed>\d+) passed \| +(?P<failed>\d+) failed"
        ),
        re.compile(r"[^\s:]{1,300}:\d+: (?:FATAL )?ERROR: "),
        begins=re.compile(r"\[doctest\] doctest version is "),
        heading=re.compile(r".*\nTEST CASE:  (?P<name>\S.*)$"),
    ),
    Framework(
        "Boost.Test",
        " test case",
        re.compile(r"\*\*\* (?:No errors detected|(?P<failed>\d+) failures? (?:is|are) detected)"),
        re.compile(r'[^"]{1,300}: (?:fatal )?error:? in "(?P<name>[^"]{1,300})":'),
        begins=re.compile(r"Running (?P<total>\d+) test cases?\.\.\.$"),
        by_assertion=True,
    ),
    Framework(
        "Check",
        "%: Checks: ",
        re.compile(
            r"\d+%: Checks: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+)$"
        ),
        re.compile(_PLACE + r"[FE]:(?P<name>[^:]{1,200}:[^:]{1,200}:-?\d+):"),
        begins=re.compile(r"Running suite\(s\): "),
    ),
    Framework(
        "Unity",
        " Tests ",
        re.compile(r"(?P<total>\d+) Tests (?P<failed>\d+) Failures (?P<skipped>\d+) Ignored$"),
        re.compile(_PLACE + r"(?P<name>[^:]{1,200}):FAIL\b"),
    ),
    Framework(
        "CUnit",
        "CUnit - A unit testing framework",
        re.compile(r" +tests +\d+ +\d+ +(?P<passed>\d+) +(?P<failed>\d+) +\d+$"),
        re.compile(
            r"Suite (?P<suite>[^,]{1,200}), Test (?P<name>[^,]{1,200}) had failures:$"
            r"|  Test: (?P<test>[^.]{1,200})\.\.\.FAILED$"
        ),
        begins=re.compile(r" +CUnit - A unit testing framework"),
        heading=re.compile(r".*\nSuite: (?P<suite>\S.*)$"),
    ),
    Framework(
        "CppUTest",
        " filtered out, ",
        re.compile(
            r"OK \(\d+ tests?, (?P<ran>\d+) ran, "
            r"|Errors \((?:(?P<failed>\d+) failures?, |ran nothing, )"
            r"\d+ tests?, (?P<total>\d+) ran, "
        ),
        re.compile(_PLACE + r" error: Failure in (?P<name>(?:IGNORE_)?TEST\([^()]{1,200}\))$"),
    ),
    Framework(
        "Criterion",
        "[====] Synthesis: ",
        re.compile(
            r"\[={4}\] Synthesis: Tested: \d+ \| Passing: (?P<passed>\d+)"
            r" \| Failing: (?P<failed>\d+) \| Crashing: "
        ),
        re.compile(r"\[FAIL\] (?P<name>[^\s:]{1,200}::[^\s:]{1,200})"),
    ),
    Framework(
        "Qt Test",
        "Start testing of ",
        re.compile(r"Totals: (?P<passed>\d+) passed, (?P<failed>\d+) failed, \d+ skipped"),
        re.compile(r"(?:FAIL!|XPASS) *: (?P<name>[^()]{1,200}\([^)]{0,200}\))"),
        begins=re.compile(r"\*{9} Start testing of "),
    ),
)

_PLAIN = Framework(
    "test program",
    "",
    re.compile(
        r"(?:Pass|PASS)(?:ed|ED)?[ :=]{1,3}(?P<passed>\d+)[,;] *(?:Fail|FAIL)(?:ed|ED)?[ :=]{1,3}"
        r"(?P<failed>\d+)\.?$"
    ),
    re.compile(r"\[(?:fail|FAIL|FAILED)\] *(?P<name>\S.*)$"),
)


WRAPPERS = tuple(
    ReportFormat(each.name, (each.sign,), partial(_read_wrapper, each))
    for each in (_AUTOMAKE, _CTEST)
)
NAMES = frozenset(each.name for each in (*_FRAMEWORKS, _PLAIN))
"""The programs that are read where nothing that may have started them counts."""
