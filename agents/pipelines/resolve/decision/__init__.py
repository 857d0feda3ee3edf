"""Decisions of a project: read its decision log, and propose entries by pull request."""
