"""The command `fettle`: reads like a manual, exits with a code that means something."""

from __future__ import annotations

import asyncio
import gc
import sys

from agents.errors import Cancelled, ConfigError, FettleError
from app.cli.main import cli
from app.cli.terminal import FAILED, PERSON, STOPPED, say

RARELY = (100_000, 20, 50)
"""Objects between two looks for garbage. What a command imports stays, and looking for garbage in
it, as often as Python does by itself, took a quarter of the time until it began, and as much at
its end. https://docs.python.org/3/library/gc.html#gc.set_threshold"""


def main() -> None:
    """Run the command; what an operator can mend ends in plain words, without a traceback."""
    gc.set_threshold(*RARELY)
    try:
        _run()
    finally:
        gc.freeze()  # the process ends: whatever is garbage goes with it


def _run() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr] # both are text files
    try:
        cli(prog_name="fettle")
    except (Cancelled, KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(STOPPED)
    except ConfigError as error:
        say(str(error))
        sys.exit(PERSON)
    except FettleError as error:
        say(f"Failed: {error}")
        sys.exit(FAILED)
    except OSError as error:  # a full disk, a port that is taken, a file of somebody else
        say(f"Failed: {_reason(error)}")
        sys.exit(PERSON)


def _reason(error: OSError) -> str:
    where = f"`{error.filename}`: " if error.filename else ""
    return f"{where}{error.strerror or error}"
