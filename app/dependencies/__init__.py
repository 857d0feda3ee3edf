"""The set-up phase: a repository's own installation commands, before any agent sees it."""
