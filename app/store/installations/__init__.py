"""Installations: where the App is installed, and which repositories it reaches there."""

from __future__ import annotations

from app.store.installations.installations import Changes, StoredInstallations, every_installation
from app.store.installations.labels import StoredLabels

__all__ = ["Changes", "StoredInstallations", "StoredLabels", "every_installation"]
