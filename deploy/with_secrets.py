"""Start a command with the secrets that lie in a folder, one file for each.

    python deploy/with_secrets.py /run/secrets fettle serve

A file that is named like a variable, such as ANTHROPIC_API_KEY, becomes that variable; the line
end at its end is left out, and other files are left alone. A variable that is set already stands.
So a secret is in no command line, no unit, no image and no manifest, only in a file with a mode,
and then in the memory of Fettle, which hands none to what it starts.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

_NAME = re.compile(r"(FETTLE|ANTHROPIC)_[A-Z0-9_]+")


def secrets_in(folder: Path) -> dict[str, str]:
    """Return the variables that the files make. Raises OSError for one that cannot be read."""
    if not folder.is_dir():
        return {}
    named = sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
    return {path.name: _text(path) for path in named if path.is_file()}


def _text(path: Path) -> str:
    try:
        text = path.read_text("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise OSError(errno.EINVAL, "it is not text", str(path))
    return text


def main(arguments: Sequence[str]) -> None:
    """Become the command."""
    if len(arguments) < 2:
        sys.exit("usage: with_secrets.py FOLDER COMMAND [ARGUMENT ...]")
    folder, *command = arguments
    try:
        found = secrets_in(Path(folder))
    except OSError as error:
        sys.stderr.write(
            f"The secret {error.filename} cannot be read by user {os.geteuid()}: {error.strerror}. "
            "Give it as text that this user, and nobody else, may read.\n"
        )
        sys.exit(2)
    os.execvpe(command[0], command, {**found, **os.environ})  # noqa: S606 no shell wanted


if __name__ == "__main__":
    main(sys.argv[1:])
