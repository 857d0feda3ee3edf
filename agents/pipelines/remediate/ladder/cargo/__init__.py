"""Cargo on the ladder."""
