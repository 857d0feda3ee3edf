"""The command `fettle`: reads like a manual, exits with a code that means something."""

from __future__ import annotations

import asyncio
import sys

from agents.errors import Cancelled, ConfigError, FettleError
from app.cli.main import cli
from app.cli.terminal import FAILED, PERSON, STOPPED, say


def main() -> None:
    """Run the command; what an operator can mend ends in plain words, without a traceback."""
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
