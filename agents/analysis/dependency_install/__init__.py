"""Detect how a repository's dependencies are installed."""
