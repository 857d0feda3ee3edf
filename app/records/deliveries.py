"""One attempt of GitHub to deliver a webhook, as its log of deliveries shows it."""

from __future__ import annotations

from typing import NamedTuple


class Attempt(NamedTuple):
    """One attempt of GitHub to deliver a webhook. Times are unix seconds by GitHub's clock."""

    delivery_id: int
    guid: str
    event: str
    action: str
    repository_id: int | None
    ok: bool
    repeated: bool
    at: float
    status: int
    """What the receiver answered; 0: nothing."""
