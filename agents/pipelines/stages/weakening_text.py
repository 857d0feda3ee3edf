"""Describe how a change weakens tests and checks, for those who decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from agents.analysis.weakening import Finding
from agents.ports import Json
from agents.text import one_line, publish

SHOWN = 20  # findings that a pull request shows one by one; the others by file
SHORT = 120  # characters of a name or a text there
REASON = 600  # characters of what somebody said
ASKED = 24_000  # characters that one question shows: a comment has to hold it, and more


def list_questions(findings: Sequence[Finding]) -> Iterator[Json]:
    """Yield what people may be asked, the most telling first: each place, or counts of places.

    Nothing is left out of any: what is too long, or must not be shown, is counted, and the counts
    add up to all of it.
    """
    count = str(len(findings))
    for name, lines in (
        ("changes", [f"{each.place}: {each.what}: {each.text}" for each in findings]),
        ("changes by file", _counts(findings, by_folder=False)),
        ("changes by folder", _counts(findings, by_folder=True)),
    ):
        text = "\n".join(lines)
        if len(text) <= ASKED:
            yield {name: text, "in all": count}
    yield {"changes by kind": _sum(Counter(each.what for each in findings)), "in all": count}


def format_section(findings: Sequence[Finding], verdict: str) -> str:
    """Return the section, safe to publish: first what needs a yes, and who gave it."""
    grave = [each for each in findings if each.grave]
    light = [each for each in findings if not each.grave]
    parts = []
    if grave:
        parts += [publish(f"**{one_line(verdict, REASON)}**"), _format_findings(grave)]
    if light:
        parts += ["To look at, though nobody was asked:", _format_findings(light)]
    return "\n\n".join(parts)


def _format_findings(findings: Sequence[Finding]) -> str:
    shown, rest = findings[:SHOWN], findings[SHOWN:]
    lines = [f"- {_code(each.place)}: {each.what}: {_code(each.text)}" for each in shown]
    if rest:
        lines.append(f"- and {len(rest)} more:")
        lines += [f"  - {_code(line)}" for line in _counts(rest, by_folder=len(rest) > SHOWN)]
    return "\n".join(lines)


def _code(text: str) -> str:
    """Return a text as a code span: whatever it holds, it stays inside."""
    plain = " ".join(text.replace("`", "'").split())
    return f"`{one_line(plain, SHORT)}`" if plain else "(empty)"


def _counts(findings: Sequence[Finding], *, by_folder: bool) -> list[str]:
    kinds: dict[str, Counter[str]] = {}
    for each in findings:
        place = PurePosixPath(each.path).parts[0] if by_folder else each.path
        kinds.setdefault(place, Counter())[each.what] += 1
    return [f"{place}: {_sum(counted)}" for place, counted in kinds.items()]


def _sum(counted: Counter[str]) -> str:
    return ", ".join(f"{what} ({count})" for what, count in sorted(counted.items()))
