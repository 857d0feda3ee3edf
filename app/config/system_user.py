"""The name of the system user who runs this process, which signs decisions at a terminal."""

from __future__ import annotations

import os
import pwd


def find_operator() -> str:
    """Return the name of the user who runs this process, by the system and not by variables."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a user without a name, as in some containers
        return f"user {os.getuid()}"
