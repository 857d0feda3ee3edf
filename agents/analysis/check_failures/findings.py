"""Parse findings of linters, type checkers and formatters: file, rule and message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agents.analysis.check_failures.lines import normalize_name, without_numbers
from agents.analysis.check_failures.reported import ReportedFailures, ReportFormat, report_failures

_AT = re.compile(r"(?:\./)?([^\s:()]{1,300}):\d+(?::\d+)?(?:-\d+(?::\d+)?)?(?::| -) *(\S.*)$")
_PAREN = re.compile(r"([^\s:()]{1,300})\(\d+,\d+\): +(error \S.*)$")  # tsc, csc
_CODE = re.compile(r"(?:\[[A-Z]?\d*\] )?(?:[A-Z]{1,5}: )?[A-Z][A-Z-]{0,9}\d{1,5}\b")
_COP = re.compile(r"[CEFRW]: ")  # rubocop, pylint
_MILD = re.compile(r"(?:warning|note|info|information|hint|help)\b", re.IGNORECASE)
_GO = re.compile(
    r"(?:vet: )?([^\s:()]{1,300}\.go):\d+:\d+: +(\S.*)$"
)  # vet, staticcheck, the compiler
_PROJECT = re.compile(r" \[/[^\]]*proj\]$")

_ABOVE = re.compile(r"(?:[A-Z]{1,5}\d{2,5}|[a-z-]{1,40}(?:\[\w+\])?:) \S")
_ARROW = re.compile(r" *--> ([^\s:]{1,300}):\d+:\d+$")

_STYLISH = re.compile(r" +\d+:\d+ +error +(\S.*)$")
_STYLISH_FILE = re.compile(r"(?:/|[A-Za-z]:\\|\.{0,2}/)?\S[^:]{0,300}\.\w{1,6}$")
_STYLISH_END = re.compile(r"✖ \d+ problems? \((\d+) errors?")

_FORMAT = re.compile(r"(?:would reformat:? |Would reformat: |\[(?:warn|error)\] )(\S+)$")
_SAID = re.compile(
    r"Found (\d+) errors?\b|(?<!\d)(\d+) errors?, \d+ warnings?"
    r"|(?<!\d)\d+ files? inspected, (\d+)"
)
_CLEAN = re.compile(
    r"All checks passed!|Success: no issues found|\d+ files? inspected, no offenses"
)


def _findings(lines: Sequence[str]) -> ReportedFailures | None:
    names = [*_find_places(lines), *_arrows(lines), *_stylish(lines)]
    said = [int(n) for line in lines for found in _SAID.finditer(line) for n in found.groups() if n]
    said += [0 for line in lines if _CLEAN.match(line)]
    said += [int(found[1]) for line in lines if (found := _STYLISH_END.match(line))]
    result = report_failures(names, said=sum(said) if said else None)
    # Most of them say nothing where nothing is wrong: their silence tells nothing.
    return result and result.model_copy(update={"ended": False})


def _find_places(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if found := _FORMAT.match(line):
            yield normalize_name(found[1])
        elif found := _PAREN.match(line.strip()):
            yield _name(found[1], _PROJECT.sub("", found[2]))
        elif found := _GO.match(line):
            yield _name(found[1].removeprefix("./"), found[2])
        elif found := _AT.match(line.strip()):
            words = found[2]
            if _grave(words) or (line.startswith("./") and not _MILD.match(words)):
                yield _name(found[1], words)


def _grave(words: str) -> bool:
    return words.startswith("error") or bool(_CODE.match(words) or _COP.match(words))


def _arrows(lines: Sequence[str]) -> Iterator[str]:
    """Yield what ruff and rustc write: the words, and in the next line an arrow to the place."""
    for above, line in pairwise(lines):
        if "-->" not in line or not _ABOVE.match(above) or _MILD.match(above):
            continue
        if found := _ARROW.match(line):
            yield _name(found[1], above)


def _stylish(lines: Sequence[str]) -> Iterator[str]:
    """Yield what eslint writes below the name of each file."""
    file = ""
    for line in lines:
        if not line.startswith(" "):
            file = line if _STYLISH_FILE.match(line) else ""
        elif file and (found := _STYLISH.match(line)):
            yield _name(file, found[1])


def _name(file: str, words: str) -> str:
    return normalize_name(f"{file}: {without_numbers(' '.join(words.split()))}")


FINDINGS = ReportFormat("findings", ("",), _findings)
