"""Step 2: what a handler returns when a delivery asks for nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ignored:
    """Nothing is asked for; the reason is kept with the delivery."""

    reason: str
