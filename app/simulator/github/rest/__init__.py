"""rest: say what it is."""
