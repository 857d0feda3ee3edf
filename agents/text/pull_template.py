"""The repository's own template for descriptions of pull requests, filled section by section.

https://docs.github.com/communities/using-templates-to-encourage-useful-issues-and-pull-requests
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from agents.text.lines import one_line

FOLDERS = (".github/", "", "docs/")
"""Where GitHub looks, in its order."""
NAMES = ("pull_request_template.md", "pull_request_template.txt")
LIMIT = 8_000  # characters: a longer one is a document, not a form
LONGEST_LINE = 300
MOST_SECTIONS, MOST_BOXES = 30, 60

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<words>.*?)[ \t]*#*[ \t]*")
_BOX = re.compile(r"\s*[-*+][ \t]+\[(?P<mark>[ xX])\][ \t]+(?P<words>\S.*)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_WORD = re.compile(r"[^\W\d_]{3,}")
_A_PERSONS_WORD = re.compile(
    r"\b(agree|cla|confirm|dco|licen[cs]e|manual(ly)?|read|review(ed)?|self-?review|sign(ed)?)\b",
    re.IGNORECASE,
)
"""Boxes with one of these say what a person did: no record of ours can show it."""
_ASKS_WHAT = re.compile(r"\b(changes?|descri\w+|overview|purpose|summary|what)\b", re.IGNORECASE)
_EMPTY = "Nothing to say here."


@dataclass
class TemplateSection:
    """One heading with what belongs to it."""

    line: str
    """As the file has it; empty for what stands before the first heading."""
    words: str
    boxes: list[TemplateBox] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """Its other lines."""

    @property
    def key(self) -> str:
        """Return the heading as headings are compared."""
        return _plain(self.words)


@dataclass(frozen=True)
class TemplateBox:
    """A checkbox, as it stands in a template or in a filled one."""

    words: str
    ticked: bool


@dataclass(frozen=True)
class CheckedFact:
    """What a record of this run shows."""

    name: str
    said: str
    """What was seen, in a few words."""
    stems: frozenset[str]
    """Begins of words, one of which a checkbox must have to be about this."""


def find_template(files: Iterable[str]) -> str:
    """Return the path of the template among a repository's files, or nothing.

    Of a folder with several templates GitHub takes none by itself, so none of them counts.
    """
    by_name = {path.lower(): path for path in sorted(files, reverse=True)}
    places = [f"{folder}{name}" for folder in FOLDERS for name in NAMES]
    return next((by_name[place] for place in places if place in by_name), "")


def fill_template(
    template: str,
    filled: str,
    facts: Sequence[CheckedFact],
    safe: Callable[[str], str],
) -> str:
    """Return the template with the texts of `filled`; nothing where that has no text for it.

    `filled`: the template as a model filled it. The template's headings and checkboxes stand as
    they are, whatever it made of them. A box is ticked only where the model ticked it and named,
    behind its words, a fact that is about the same thing; the fact stands beside it. `safe` makes
    Markdown fit to be published.
    """
    sections = split_template(template)[:MOST_SECTIONS]
    told = _join_by_heading(split_template(filled), {section.key for section in sections})
    texts = {key: "\n".join(section.texts).strip() for key, section in told.items()}
    if not any(texts.get(section.key) for section in sections):
        return ""
    parts: list[str] = []
    room = MOST_BOXES
    for section in sections:
        text = safe(texts.get(section.key, "")).strip()
        ticked = [box for box in told[section.key].boxes if box.ticked] if text else []
        boxes = section.boxes[:room]
        room -= len(boxes)
        lines = "\n".join(_format_box(box, ticked, facts, safe) for box in boxes)
        empty = _EMPTY if section.line and not text and not lines else ""
        parts += [safe(section.line).strip(), text, lines, empty]
    return "\n\n".join(part for part in parts if part)


def put_into_template(template: str, made: str, safe: Callable[[str], str]) -> str:
    """Return the template with a description that code made, where it asks for one.

    That is under its first heading that does, or above all of them. Nobody has answered the rest:
    no box is ticked, and other sections say so. `made` is fit to be published already.
    """
    sections = split_template(template)[:MOST_SECTIONS]
    place = next((each for each in sections if _ASKS_WHAT.search(each.words)), None)
    parts = [made] if place is None else []
    room = MOST_BOXES
    for section in sections:
        boxes = section.boxes[:room]
        room -= len(boxes)
        lines = "\n".join(_format_box(box, (), (), safe) for box in boxes)
        text = made if section is place else "" if lines or not section.line else _EMPTY
        parts += [safe(section.line).strip(), text, lines]
    return "\n\n".join(part for part in parts if part)


def split_template(text: str) -> list[TemplateSection]:
    """Return the sections of a template, or of a filled one; code blocks are text."""
    sections = [TemplateSection("", "")]
    fence = ""
    for line in text[: 2 * LIMIT].splitlines():
        start = line[:LONGEST_LINE]
        opened = _FENCE.match(start)
        if opened and fence in ("", opened[1]):
            fence = "" if fence else opened[1]
        if not (fence or opened) and (found := _HEADING.fullmatch(start)):
            sections.append(TemplateSection(start.strip(), found["words"]))
        elif not (fence or opened) and (found := _BOX.fullmatch(start)):
            box = TemplateBox(found["words"].strip(), ticked=found["mark"] in "xX")
            sections[-1].boxes.append(box)
        else:
            sections[-1].texts.append(line)
    first, *rest = sections
    return sections if first.boxes or "".join(first.texts).strip() else rest


def _join_by_heading(
    sections: Iterable[TemplateSection], headings: Collection[str]
) -> dict[str, TemplateSection]:
    """Return the sections by the template's headings; others belong to the one before them."""
    joined: dict[str, TemplateSection] = {}
    last = TemplateSection("", "")
    for section in sections:
        if section.key in headings:
            last = joined.setdefault(section.key, section)
        if last is not section:
            last.texts.extend((section.line, *section.texts))
            last.boxes.extend(section.boxes)
    return joined


def _format_box(
    box: TemplateBox,
    ticked: Iterable[TemplateBox],
    facts: Sequence[CheckedFact],
    safe: Callable[[str], str],
) -> str:
    """Return the checkbox's line, ticked with its fact or open."""
    line = one_line(safe(box.words), LONGEST_LINE)
    fact = _find_fact(box.words, ticked, facts)
    if fact is None:
        return f"- [ ] {line}"
    return f"- [x] {line} ({one_line(safe(fact.name), 60)}: {fact.said})"


def _find_fact(
    box: str, ticked: Iterable[TemplateBox], facts: Sequence[CheckedFact]
) -> CheckedFact | None:
    if _A_PERSONS_WORD.search(box):
        return None
    said = {_plain(each.words) for each in ticked}
    words = [word.lower() for word in _WORD.findall(box)]
    for fact in facts:
        about = any(word.startswith(tuple(fact.stems)) for word in words)
        if about and f"{_plain(box)} {_plain(fact.name)}" in said:
            return fact
    return None


def _plain(words: str) -> str:
    """Return the words as they are compared: a model may change case, spaces and marks."""
    return " ".join(re.findall(r"\w+", words.lower()))
