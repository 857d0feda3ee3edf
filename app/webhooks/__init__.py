"""Webhook deliveries: verified, stored, acknowledged and dispatched."""

from __future__ import annotations

from app.webhooks.inbox import Inbox
from app.webhooks.receiver import ACCEPTED, Delivery, ImmediateAnswer, OwnIdentity, WebhookReceiver

__all__ = ["ACCEPTED", "Delivery", "ImmediateAnswer", "Inbox", "OwnIdentity", "WebhookReceiver"]
