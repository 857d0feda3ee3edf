"""Every value that the variables of a script may hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.tools.paths import ROOT
from agents.tools.shell.options import word_set

UNKNOWN = "\0"
"""Stands in a word for what only the run itself can tell. No command can hold it."""

HOME = "/home/agent"
MOST_VALUES = 8
LONGEST_VALUE = 2_000  # characters

Value = tuple[str, ...]
"""The fields that an expansion gives: one for a scalar, any number for an array."""

_GIVEN = {
    "HOME": HOME,
    "TMPDIR": "/tmp",  # noqa: S108 the sandbox's own
    "SHELL": "/bin/bash",
    "BASH": "/bin/bash",
    "0": "bash",
    "IFS": " \t\n",
}
_OTHERS = word_set(
    "? $ ! # - _ PATH USER LOGNAME HOSTNAME LANG TERM RANDOM SRANDOM SECONDS EPOCHSECONDS LINENO"
    " UID EUID PPID BASHPID OSTYPE HOSTTYPE MACHTYPE PIPESTATUS FUNCNAME BASH_SOURCE BASH_VERSION"
    " BASH_REMATCH REPLY OPTARG OPTIND OLDPWD COLUMNS LINES"
)


@dataclass
class Variables:
    """Every value that a script gives a variable, wherever it does so.

    Which of them holds at a command is not followed: loops, functions and conditions would need
    running. So a command is judged with each.
    """

    values: dict[str, list[Value]] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)

    def assign(self, name: str, value: Sequence[str]) -> None:
        """Note one more value; past a bound the variable may hold anything."""
        known = self.values.setdefault(name, [])
        if tuple(value) in known or (UNKNOWN,) in known:
            return
        kept = len(known) < MOST_VALUES and sum(map(len, value)) <= LONGEST_VALUE
        known.append(tuple(value) if kept else (UNKNOWN,))

    def append(self, name: str, value: Sequence[str], *, array: bool) -> None:
        """Note what `name+=value` makes of the values so far."""
        for old in list(self.values.get(name, [("",)])):
            joined = (*old, *value) if array else ("".join((*old, *value)),)
            self.assign(name, joined)

    def forget(self, name: str) -> None:
        """Note that the variable may hold anything, as after `read`."""
        self.assign(name, (UNKNOWN,))

    def look_up(self, name: str) -> list[Value]:
        """Return what the variable may hold; one that is never set is empty or unknown."""
        if name in self.values:
            given: list[Value] = [(_GIVEN[name],)] if name in _GIVEN else []
            given += [()] if name in ("@", "*") else []  # a script itself gets no arguments
            return [*self.values[name], *given]
        if name == "PWD":
            return [(".",), (ROOT,)]  # where the command runs, or where the script began
        if name in _GIVEN:
            return [(_GIVEN[name],)]
        return [(UNKNOWN,)] if name in _OTHERS else [(), (UNKNOWN,)]

    @property
    def separators(self) -> str:
        """Return the characters at which unquoted values are split into fields."""
        return "".join(part for value in self.look_up("IFS") for part in value) + " \t\n"

    @property
    def plain(self) -> bool:
        """Return whether the script sets nothing, so that one reading is enough."""
        return not self.values and not self.functions
