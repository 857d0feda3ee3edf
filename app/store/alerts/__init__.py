"""Alerts: when they are looked at, the runs about them, and what those came to."""
