"""Start a repository's services around one command in the sandbox, and say why they did not start.

The servers are this machine's own programs. They listen on the sandbox's loopback, keep their data
in the run's /tmp, and end with the command.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

from agents.analysis.services import Service, ServiceKind
from agents.ports import CommandResult
from agents.text import one_line, printable

UNAVAILABLE = 97
"""The exit code of a command that was not run, because a service did not start."""

_MARK = re.compile(r"^\[service unavailable\] (postgres|redis|mysql): ([^\n]*)", re.MULTILINE)
_MISSING = "missing program"
_PROGRAMS: dict[ServiceKind, str] = {
    "postgres": "PostgreSQL (Debian's package `postgresql`)",
    "redis": "Redis (Debian's package `redis-server`)",
    "mysql": "MySQL or MariaDB (Debian's package `mariadb-server`)",
}


def wrap_with_services(argv: Sequence[str], services: Sequence[Service]) -> list[str]:
    """Return the command line that starts these services, runs `argv`, and ends them with it.

    Its exit code is that of `argv`, or UNAVAILABLE. Without services it is `argv`.
    """
    if not services:
        return list(argv)
    values = [
        value
        for each in services
        for value in (each.kind, str(each.port), each.user, each.password, each.database)
    ]
    return ["bash", "-c", _script(), "services", str(len(services)), *values, *argv]


def explain_unavailable(result: CommandResult, services: Sequence[Service]) -> str:
    """Return why a service did not start, and what an operator can do; empty where all did.

    A command could print the same: then it counts as one that could not be run, which is no gain.
    """
    found = _MARK.search(result.output)
    if not services or result.why != "exit" or result.exit_code != UNAVAILABLE or not found:
        return ""
    kind, said = found.groups()
    needed = next((each for each in services if each.kind == kind), services[0])
    named = f"The tests need {_PROGRAMS[needed.kind]}, which `{needed.source}` names, "
    if said.startswith(_MISSING):
        return (
            f"{named}but this machine does not have it. An operator can install it, or build it "
            f"into the sandbox's image."
        )
    return f"{named}but it did not start in the sandbox: {one_line(printable(said), 400)}"


@cache
def _script() -> str:
    return resources.files("agents.analysis").joinpath("start_services.sh").read_text("utf-8")
