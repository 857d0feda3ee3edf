"""The shapes of plain JSON values, as ports pass them on."""

from __future__ import annotations

from typing import Any

Json = Any
Block = dict[str, Any]
