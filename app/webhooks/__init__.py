"""Webhook deliveries: verified, stored, acknowledged and dispatched."""
