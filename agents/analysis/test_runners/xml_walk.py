"""Walk through XML that others wrote: no tree is made of it, however large or deep it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from xml.parsers import expat

DEEPEST = 64  # elements in each other
MOST_ELEMENTS = 1_000_000

# https://www.w3.org/TR/xml/#charsets: older Mesons copy them from what tests print.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

Begin = Callable[[str, Mapping[str, str]], None]
"""Takes an element's name, without a namespace, and its attributes."""
End = Callable[[str], None]
Characters = Callable[[str], None]
"""Takes text of the element that began last, maybe a part of it."""


class UnreadableReport(Exception):
    """The text is no report that a runner of tests wrote, nor any other plain XML."""


def walk_xml(text: str, begin: Begin, end: End, characters: Characters | None = None) -> None:
    """Tell of each element as it begins and ends; UnreadableReport where it is no plain XML.

    It may declare no types or entities of its own, so nothing in it can expand. Characters that no
    XML may have are replaced: tests print them.
    """
    depth = count = 0

    def start_element(tag: str, about: Mapping[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > DEEPEST or count > MOST_ELEMENTS:
            raise UnreadableReport
        begin(tag.rpartition(":")[2], about)

    def end_element(tag: str) -> None:
        nonlocal depth
        depth -= 1
        end(tag.rpartition(":")[2])

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = start_element, end_element
    parser.StartDoctypeDeclHandler = _refuse
    if characters is not None:
        parser.CharacterDataHandler = characters
    try:
        parser.Parse(
            _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text).encode("utf-8", "replace"), True
        )
    except expat.ExpatError as error:
        raise UnreadableReport from error


def _refuse(*_: object) -> None:
    raise UnreadableReport
