"""Step 8: how a command that a backend ran has ended, in the words of the port."""

from __future__ import annotations

import signal
from typing import Literal

from agents.ports import CommandResult
from app.sandbox.process_group import ProcessExit

FLOOD = 64 * 1024 * 1024
"""Bytes of output after which a command is stopped."""

TIMED_OUT = 124
"""The exit code of a command whose time was up, as `timeout` gives it."""

_ENDED_BY_LIMIT = {128 + signal.SIGKILL, 128 + signal.SIGXCPU, 128 + signal.SIGXFSZ}


def as_result(
    ended: ProcessExit, output: str, seconds: float, *, memory: bool = False, disk: bool = False
) -> CommandResult:
    """Return the result of a command; `memory` and `disk` tell that it used up what it may have."""
    if memory or disk or ended.why == "watch":
        why: Literal["memory", "disk"] = "memory" if memory else "disk"
        return CommandResult(128 + signal.SIGKILL, why, output, seconds)
    if ended.why == "timeout":
        return CommandResult(TIMED_OUT, "timeout", output, seconds)
    if ended.why == "output":
        return CommandResult(128 + signal.SIGKILL, "output", output, seconds)
    code = ended.code if ended.code >= 0 else 128 - ended.code
    return CommandResult(code, "killed" if code in _ENDED_BY_LIMIT else "exit", output, seconds)
