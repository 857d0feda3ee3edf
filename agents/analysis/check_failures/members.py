"""Output of several packages at once, as pnpm and Turborepo print it: a part for each package.

They run the packages side by side, and begin each line with whose it is.
https://pnpm.io/cli/recursive, https://turborepo.com/docs/reference/run#--log-prefix-option
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_ANNOUNCED = re.compile(
    r"(?P<pnpm>\S+ [\w:.-]+)\$ |(?P<turbo>\S+[:#][\w.-]+): cache (?:hit|miss|bypass)\b"
)
_IN = " (in "
_GOES_ON = re.compile(r"\s--(?:no-bail|continue)\b")


def split_by_member(lines: Sequence[str]) -> dict[str, list[str]]:
    """Return each package's lines by package and script, and under an empty name all others."""
    announced = (_ANNOUNCED.match(line) for line in lines)
    members = {found["pnpm"] or found["turbo"] for found in announced if found}
    parts: dict[str, list[str]] = {"": []}
    for line in lines:
        member, mark, said = line.partition(": ")
        if mark and member in members:
            parts.setdefault(member, []).append(said)
        else:
            parts[""].append(line)
    return parts


def name_program(program: str, member: str) -> str:
    """Return the name under which a program's failures in this package are kept."""
    return f"{program}{_IN}{member})" if member else program


def list_programs(names: Iterable[str]) -> set[str]:
    """Return the programs behind these names, whichever packages they ran in."""
    return {name.partition(_IN)[0] for name in names}


def stops_at_first_member(parts: dict[str, list[str]], command: str) -> bool:
    """Tell whether a package that fails keeps others from running: so they do unless asked."""
    return len(parts) > 1 and not _GOES_ON.search(command)
