"""Types of plain JSON values."""

from __future__ import annotations

from typing import Any

Json = Any
Block = dict[str, Any]
