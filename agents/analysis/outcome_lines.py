"""Find what a run of tests says of failure, success, and code that could not be built."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

MOST_LINES = 200
LONGEST_LINE = 300
LINES_READ = 20_000

_FAILURE = re.compile(
    r"\bfail(?:s|ed|ures?)?\b|\bnot ok\b|\bAssertion|\bTraceback\b|\bpanic(?:ked)?\b"
    r"|\b\w{0,60}(?:Error|Exception)\b|\bError \d+ \(ignored\)|\bUnhandled\b"
    r"|\bsegmentation fault\b|\bcore dumped\b|[✗✘✖]",
    re.IGNORECASE,
)
_NO_FAILURE = re.compile(
    r"\b(?:no|0) (?:\w{1,20} )?(?:fail\w*|errors?)\b|\b(?:fail\w*|errors?) ?[:=] ?0\b",
    re.IGNORECASE,
)
_SUCCESS = re.compile(
    r"\bok\b|\bpass(?:ed|es)?\b|\bsuccess\w*|\ball\b.*\bgood\b|[✓✔]", re.IGNORECASE
)
_TIMES = re.compile(r"\b0x[0-9a-f]+\b|\b\d+(?:\.\d+)? ?(?:[mun]?s|sec(?:onds?)?)\b", re.IGNORECASE)
"""And addresses: they differ from run to run."""
_NOT_BUILT = re.compile(
    r"ImportError|ModuleNotFoundError|Cannot find module|Failed to resolve"
    r"|\[build failed\]|\[setup failed\]|could not compile|error\[E\d+\]|undefined: "
    r"|error TS\d+|cannot find symbol|error CS\d+|COMPILATION ERROR|SyntaxError|LoadError"
    r"|undefined reference to"
)
_NUMBER = re.compile(r"\d+")


def read_failure_lines(output: str) -> tuple[str, ...]:
    """Return each line that speaks of failure once; `0 failed` is none. The text is untrusted."""
    return _find(output, lambda text: bool(_FAILURE.search(_NO_FAILURE.sub("", text))))


def read_success_lines(output: str) -> tuple[str, ...]:
    """Return each line that speaks of success once, whatever numbers stand in it."""
    found = _find(output, lambda text: bool(_SUCCESS.search(text)))
    return tuple(dict.fromkeys(_NUMBER.sub("…", line) for line in found))


def says_not_built(output: str) -> bool:
    """Return whether the output speaks of code that could not be imported or built."""
    return _NOT_BUILT.search(output) is not None


def list_new_lines(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """Return those lines that were not written before."""
    known = {*before}
    return [line for line in now if line not in known]


def _find(output: str, speaks: Callable[[str], bool]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for line in output.splitlines()[-LINES_READ:]:
        text = line.strip()[:LONGEST_LINE]
        if speaks(text):
            found[_TIMES.sub("…", text)] = None
        if len(found) == MOST_LINES:
            break
    return tuple(found)
