"""Detect in a diff how a change weakens a repository's tests and checks."""
