"""How long tests wait for what must happen: until it does. Only what never happens meets the end.

A machine with much else to do may need a hundred times as long as a quiet one, so no test says how
many seconds something takes.
"""

from __future__ import annotations

PATIENCE = 300.0
"""Seconds after which what did not happen will not happen any more."""

LOOKS = 1_500
"""How often tests look for a process, 0.02 s apart: it must not end by itself meanwhile."""
