"""Find what a run of tests says of failure, success, and code that could not be built."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from agents.analysis.check_failures.lines import is_truncated

MOST_LINES = 1_000
LONGEST_LINE = 300
LINES_READ = 20_000

_FAILURE = re.compile(
    r"\bfail(?:s|ed|ures?)?\b|\bnot ok\b|\bAssertion|\bTraceback\b|\bpanic(?:ked)?\b"
    r"|\b\w{0,60}(?:Error|Exception)s?\b|\bError \d+ \(ignored\)|\bUnhandled\b"
    r"|\bsegmentation fault\b|\bcore dumped\b|\baborted\b|\bdied\b|[✗✘✖❌]"
    r"|\bcommand not found\b|: (?:line )?\d+: \S{1,200}: (?:not found|No such file)"
    r"|\bmismatch\w*|\bdiffers?\b|\bwrong\b|\bexpected\b.*\b(?:got|but|found|received|actual|was)\b"
    r"|\b(?:got|want|was)\b.*\b(?:expected|got)\b|\bat \S{1,200} line \d+\.?$",
    re.IGNORECASE,
)
_NO_FAILURE = re.compile(
    r"\b(?:no|0) (?:\w{1,20} )?(?:fail\w*|errors?)\b|\b(?:fail\w*|errors?) ?[:=] ?0\b",
    re.IGNORECASE,
)
_MARKED = re.compile(
    r"^\W{0,9}(?:[✓✔√✅]|(?:ok|pass(?:ed|es)?)\b(?!\s*:\s*\d))"
    r"|(?:[.:(\[-]\s{0,9}(?:ok|pass(?:ed)?)|[✓✔√✅])\W{0,3}$",
    re.IGNORECASE,
)
"""A test that passed, whatever its title speaks of."""
_COUNTED = re.compile(
    r"\b[1-9]\d* (?:\w{1,20} )?(?:fail|error)|(?:fail\w*|errors?)\W{1,3}[1-9]"
    r"|^[^\w✓✔√✅]{0,9}fail|[✗✘✖❌]",
    re.IGNORECASE,
)
_SHARE = re.compile(r"(?<![\[(\d/.])(\d{1,6}) ?(?:/|(?:out )?of) ?(\d{1,6})(?![\])\d/.])")
"""How many of how many, apart from what counts tests on their way, as `[1/3]`, and days."""
_SUCCESS = re.compile(
    r"\bok\b|\bpass(?:ed|es)?\b|\bsuccess\w*|\ball\b.*\bgood\b|[✓✔√✅]", re.IGNORECASE
)
_TIMES = re.compile(r"\b0x[0-9a-f]+\b|\b\d+(?:\.\d+)? ?(?:[mun]?s|sec(?:onds?)?)\b", re.IGNORECASE)
"""And addresses: they differ from run to run."""
_PLACES = re.compile(
    r"(?<=\w)\.\w{1,5}:\d+(?::\d+)?|\blocalhost:\d+|\bline \d+|\(node:\d+\)|\bpid \d+|/tmp/\S+"
    r"|\b\d{4}-\d\d-\d\d[T ]?[\d:.,]{0,16}Z?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?",
    re.IGNORECASE,
)
"""Lines of files that grew, processes, ports, and the day: so do these."""
_NOT_BUILT = re.compile(
    r"ImportError|ModuleNotFoundError|Cannot find module|Failed to resolve"
    r"|\[build failed\]|\[setup failed\]|could not compile|error\[E\d+\]|undefined: "
    r"|error TS\d+|cannot find symbol|error CS\d+|COMPILATION ERROR|SyntaxError|LoadError"
    r"|undefined reference to"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+")


def read_failure_lines(output: str) -> tuple[str, ...]:
    """Return each line that speaks of failure once; `0 failed` is none. The text is untrusted."""
    return _find(output, _speaks_of_failure, _leave_out)


def read_success_lines(output: str) -> tuple[str, ...]:
    """Return each line that speaks of success once, whatever numbers stand in it."""
    return _find(output, lambda text: bool(_SUCCESS.search(text)), _settle)


def is_read_whole(output: str, *found: Sequence[str]) -> bool:
    """Return whether all lines of an output were read for what was found, and all of it is kept."""
    lines = output.splitlines()
    kept = all(len(each) < MOST_LINES for each in found)
    return kept and len(lines) <= LINES_READ and not is_truncated(lines)


def says_not_built(output: str) -> bool:
    """Return whether the output speaks of code that could not be imported or built."""
    return _NOT_BUILT.search(output) is not None


def list_strange_lines(before: str, now: str) -> list[str]:
    """Return the lines of an output that tell of no success, and begin or end as none before did.

    A script that says little while all is well says in its own words what is not.
    """
    known = {word for line in before.splitlines() for word in _find_ends(line)}
    return [
        line.strip()
        for line in now.splitlines()
        if (ends := _find_ends(line)) and not ends & known and not _SUCCESS.search(line)
    ]


def _find_ends(line: str) -> set[str]:
    words = _LETTERS.findall(line[:LONGEST_LINE])
    return {words[0], words[-1]} if words else set()


def list_other_lines(before: str, now: str) -> list[str]:
    """Return the lines that stand in one of two outputs alone, whatever numbers are in them."""
    said, says = ({*map(_settle, each.splitlines())} for each in (before, now))
    return sorted(said ^ says)


def list_new_lines(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """Return those lines that were not written before."""
    known = {*before}
    return [line for line in now if line not in known]


def _speaks_of_failure(text: str) -> bool:
    share = _SHARE.search(text)
    if share and int(share[1]) < int(share[2]) and _SUCCESS.search(text):
        return True
    if _MARKED.search(text) and not _COUNTED.search(text):
        return False
    return bool(_FAILURE.search(_NO_FAILURE.sub("", text)))


def _settle(line: str) -> str:
    """Return a line without numbers and what else differs from run to run."""
    return _NUMBER.sub("…", _leave_out(line.strip()[:LONGEST_LINE]))


def _leave_out(text: str) -> str:
    return _TIMES.sub("…", _PLACES.sub("…", text))


def _find(
    output: str, speaks: Callable[[str], bool], settle: Callable[[str], str]
) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for line in output.splitlines()[-LINES_READ:]:
        text = line.strip()[:LONGEST_LINE]
        if speaks(text):
            found[settle(text)] = None
        if len(found) == MOST_LINES:
            break
    return tuple(found)
