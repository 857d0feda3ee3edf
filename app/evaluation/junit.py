"""JUnit files: what test programs of most languages can write, read without trusting it."""

from __future__ import annotations

from typing import Literal
from xml.etree import ElementTree as ET

Result = Literal["passed", "failed", "skipped"]

_WORST: tuple[Result, ...] = ("failed", "skipped", "passed")
_DOCTYPE = ("<!DOCTYPE", "<!ENTITY")


class Unreadable(ValueError):
    """The file is no JUnit file."""


def read_junit(data: bytes) -> dict[str, Result]:
    """Return each test's result by `class::name`; of several with one name the worst counts."""
    try:
        text = data.decode("utf-8-sig")  # whatever it says of itself
        if any(word in text for word in _DOCTYPE):
            raise Unreadable("it declares entities, which a JUnit file never does")
        root = ET.fromstring(text)  # noqa: S314 # without entities nothing can grow
    except (ET.ParseError, UnicodeDecodeError) as error:
        raise Unreadable(str(error)) from error
    found: dict[str, Result] = {}
    for test in root.iter("testcase"):
        name = "::".join(filter(None, (test.get("classname"), test.get("name"))))
        found[name] = min(found.get(name, "passed"), _result(test), key=_WORST.index)
    return found


def _result(test: ET.Element) -> Result:
    kinds = {child.tag for child in test}
    if kinds & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in kinds else "passed"
