"""Logs, metrics and traces of the running server."""
