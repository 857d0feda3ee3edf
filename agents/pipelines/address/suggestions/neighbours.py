"""Find the lines of a hunk that a suggestion can replace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class LineGroup:
    """Lines that stand together, and what is to stand in their place, all without line ends."""

    start: int | None = None
    """The number of the first of the old lines; None while there is none."""
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    before: tuple[int, str] | None = None
    """The unchanged line above, if the hunk has one."""

    def keep(self, number: int, text: str) -> None:
        """Take in the unchanged line below."""
        self.start = number if self.start is None else self.start
        self.old.append(text)
        self.new.append(text)

    def keep_above(self) -> None:
        """Take in the unchanged line above."""
        if self.before:
            self.start, text = self.before
            self.old.insert(0, text)
            self.new.insert(0, text)
            self.before = None

    @property
    def incomplete(self) -> bool:
        """Return whether a neighbour is needed to say it.

        Lines can only be put in the place of others, and a single blank line, suggested, reads
        like none at all.
        """
        return not self.old or self.new == [""]


def group_changes(lines: Iterable[tuple[str, str, int | None]]) -> list[LineGroup]:
    """Return the changes of a hunk's lines, which are (type, text, number in the old file)."""
    found: list[LineGroup] = []
    group: LineGroup | None = None
    before: tuple[int, str] | None = None
    for kind, value, number in lines:
        text = value.removesuffix("\n")
        if kind in "+-":
            if group is None:
                group = LineGroup(before=before)
                found.append(group)
            _take(group, kind, text, number)
        elif kind == " " and number is not None:
            if group is not None and group.incomplete and not group.before:
                group.keep(number, text)  # and what changes right below it belongs to it as well
                continue
            group, before = None, (number, text)
    for each in found:
        if each.incomplete:
            each.keep_above()
    return found


def _take(group: LineGroup, kind: str, text: str, number: int | None) -> None:
    if kind == "+":
        group.new.append(text)
    else:
        group.start = number if group.start is None else group.start
        group.old.append(text)
