"""Composer on the ladder."""
