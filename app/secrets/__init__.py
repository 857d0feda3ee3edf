"""Secrets: read from files, written, encrypted in the database, redacted from what is shown."""
