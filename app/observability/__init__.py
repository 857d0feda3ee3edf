"""observability: say what it is."""
