"""Parse test runners' and linters' output into failures by name."""
